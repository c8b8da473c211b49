"""Explanations: how near the nodes of a job are, how near they could have been, and why a job waits.

Pure: a snapshot of topology, nodes and jobs in, frozen answers out. Words for people are made by ``view``.
"""

from __future__ import annotations

from .context import Context
from .demands import Demand
from .facts import FREE_STATES, OUT_OF_SERVICE_STATES, Job, JobPhase, NodeFacts, NodeState, Snapshot, node_state
from .forest import Forest, Unit, forest_of
from .fragmentation import Fragmentation, SizeRow, UnitRow, fragmentation
from .pending import Pending, Waiting, explain_pending
from .placed import Obstacle, Placed, Verdict, explain_nodes, explain_placed
from .read_jobs import NodeReason, read_jobs, read_reasons
from .score import Place, Score, best_place, score
from .which_job import find_job

__all__ = [
    "FREE_STATES",
    "OUT_OF_SERVICE_STATES",
    "Context",
    "Demand",
    "Forest",
    "Fragmentation",
    "Job",
    "JobPhase",
    "NodeFacts",
    "NodeReason",
    "NodeState",
    "Obstacle",
    "Pending",
    "Place",
    "Placed",
    "Score",
    "SizeRow",
    "Snapshot",
    "Unit",
    "UnitRow",
    "Verdict",
    "Waiting",
    "best_place",
    "explain_nodes",
    "explain_pending",
    "explain_placed",
    "find_job",
    "forest_of",
    "fragmentation",
    "node_state",
    "read_jobs",
    "read_reasons",
    "score",
]
