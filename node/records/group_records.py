"""The records of `__consumer_offsets`, in Kafka's formats: committed offsets and group metadata.

Key and value each begin with the version of what follows. Keys of other versions belong to other
kinds of records. A null value is a tombstone for the key.
"""

from dataclasses import field
from typing import ClassVar, get_args
from uuid import UUID

from node.codec import read_whole, write_whole
from node.ids import ZERO_UUID
from node.lazy_dataclass import dataclass
from node.records.batch import MalformedRecord

_VERSION_BYTES = 2
_EXPIRING = 1  # OffsetCommitValue version with an expiry time, which is no longer used


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey:
    __version__: ClassVar[int] = 1
    __flexible__: ClassVar[bool] = False
    group: str = field(metadata={"kafka_type": "string"})
    topic: str = field(metadata={"kafka_type": "string"})
    partition: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataKey:
    __version__: ClassVar[int] = 2
    __flexible__: ClassVar[bool] = False
    group: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _InflexibleOffsetCommit:
    """An `OffsetCommitValue` up to version 3."""

    __version__: ClassVar[int] = 3
    __flexible__: ClassVar[bool] = False
    offset: int = field(metadata={"kafka_type": "int64"})
    leader_epoch: int = field(metadata={"kafka_type": "int32", "since": 3}, default=-1)
    metadata: str = field(metadata={"kafka_type": "string"})
    commit_timestamp: int = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue:
    """`leader_epoch` -1, `topic_id` 0: unknown. A key has only the topic's name, which may belong
    to another topic by now; so Kafka 4.3 writes this version, too
    (`GroupCoordinatorRecordHelpers.offsetCommitValueVersion`)."""

    __version__: ClassVar[int] = 4
    __flexible__: ClassVar[bool] = True
    offset: int = field(metadata={"kafka_type": "int64"})
    leader_epoch: int = field(metadata={"kafka_type": "int32"}, default=-1)
    metadata: str = field(metadata={"kafka_type": "string"})
    commit_timestamp: int = field(metadata={"kafka_type": "int64"})
    topic_id: UUID = field(metadata={"kafka_type": "uuid", "tag": 0}, default=ZERO_UUID)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """Time-outs in milliseconds."""

    __version__: ClassVar[int] = 3
    __flexible__: ClassVar[bool] = False
    member_id: str = field(metadata={"kafka_type": "string"})
    group_instance_id: str | None = field(
        metadata={"kafka_type": "string", "since": 3}, default=None
    )
    client_id: str = field(metadata={"kafka_type": "string"})
    client_host: str = field(metadata={"kafka_type": "string"})
    rebalance_timeout: int = field(metadata={"kafka_type": "int32", "since": 1}, default=-1)
    session_timeout: int = field(metadata={"kafka_type": "int32"})
    subscription: bytes = field(metadata={"kafka_type": "bytes"})
    assignment: bytes = field(metadata={"kafka_type": "bytes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    __version__: ClassVar[int] = 3
    __flexible__: ClassVar[bool] = False
    protocol_type: str = field(metadata={"kafka_type": "string"})
    generation: int = field(metadata={"kafka_type": "int32"})
    protocol: str | None = field(metadata={"kafka_type": "string"})
    leader: str | None = field(metadata={"kafka_type": "string"})
    current_state_timestamp: int = field(metadata={"kafka_type": "int64", "since": 2}, default=-1)
    members: tuple[MemberMetadata, ...]


GroupKey = OffsetCommitKey | GroupMetadataKey
GroupValue = OffsetCommitValue | GroupMetadataValue
_KEYS: dict[int, type[GroupKey]] = {
    0: OffsetCommitKey,  # same as 1
    **{kind.__version__: kind for kind in get_args(GroupKey)},
}
_VALUES: dict[type[GroupKey], type[GroupValue]] = {
    OffsetCommitKey: OffsetCommitValue,
    GroupMetadataKey: GroupMetadataValue,
}


def encode_versioned(message: GroupKey | GroupValue) -> bytes:
    """Raises UnencodableMessage."""
    return message.__version__.to_bytes(_VERSION_BYTES, "big") + write_whole(message)


def decode_key(key: bytes | None) -> GroupKey | None:
    """None for a record of another kind, as Kafka's newer groups have. Raises MalformedRecord."""
    kind = _KEYS.get(_version(key))
    if key is None or kind is None:
        return None
    return read_whole(kind, key, _VERSION_BYTES, MalformedRecord)


def decode_value(key: GroupKey, value: bytes | None) -> GroupValue | None:
    """None for a tombstone. Raises MalformedRecord, also on an unknown version."""
    if value is None:
        return None
    kind, version = _VALUES[type(key)], _version(value)
    if not 0 <= version <= kind.__version__:
        raise MalformedRecord(f"{kind.__name__} of version {version}")
    if kind is OffsetCommitValue and version <= _InflexibleOffsetCommit.__version__:
        return _inflexible_commit(value, version)
    return read_whole(kind, value, _VERSION_BYTES, MalformedRecord, version)


def _inflexible_commit(value: bytes, version: int) -> OffsetCommitValue:
    read = read_whole(
        _InflexibleOffsetCommit,
        value,
        _VERSION_BYTES,
        MalformedRecord,
        version,
        may_be_followed=version == _EXPIRING,
    )
    return OffsetCommitValue(
        offset=read.offset,
        leader_epoch=read.leader_epoch,
        metadata=read.metadata,
        commit_timestamp=read.commit_timestamp,
    )


def _version(data: bytes | None) -> int:
    return int.from_bytes((data or b"")[:_VERSION_BYTES], "big", signed=True)
