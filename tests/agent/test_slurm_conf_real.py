"""slurm.conf with everything it includes: we read the nodes that a real slurmctld reads."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

import pytest

from slurm_lab import Lab, Level, make_nodes
from slurm_topology.agent.slurm_conf import read_slurm_conf

pytestmark = pytest.mark.slurm

# each file adds a node named for itself: where it stands, or from where it is included, decides what is read
EXTRA = {
    "sub/a.conf": "NodeName=sub-a State=FUTURE\nInclude b.conf\n",
    "sub/b.conf": "NodeName=sub-b State=FUTURE\n",
    "b.conf": "NodeName=top-b State=FUTURE\ninclude of-%c.conf\n",
    "of-lab.conf": "NodeName=of-lab State=FUTURE\n",
    "of-%c.conf": "NodeName=of-percent State=FUTURE\n",
}


def test_the_nodes_of_included_files(make_lab: Callable[..., Lab], slurm_version: str) -> None:
    lab = make_lab(slurm_version, nodes=make_nodes(2), level=Level.CONTROLLER)
    path = lab.path("slurm.conf")
    folder = posixpath.dirname(path)
    for name, text in EXTRA.items():
        lab.run("mkdir", "-p", posixpath.dirname(f"{folder}/{name}"), check=True)
        lab.box.write_text(f"{folder}/{name}", text)
    lab.box.write_text(path, lab.box.read_text(path) + "Include sub/a.conf\n")
    assert lab.reconfigure().accepted
    shown = set(re.findall(r"^NodeName=(\S+)", lab.run("scontrol", "--future", "show", "nodes").stdout, re.MULTILINE))
    assert {"sub-a", "top-b", "of-lab"} <= shown, "Slurm does what it did when this was written"

    conf = read_slurm_conf(path, lambda place: lab.box.read_text(place) if lab.box.exists(place) else None)
    assert {node.name for node in conf.nodes} == shown
    assert conf.unread == ()
