"""The fields of records about brokers, partitions and voters, by Kafka's own names.

Written from the field tables in Kafka's sources (`metadata/src/main/resources/common/metadata`).
All are flexible: the fields of the version first, then the tagged fields that differ from their
default. Tagged fields with their default are left out here as well, as in Kafka's dump tool.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from checkers.disk.fields import DamagedError, Fields

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
