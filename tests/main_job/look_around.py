"""What to try when `make local KEEP=1` has left everything running."""

from __future__ import annotations

from pathlib import Path

from main_job.story import MainJob

__all__ = ["how_to_look_around"]


def how_to_look_around(job: MainJob, folder: Path) -> str:
    """A few commands to copy; the first enters the controller."""
    inside = " ".join(job.lab.box.argv(()))
    script = folder / "enter"
    script.write_text(
        f'#!/bin/sh\n# a command on the kept controller\n[ $# -gt 0 ] || set -- bash\nexec {inside} "$@"\n'
    )
    script.chmod(0o755)
    variables = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    environment = " ".join(f"{name}={job.cloud.environ()[name]}" for name in variables)
    environment += f" AWS_DEFAULT_REGION={job.cloud.region}"
    page = folder / "topology.html"
    page.write_text(job.lab.run("slurm-topology", "show", "--format", "html", check=True).stdout)
    return f"""
Everything is left running. Look around:
  {script} scontrol show topology
  {script} squeue
  {script} slurm-topology status
  {script}                              (a shell on the controller)
  {page}   (the running cluster as a page for a browser)
  {environment} aws sagemaker list-cluster-nodes --cluster-name {job.cluster}
End it with: make local-stop
"""
