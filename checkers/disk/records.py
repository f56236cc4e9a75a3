"""Control and metadata records, as far as checks need their fields.

Configurations and features have columns of their own; records about brokers and partitions have
their fields as JSON (`details`). Records without needed fields are known by name, and unknown types
by number.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from checkers.disk.batches import Record
from checkers.disk.details import FieldValue, read_detail
from checkers.disk.fields import DamagedError, Fields

CONTROL = {
    0: "Abort",
    1: "Commit",
    2: "LeaderChange",
    3: "SnapshotHeader",
    4: "SnapshotFooter",
    5: "KRaftVersion",
    6: "KRaftVoters",
    7: "AddVoter",  # as KIP-856 has them
    8: "RemoveVoter",
}

METADATA = {
    0: "RegisterBroker",
    1: "UnregisterBroker",
    2: "Topic",
    3: "Partition",
    4: "Config",
    5: "PartitionChange",
    7: "FenceBroker",
    8: "UnfenceBroker",
    9: "RemoveTopic",
    12: "FeatureLevel",
    14: "ClientQuota",
    15: "ProducerIds",
    17: "BrokerRegistrationChange",
    18: "AccessControlEntry",
    19: "RemoveAccessControlEntry",
    20: "NoOp",
    21: "ZkMigrationState",
    23: "BeginTransaction",
    24: "EndTransaction",
    25: "AbortTransaction",
    27: "RegisterController",
    28: "ClearElr",
    29: "UnregisterController",
}

# The leading fields of the records that checks look into.
_FIELDS: dict[str, tuple[tuple[str, Callable[[Fields], int | str | None]], ...]] = {
    "Config": (
        ("resource_type", Fields.int8),
        ("resource", Fields.text),
        ("name", Fields.text),
        ("value", Fields.text),
    ),
    "FeatureLevel": (("name", Fields.text), ("value", Fields.int16)),
    "RegisterController": (("resource", Fields.int32), ("value", Fields.uuid)),
}


class Decoded(NamedTuple):
    """A record by its type's name. The level of a FeatureLevel and the ids of others are text."""

    type: str
    resource_type: int | None = None
    resource: str | None = None
    name: str | None = None
    value: str | None = None
    leader: int | None = None
    detail: str | None = None


def decode_control(record: Record) -> Decoded:
    """A record of a control batch. Raises DamagedError."""
    key = Fields(record.key or b"")
    key.int16()
    number = key.int16()
    name = CONTROL.get(number, f"unknown-control-{number}")
    body = Fields(record.value or b"")
    if name == "LeaderChange":
        version = int.from_bytes((record.value or b"")[:2], "big")
        found = read_detail(name, body, version)
        assert found is not None
        leader = found["leaderId"]
        assert isinstance(leader, int)
        return Decoded(type=name, leader=leader, detail=_json(found))
    if name == "KRaftVersion":
        body.int16()
        return Decoded(type=name, name="kraft.version", value=str(body.int16()))
    return Decoded(type=name, detail=_json(read_detail(name, body, version=0)))


def decode_metadata(record: Record) -> Decoded:
    """A record of a data batch: frame version 1, type, version, body. Raises DamagedError."""
    frame = Fields(record.value or b"")
    version = frame.uvarint()
    if version != 1:
        raise DamagedError(f"the record at offset {record.offset} has frame version {version}")
    number = frame.uvarint()
    written_as = frame.uvarint()
    name = METADATA.get(number, f"unknown-{number}")
    found = {field: read(frame) for field, read in _FIELDS.get(name, ())}
    resource_type = found.pop("resource_type", None)
    assert resource_type is None or isinstance(resource_type, int)
    text = {field: None if value is None else str(value) for field, value in found.items()}
    return Decoded(
        type=name,
        resource_type=resource_type,
        resource=text.get("resource"),
        name=text.get("name"),
        value=_meant(text.get("value")),
        detail=_json(read_detail(name, frame, written_as)),
    )


def _meant(value: str | None) -> str | None:
    """A config's effective value: Kafka stores surrounding blanks, and strips them when it
    reads."""
    return None if value is None else value.strip(" ")


def _json(found: dict[str, FieldValue] | None) -> str | None:
    return None if found is None else json.dumps(found, separators=(",", ":"))
