"""What the loopback cloud knows of instance types.

Written down apart from the product's catalogue on purpose: a judge that shares the table of the judged finds nothing.
Layers: EC2 user guide "Amazon EC2 topology" (prerequisites, October 2026). Network cards, EFA, accelerators: EC2's page
of the accelerated computing types.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["InstanceFacts", "facts"]


@dataclass(frozen=True)
class InstanceFacts:
    layers: int = 0  # network nodes that DescribeInstanceTopology shows; 0 = none
    network_cards: int = 1
    efa_interfaces: int = 0
    gpus: int = 0
    neuron_devices: int = 0
    ultraserver_type: str | None = None
    ultraserver_size: int = 0
    vcpus: int = 8

    @property
    def addresses(self) -> int:
        """IPv4 addresses that one node takes in its subnet: one a network card (32 for P5)."""
        return max(1, self.network_cards)


_CPU = InstanceFacts()
_FACTS = {
    "p4d.24xlarge": InstanceFacts(3, 4, 4, 8, vcpus=96),
    "p4de.24xlarge": InstanceFacts(3, 4, 4, 8, vcpus=96),
    "p5.48xlarge": InstanceFacts(3, 32, 32, 8, vcpus=192),
    "p5e.48xlarge": InstanceFacts(3, 32, 32, 8, vcpus=192),
    "p5en.48xlarge": InstanceFacts(3, 16, 16, 8, vcpus=192),
    "p6-b200.48xlarge": InstanceFacts(4, 8, 8, 8, vcpus=192),
    "p6-b300.48xlarge": InstanceFacts(4, 17, 16, 8, vcpus=192),
    "p6e-gb200.36xlarge": InstanceFacts(
        3, 17, 17, 4, vcpus=144, ultraserver_type="ml.u-p6e-gb200x72", ultraserver_size=18
    ),
    "trn1.32xlarge": InstanceFacts(3, 8, 8, neuron_devices=16, vcpus=128),
    "trn1n.32xlarge": InstanceFacts(3, 16, 16, neuron_devices=16, vcpus=128),
    "trn2.48xlarge": InstanceFacts(3, 16, 16, neuron_devices=16, vcpus=192),
}
_FAMILIES = {
    "g6e": InstanceFacts(3, 1, 1, 1),
    "g7e": InstanceFacts(3, 1, 1, 1),
    "g5": InstanceFacts(gpus=1),
    "g6": InstanceFacts(gpus=1),
    "g4dn": InstanceFacts(gpus=1),
}


def facts(instance_type: str) -> InstanceFacts:
    """Facts of a type, with or without HyperPod's `ml.`; a type of no listed family is a CPU type."""
    name = instance_type.removeprefix("ml.")
    return _FACTS.get(name) or _FAMILIES.get(name.split(".")[0], _CPU)
