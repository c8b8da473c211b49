"""Where the instances of a group come from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Capacity"]


@dataclass(frozen=True)
class Capacity:
    """On-demand, spot or a training plan. Made by the class methods."""

    spot: bool = False
    training_plan_arn: str | None = None

    @classmethod
    def on_demand(cls) -> Capacity:
        """On-demand instances, the default."""
        return cls()

    @classmethod
    def spot_instances(cls) -> Capacity:
        """Spot instances: cheaper, and taken back at short notice."""
        return cls(spot=True)

    @classmethod
    def training_plan(cls, training_plan_arn: str) -> Capacity:
        """Capacity reserved by a SageMaker training plan, the only way to UltraServers.

        A plan keeps one instance of each UltraServer as a spare unless it was bought otherwise, so that 17 of 18 are
        usable; the deployment reads the number from the plan.
        """
        return cls(training_plan_arn=training_plan_arn)
