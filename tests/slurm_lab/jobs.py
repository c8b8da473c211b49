"""Jobs of a lab: submit, find out where they run and why they don't."""

from __future__ import annotations

from dataclasses import dataclass

from .box import Box, BoxError
from .wait import wait_for

__all__ = ["Job", "Jobs"]

PLACED = ("RUNNING", "CONFIGURING")  # CLOUD nodes without slurmd never get further than CONFIGURING
FORMAT = "%i|%T|%r|%Q|%N"


@dataclass(frozen=True)
class Job:
    """A job as squeue shows it."""

    id: int
    state: str  # RUNNING, PENDING, CONFIGURING, … ; "GONE" when squeue doesn't know it any more
    reason: str = ""  # such as "BadConstraints", "Resources", "None"
    priority: int = 0  # 0: held
    nodes: tuple[str, ...] = ()  # in Slurm's order

    @property
    def placed(self) -> bool:
        return self.state in PLACED and bool(self.nodes)


class Jobs:
    """The job queue of one box."""

    def __init__(self, box: Box) -> None:
        self._box = box

    def submit(self, nodes: int = 1, *options: str, command: str = "sleep 3600") -> int:
        """Submit a batch job over ``nodes``; ``options`` go to sbatch. Gives its id. Raises BoxError when refused."""
        fixed = ("--parsable", "--output=/dev/null", f"--nodes={nodes}")
        return int(
            self._box.run("sbatch", *fixed, *options, "--wrap", command, check=True).stdout.strip().split(";")[0]
        )

    def get(self, job: int) -> Job:
        """The job now; of state "GONE" when it has ended a while ago or never was."""
        return self._query("--jobs", str(job)).get(job) or Job(job, "GONE")

    def all(self) -> dict[int, Job]:
        """Every job that squeue shows, running and pending."""
        return self._query()

    def where(self, job: int, seconds: float = 20) -> tuple[str, ...]:
        """Wait until the job is placed; its nodes. Raises WaitError with the job's state and reason."""
        found = wait_for(
            lambda: self._placed(job), f"job {job} is placed", seconds=seconds, explain=lambda: str(self.get(job))
        )
        return found.nodes

    def wait_running(self, job: int, seconds: float = 20) -> Job:
        """Wait until the job really runs (needs slurmd's)."""

        def running() -> Job | None:
            seen = self.get(job)
            return seen if seen.state == "RUNNING" else None

        return wait_for(running, f"job {job} runs", seconds=seconds, explain=lambda: str(self.get(job)))

    def cancel(self, *jobs: int) -> None:
        """Cancel these jobs, or all, and wait until they hold no node any more."""
        chosen = [str(job) for job in jobs or self.all()]
        if chosen:
            self._box.run("scancel", "--full", *chosen)
            wait_for(lambda: not set(map(int, chosen)) & set(self.all()), f"jobs {', '.join(chosen)} are gone")

    def _placed(self, job: int) -> Job | None:
        seen = self.get(job)
        return seen if seen.placed else None

    def _query(self, *options: str) -> dict[int, Job]:
        done = self._box.run("squeue", "--noheader", f"--format={FORMAT}", *options)
        if done.returncode and "Invalid job id" not in done.stderr:
            raise BoxError(f"squeue failed: {done.stderr.strip()}")
        jobs = (self._read(line) for line in done.stdout.splitlines())
        return {job.id: job for job in jobs}

    def _read(self, line: str) -> Job:
        number, state, reason, priority, nodes = line.strip().split("|")
        return Job(int(number), state, reason, int(priority), self._expand(nodes))

    def _expand(self, nodes: str) -> tuple[str, ...]:
        return tuple(self._box.run("scontrol", "show", "hostnames", nodes, check=True).stdout.split()) if nodes else ()
