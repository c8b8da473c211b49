"""The comment at the head of every file that we write; slurmctld skips it in both formats (24.11.5, 26.05.5)."""

from __future__ import annotations

__all__ = ["HEADER"]

HEADER = """\
# Managed by slurm-topology, which writes this file again when the cluster changes: edits get lost.
# To keep a file of your own, put {"mode": "observe"} into /etc/slurm-topology/agent.json on the controller.
"""
