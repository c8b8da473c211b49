"""The catalogue of instance types, held against the SageMaker API."""

from __future__ import annotations

import json
from importlib import resources

import botocore.session
import pytest

from slurm_topology.core import instance_types
from slurm_topology.core.errors import InputError
from slurm_topology.core.instance_types import is_type_name, known_types, lookup, read_ec2_types
from slurm_topology.core.model import Capability

CATALOGUE = json.loads(resources.files(instance_types.__package__ or "").joinpath("instance_types.json").read_text())


def test_every_type_that_hyperpod_accepts_is_known() -> None:
    """Fails when a newer botocore has new types: add them to instance_types.json, with sources."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    accepted = set(model.shape_for("ClusterInstanceType").enum)
    assert accepted - set(known_types()) == set()
    assert set(known_types()) - accepted == set(), "types that HyperPod no longer accepts"


def test_every_fact_names_a_source_and_every_source_a_date() -> None:
    for record in CATALOGUE["records"]:
        facts = {name: fact for name, fact in record.items() if name not in ("types", "listed")}
        assert record["listed"] in CATALOGUE["sources"]
        for name, fact in facts.items():
            assert (fact["value"] is None) == (fact["source"] is None), (record["types"], name)
            assert fact["source"] is None or fact["source"] in CATALOGUE["sources"]
    for source in CATALOGUE["sources"].values():
        assert {"what", "where", "date"} <= source.keys()


def test_no_type_is_listed_twice() -> None:
    types = [name for record in CATALOGUE["records"] for name in record["types"]]
    assert len(types) == len(set(types))
    assert all(is_type_name(name) for name in types)


@pytest.mark.parametrize(
    ("name", "capability", "accelerators", "cards", "efa", "gbps", "layers"),
    [
        ("ml.p4d.24xlarge", "tree", 8, 4, 4, 400, 3),
        ("ml.p5.48xlarge", "tree", 8, 32, 32, 3200, 3),
        ("ml.p5en.48xlarge", "tree", 8, 16, 16, 3200, 3),
        ("ml.p6-b200.48xlarge", "tree", 8, 8, 8, 3200, 4),
        ("ml.p6-b300.48xlarge", "tree", 8, 17, 16, 6400, 4),
        ("ml.p6e-gb200.36xlarge", "block", 4, 17, None, 3200, 3),
        ("ml.trn1.32xlarge", "tree", 16, 8, 8, 800, 3),
        ("ml.trn2.48xlarge", "tree", 16, 16, 16, 3200, 3),
        ("ml.g6e.48xlarge", "tree", 8, 4, 4, 400, 3),
        ("ml.g7e.24xlarge", "tree", 4, 2, 2, 800, 3),
        ("ml.g5.48xlarge", "none", 8, 1, 1, 100, 0),
        ("ml.c5n.18xlarge", "none", 0, 1, 1, 100, 0),
        ("ml.g6e.xlarge", "tree", 1, 1, 0, None, 3),
        ("ml.p5.4xlarge", "none", 1, 1, 1, 100, 0),
        ("ml.g7.48xlarge", "none", 8, 2, 2, 700, 0),
        ("ml.trn2.3xlarge", "none", 1, 1, 1, 200, 0),
        ("ml.c5.large", "none", 0, 1, 0, None, 0),
    ],
)
def test_facts(
    name: str,
    capability: str,
    accelerators: int | None,
    cards: int | None,
    efa: int | None,
    gbps: int | None,
    layers: int,
) -> None:
    facts = lookup(name)
    assert facts is not None
    assert facts[1:7] == (Capability(capability), accelerators, cards, efa, gbps, layers)


def test_what_is_unknown_is_said() -> None:
    """The module's docstring names what no source tells; everything else is known of every type."""
    types = known_types().values()
    assert [each.name for each in types if None in (each.accelerators, each.network_cards, each.network_layers)] == []
    assert [each.name for each in types if each.efa_interfaces is None] == ["ml.p6e-gb200.36xlarge"]
    assert [each.name for each in types if each.gbps is None and each.efa_interfaces] == []


def test_what_ec2_would_be_taken_to_say_is_what_the_catalogue_says() -> None:
    """The guess about newer types, tried on those that are known; docs and comments name the one that differs."""
    fabrics = [each for each in known_types().values() if each.accelerators and (each.efa_interfaces or 0) >= 2]
    assert [each.name for each in fabrics if each.capability is not Capability.TREE] == ["ml.g7.48xlarge"]
    assert len(fabrics) > 10
    small = {each.name.split(".")[1] for each in known_types().values() if each.capability is Capability.TREE}
    assert small - {each.name.split(".")[1] for each in fabrics} == set()


def test_ultraserver_sizes() -> None:
    facts = lookup("ml.p6e-gb200.36xlarge")
    assert facts is not None
    assert facts.ultraservers == (("ml.u-p6e-gb200x72", 18), ("ml.u-p6e-gb200x36", 9))
    assert facts.largest_ultraserver == 18
    plain = lookup("ml.p5.48xlarge")
    assert plain is not None
    assert plain.largest_ultraserver is None


def ec2_answer(**network: object) -> dict[str, object]:
    gpus = {"Gpus": [{"Name": "B400", "Count": 8}]}
    return {"InstanceTypes": [{"InstanceType": "p9.48xlarge", "NetworkInfo": network, "GpuInfo": gpus}]}


def test_ec2_facts_stand_in_for_unknown_types_only() -> None:
    facts = read_ec2_types(ec2_answer(EfaSupported=True, EfaInfo={"MaximumEfaInterfaces": 16}, MaximumNetworkCards=16))
    known = lookup("ml.p9.48xlarge", facts)
    assert known is not None
    assert known[:5] == ("ml.p9.48xlarge", Capability.TREE, 8, 16, 16)
    assert lookup("ml.p9.48xlarge") is None
    assert lookup("ml.p5.48xlarge", {"ml.p5.48xlarge": known}) == lookup("ml.p5.48xlarge")


@pytest.mark.parametrize(
    "network",
    [
        {},
        {"EfaSupported": False},
        {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 1}},
        {"EfaSupported": True, "EfaInfo": None},
    ],
)
def test_accelerators_without_several_efa_interfaces_are_no_fabric(network: dict[str, object]) -> None:
    assert read_ec2_types(ec2_answer(**network))["ml.p9.48xlarge"].capability is Capability.NONE


def test_trainium_counts_as_accelerator() -> None:
    entry = {
        "InstanceType": "trn9.48xlarge",
        "NetworkInfo": {"EfaInfo": {"MaximumEfaInterfaces": 8}},
        "NeuronInfo": {"NeuronDevices": [{"Count": 16}]},
    }
    assert read_ec2_types([{"InstanceTypes": [entry]}])["ml.trn9.48xlarge"].capability is Capability.TREE


def test_another_answer_is_refused() -> None:
    with pytest.raises(InputError, match="InstanceTypes"):
        read_ec2_types({"Instances": []})
