"""One loopback cloud for all tests that only read, or that use names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_cloud import LocalCloud


@pytest.fixture(scope="session")
def cloud() -> Iterator[LocalCloud]:
    with LocalCloud(ec2_sees_nodes=True) as running:
        yield running


@pytest.fixture(scope="session")
def guarded_cloud() -> Iterator[LocalCloud]:
    """With IAM enforced and TLS."""
    with LocalCloud(auth=True) as running:
        yield running
