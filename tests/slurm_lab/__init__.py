"""A real Slurm on one machine, for tests: private roots, labs in namespaces of their own, a judge. See README.md."""

from __future__ import annotations

from .box import Box, BoxError
from .controller import Controller, Reconfigured, StartedBy
from .jobs import Job, Jobs
from .judge import Judge, Verdict, judge
from .lab import Lab
from .roots import NotRunnable, Root, RootError, find_root, roots_folder
from .slurm_conf import Level, Node, Partition, make_nodes
from .wait import WaitError, wait_for

__all__ = [
    "Box",
    "BoxError",
    "Controller",
    "Job",
    "Jobs",
    "Judge",
    "Lab",
    "Level",
    "Node",
    "NotRunnable",
    "Partition",
    "Reconfigured",
    "Root",
    "RootError",
    "StartedBy",
    "Verdict",
    "WaitError",
    "find_root",
    "judge",
    "make_nodes",
    "roots_folder",
    "wait_for",
]
