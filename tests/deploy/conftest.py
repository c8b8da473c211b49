"""One deployment for all tests of this folder, which run in order, each from where the one before ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.training import Training
from local_cloud import LocalCloud


@pytest.fixture(scope="session")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """The stack, just deployed, on a cloud with IAM enforced and TLS."""
    with LocalCloud(auth=True, logs=tmp_path_factory.mktemp("deploy")) as cloud:
        cloud.cdk("bootstrap")
        found = Training(cloud)
        found.deploy()
        yield found
