"""Templates as they were: logical ids, order, defaults are part of the API. `make test ARGS=--snapshot-update` renews.

Hashes of code are masked: they change with every edit of the agent.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import App
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from cdk.apps import new_cluster, new_stack, template_of
from cdk.validated_apps import full_stack

_MASKS = (
    (r'"Fingerprint": "[0-9a-f]{64}"', '"Fingerprint": "<hash>"'),
    (r"[0-9a-f]{64}(\.zip)", r"<hash>\1"),
    (r"(hyperpod-slurm/[0-9a-f]{8})/[0-9a-f]{16}", r"\1/<hash>"),
)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(JSONSnapshotExtension)


def masked(template: dict[str, Any]) -> Any:
    """Without hashes, and without what CDK adds for its own deployment checks."""
    text = json.dumps({key: template[key] for key in ("Resources", "Outputs")})
    for pattern, replacement in _MASKS:
        text = re.sub(pattern, replacement, text)
    return json.loads(text)


@pytest.mark.parametrize("flags", [False, True], ids=["without-flags", "with-flags"])
def test_the_simple_case(flags: bool, snapshot: SnapshotAssertion) -> None:
    """The main case, in an app without feature flags (a library can't rely on them) and with those of cdk.json."""
    stack = new_stack(flags=flags)
    new_cluster(stack)
    assert masked(template_of(stack)) == snapshot


def test_everything(snapshot: SnapshotAssertion) -> None:
    assert masked(template_of(full_stack(App(), internet_access=True))) == snapshot
