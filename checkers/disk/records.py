"""Control and metadata records, as far as checks need their fields.

Configurations and features have columns of their own; records about brokers and partitions have
their fields as JSON (`details`). Records without needed fields are known by name, and unknown types
by number.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from checkers.disk.batches import Batch, Record, read_records
from checkers.disk.fields import DamagedError, Fields

# The fields of records about brokers, partitions and voters, by Kafka's own names.
#
# Written from the field tables in Kafka's sources (`metadata/src/main/resources/common/metadata`).
# All are flexible: the fields of the version first, then the tagged fields that differ from their
# default. Tagged fields with their default are left out here as well, as in Kafka's dump tool.


FieldValue: TypeAlias = "int | str | bool | list[FieldValue] | dict[str, FieldValue] | None"
_Reader: TypeAlias = Callable[
    [Fields, int], FieldValue
]  # reads one field of a record of this version
_Member: TypeAlias = tuple[str, _Reader] | tuple[str, _Reader, int]  # since this version


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An untagged field, and the first version that has it."""

    name: str
    kind: _Reader
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A record or a structure within one."""

    fields: tuple[Field, ...]
    tagged: Mapping[int, Field] = field(default_factory=dict)
    newest: int = 0

    def read(self, fields: Fields, version: int) -> dict[str, FieldValue]:
        found = {one.name: one.kind(fields, version) for one in self.fields if one.since <= version}
        for _ in range(fields.uvarint()):
            tag, size = fields.uvarint(), fields.uvarint()
            body = Fields(fields.take(size))
            if tag in self.tagged:
                found[self.tagged[tag].name] = self.tagged[tag].kind(body, version)
        return found


def _int8(fields: Fields, _: int) -> FieldValue:
    return fields.int8()


def _int16(fields: Fields, _: int) -> FieldValue:
    return fields.int16()


def _uint16(fields: Fields, _: int) -> FieldValue:
    return fields.uint16()


def _int32(fields: Fields, _: int) -> FieldValue:
    return fields.int32()


def _int64(fields: Fields, _: int) -> FieldValue:
    return fields.int64()


def _bool(fields: Fields, _: int) -> FieldValue:
    return fields.boolean()


def _text(fields: Fields, _: int) -> FieldValue:
    return fields.text()


def _uuid(fields: Fields, _: int) -> FieldValue:
    return fields.uuid()


def _list(kind: _Reader) -> _Reader:
    def read(fields: Fields, version: int) -> FieldValue:
        length = fields.uvarint() - 1
        if length > fields.left:
            raise DamagedError(f"a list of {length} at {fields.at}, {fields.left} bytes are left")
        return None if length < 0 else [kind(fields, version) for _ in range(length)]

    return read


def _structures(*members: _Member) -> _Reader:
    read_all = _list(_structure(*members))

    def read(fields: Fields, version: int) -> FieldValue:
        found = read_all(fields, version)
        if found is None:
            raise DamagedError(f"no list of structures at {fields.at}")
        return found

    return read


def _structure(*members: _Member) -> _Reader:
    layout = Layout(fields=_of(*members))
    return lambda fields, version: layout.read(fields, version)


def _of(*members: _Member) -> tuple[Field, ...]:
    return tuple(
        Field(name=member[0], kind=member[1], since=member[2] if len(member) > 2 else 0)
        for member in members
    )


def _tags(*members: tuple[int, str, _Reader]) -> dict[int, Field]:
    return {tag: Field(name=name, kind=kind) for tag, name, kind in members}


_NODES, _UUIDS = _list(_int32), _list(_uuid)
_ENDPOINTS = _structures(
    ("name", _text), ("host", _text), ("port", _uint16), ("securityProtocol", _int16)
)
_FEATURES = _structures(
    ("name", _text), ("minSupportedVersion", _int16), ("maxSupportedVersion", _int16)
)
_VOTER = (("voterId", _int32), ("voterDirectoryId", _uuid))
_VOTER_SINCE_1 = (("voterId", _int32), ("voterDirectoryId", _uuid, 1))
_EPOCH_OF_BROKER = _of(("id", _int32), ("epoch", _int64))

LAYOUTS: Mapping[str, Layout] = {
    "RegisterBroker": Layout(
        fields=_of(
            ("brokerId", _int32),
            ("isMigratingZkBroker", _bool, 2),
            ("incarnationId", _uuid),
            ("brokerEpoch", _int64),
            ("endPoints", _ENDPOINTS),
            ("features", _FEATURES),
            ("rack", _text),
            ("fenced", _bool),
            ("inControlledShutdown", _bool, 1),
        ),
        tagged=_tags((0, "logDirs", _UUIDS), (1, "cordonedLogDirs", _UUIDS)),
        newest=4,
    ),
    "UnregisterBroker": Layout(fields=_of(("brokerId", _int32), ("brokerEpoch", _int64))),
    "Topic": Layout(fields=_of(("name", _text), ("topicId", _uuid))),
    "Partition": Layout(
        fields=_of(
            ("partitionId", _int32),
            ("topicId", _uuid),
            ("replicas", _NODES),
            ("isr", _NODES),
            ("removingReplicas", _NODES),
            ("addingReplicas", _NODES),
            ("leader", _int32),
            ("leaderEpoch", _int32),
            ("partitionEpoch", _int32),
            ("directories", _UUIDS, 1),
        ),
        tagged=_tags(
            (0, "leaderRecoveryState", _int8),
            (1, "eligibleLeaderReplicas", _NODES),
            (2, "lastKnownElr", _NODES),
            (100, "lastKnownLeader", _int32),  # our own node's, for unclean recovery (KIP-966)
        ),
        newest=2,
    ),
    "PartitionChange": Layout(
        fields=_of(("partitionId", _int32), ("topicId", _uuid)),
        tagged=_tags(
            (0, "isr", _NODES),
            (1, "leader", _int32),
            (2, "replicas", _NODES),
            (3, "removingReplicas", _NODES),
            (4, "addingReplicas", _NODES),
            (5, "leaderRecoveryState", _int8),
            (6, "eligibleLeaderReplicas", _NODES),
            (7, "lastKnownElr", _NODES),
            (8, "directories", _UUIDS),
            (100, "lastKnownLeader", _int32),
        ),
        newest=2,
    ),
    "FenceBroker": Layout(fields=_EPOCH_OF_BROKER),
    "UnfenceBroker": Layout(fields=_EPOCH_OF_BROKER),
    "RemoveTopic": Layout(fields=_of(("topicId", _uuid))),
    "ProducerIds": Layout(
        fields=_of(("brokerId", _int32), ("brokerEpoch", _int64), ("nextProducerId", _int64))
    ),
    "BrokerRegistrationChange": Layout(
        fields=_of(("brokerId", _int32), ("brokerEpoch", _int64)),
        tagged=_tags(
            (0, "fenced", _int8),
            (1, "inControlledShutdown", _int8),
            (2, "logDirs", _UUIDS),
            (3, "cordonedLogDirs", _UUIDS),
        ),
        newest=3,
    ),
    "ClearElr": Layout(fields=_of(("topicName", _text))),
    "LeaderChange": Layout(
        fields=_of(
            ("version", _int16),
            ("leaderId", _int32),
            ("voters", _structures(*_VOTER_SINCE_1)),
            ("grantingVoters", _structures(*_VOTER_SINCE_1)),
        ),
        newest=1,
    ),
    "KRaftVoters": Layout(
        fields=_of(
            ("version", _int16),
            (
                "voters",
                _structures(
                    *_VOTER,
                    ("endpoints", _structures(("name", _text), ("host", _text), ("port", _uint16))),
                    (
                        "kRaftVersionFeature",
                        _structure(
                            ("minSupportedVersion", _int16), ("maxSupportedVersion", _int16)
                        ),
                    ),
                ),
            ),
        )
    ),
    "AddVoter": Layout(fields=_of(("version", _int16), *_VOTER)),
    "RemoveVoter": Layout(fields=_of(("version", _int16), *_VOTER)),
}


def read_detail(name: str, fields: Fields, version: int) -> dict[str, FieldValue] | None:
    """The fields of a record by name; None for a type that no check reads.

    Raises DamagedError if the bytes end early, go on, or are of an unknown version.
    """
    layout = LAYOUTS.get(name)
    if layout is None:
        return None
    if version > layout.newest:
        raise DamagedError(f"{name} of version {version}; the newest known is {layout.newest}")
    found = layout.read(fields, version)
    if fields.left:
        raise DamagedError(f"{name} of version {version}: {fields.left} bytes too many")
    return found


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

# The leading fields of the records that checks use.
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


# Records of batches, each decoded once: the disks of a quorum mostly hold the same batches.


RecordRow = dict[str, int | str | bool | None]


class DecodedBatches:
    def __init__(self) -> None:
        self._rows: dict[Hashable, list[RecordRow]] = {}

    def rows(self, batch: Batch) -> Iterator[RecordRow]:
        """The rows of a batch's records, without the node. Raises DamagedError after the readable
        ones."""
        header = (batch.base_offset, batch.epoch, batch.control, batch.codec, batch.records)
        key = (*header, batch.crc_ok, batch.data)
        known = self._rows.get(key)
        if known is None:
            known = []
            for row in _rows(batch):
                known.append(row)
                yield row
            self._rows[key] = known
        else:
            yield from known


def _rows(batch: Batch) -> Iterator[RecordRow]:
    for record in read_records(batch):
        decoded = decode_control(record) if batch.control else decode_metadata(record)
        yield {
            "offset": record.offset,
            "epoch": batch.epoch,
            "type": decoded.type,
            "resource_type": decoded.resource_type,
            "resource": decoded.resource,
            "name": decoded.name,
            "value": decoded.value,
            "leader": decoded.leader,
            "detail": decoded.detail,
        }
