"""What CloudFormation asks of a custom resource.

Source: AWS CloudFormation User Guide, "Custom resource request objects". Property values arrive as strings,
whatever they were in the template; lists and maps keep their shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from slurm_topology.core.errors import InputError

__all__ = ["Request", "RequestType"]


class RequestType(str, Enum):
    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True)
class Request:
    """One request. ``physical_id`` is what the answer must carry: see ``from_event``."""

    type: RequestType
    resource_type: str
    response_url: str = field(repr=False)  # presigned: whoever has it can answer for us, so it is never printed
    stack_id: str
    request_id: str
    logical_id: str
    physical_id: str
    properties: Mapping[str, object]
    old_properties: Mapping[str, object]  # before an update; empty otherwise

    @classmethod
    def from_event(cls, event: Mapping[str, object]) -> Request:
        """Read a Lambda event. Raises InputError when it isn't CloudFormation's: then there is nobody to answer.

        The physical id is made from the stack's name and the logical id, and afterwards it is the one CloudFormation
        sends. So it never changes: another id would make CloudFormation delete "the old resource" after an update.
        """
        names = ("RequestType", "ResourceType", "ResponseURL", "StackId", "RequestId", "LogicalResourceId")
        missing = [name for name in names if not isinstance(event.get(name), str)]
        if missing:
            raise InputError(
                f"this is no request of CloudFormation: it has no {', '.join(missing)}. "
                "This function answers custom resources; to see what it would do, deploy a stack that uses it."
            )
        text = {name: str(event[name]) for name in names}
        return cls(
            type=RequestType(text["RequestType"]),
            resource_type=text["ResourceType"],
            response_url=text["ResponseURL"],
            stack_id=text["StackId"],
            request_id=text["RequestId"],
            logical_id=text["LogicalResourceId"],
            physical_id=str(event.get("PhysicalResourceId") or _first_physical_id(text)),
            properties=_mapping(event.get("ResourceProperties")),
            old_properties=_mapping(event.get("OldResourceProperties")),
        )

    @property
    def cluster_is_new(self) -> bool:
        """Whether the cluster that it names was made a moment ago: on Create, and when another one takes its place.

        An update that is rolled back counts, too: it goes back from the other one.
        """
        name = "ClusterName"
        replaced = self.type is RequestType.UPDATE and self.properties.get(name) != self.old_properties.get(name)
        return self.type is RequestType.CREATE or replaced


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _first_physical_id(text: Mapping[str, str]) -> str:
    stack_name = text["StackId"].split("/")[1] if text["StackId"].count("/") >= 2 else text["StackId"]
    return f"{stack_name}-{text['LogicalResourceId']}"
