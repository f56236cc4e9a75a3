"""Control records of the metadata log: the quorum's own records.

The key of a control record names its type, the value is a message of version 0. LEADER_CHANGE opens
every epoch; its version 1 has directory ids as well (KIP-856, "LeaderChangeMessage").
SNAPSHOT_HEADER and SNAPSHOT_FOOTER enclose a snapshot; the records after the header name the
voters, as in the log: KRAFT_VERSION and KRAFT_VOTERS, the whole set (KIP-853), or ADD_VOTER, and in
the log REMOVE_VOTER, one voter each (KIP-856).
"""

import struct

from kio.schema.k_raft_version_record.v0.data import KRaftVersionRecord
from kio.schema.leader_change_message.v0 import data as leader_change_0
from kio.schema.leader_change_message.v1 import data as leader_change_1
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.types import BrokerId
from kio.schema.voters_record.v0 import data as voters_record
from kio.static.primitive import i16, i32, i64, u16

from node.codec import read_whole, write_whole
from node.ids import ZERO_UUID, Endpoint, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.records.batch import KeyValue, MalformedRecord
from node.records.schemas import AddVoterRecord, RemoveVoterRecord

_KEY = struct.Struct(">hh")  # version (0), type
LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(2, 7)
ADD_VOTER, REMOVE_VOTER = 7, 8
_DIRECTORIES_TOLD = b"\0\1"  # first bytes of a LeaderChange of version 1
LeaderChangeMessage = leader_change_0.LeaderChangeMessage | leader_change_1.LeaderChangeMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange:
    """The first record of an epoch: leader, voters, and those that granted their vote (KIP-595).

    Written in version 1 if it has directory ids. Apache Kafka reads it as version 0, whichever it
    is given.
    """

    leader: NodeId
    voters: tuple[ReplicaKey, ...]
    granting_voters: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHeader:
    """The first record of a snapshot, with the wall-clock time of the last record it covers."""

    last_contained_timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFooter:
    """The last record of a snapshot; without it the snapshot is not complete (KIP-630)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersion:
    """kraft.version: 0 for a static quorum, 1 where voters have directory ids (KIP-853)."""

    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A voter, its endpoints, and the kraft.versions that it supports."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int = 0
    max_kraft_version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """The whole voter set, in force from this record on."""

    voters: tuple[Voter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoter:
    """Adds a voter, from this record on; the first of a log name all voters (KIP-856)."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoter:
    """Removes a voter, from this record on (KIP-856)."""

    key: ReplicaKey


ControlRecord = (
    LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | Voters | AddVoter | RemoveVoter
)


def encode_control(record: ControlRecord) -> KeyValue:
    """Key and value of `record`, for a control batch."""
    match record:
        case LeaderChange():
            return _KEY.pack(0, LEADER_CHANGE), write_whole(_leader_change(record))
        case SnapshotHeader(last_contained_timestamp_ms=timestamp):
            header = SnapshotHeaderRecord(
                version=i16(0), last_contained_log_timestamp=i64(timestamp)
            )
            return _KEY.pack(0, SNAPSHOT_HEADER), write_whole(header)
        case SnapshotFooter():
            footer = SnapshotFooterRecord(version=i16(0))
            return _KEY.pack(0, SNAPSHOT_FOOTER), write_whole(footer)
        case KRaftVersion(version=version):
            entity = KRaftVersionRecord(version=i16(0), k_raft_version=i16(version))
            return _KEY.pack(0, KRAFT_VERSION), write_whole(entity)
        case Voters(voters=voters):
            rows = tuple(_voter_entity(voter) for voter in voters)
            entity_of_all = voters_record.VotersRecord(version=i16(0), voters=rows)
            return _KEY.pack(0, KRAFT_VOTERS), write_whole(entity_of_all)
        case AddVoter(key=key):
            added = AddVoterRecord(version=0, voter_id=key.id, voter_uuid=key.directory)
            return _KEY.pack(0, ADD_VOTER), write_whole(added)
        case RemoveVoter(key=key):
            removed = RemoveVoterRecord(version=0, voter_id=key.id, voter_uuid=key.directory)
            return _KEY.pack(0, REMOVE_VOTER), write_whole(removed)


def decode_control(key: bytes | None, value: bytes | None) -> ControlRecord:
    """The control record of `key` and `value`.

    Raises MalformedRecord on unknown types: a KRaft reader must not skip records that may change
    the voter set.
    """
    if key is None or len(key) != _KEY.size or value is None:
        raise MalformedRecord("a control record needs a key of 4 bytes and a value")
    _, kind = _KEY.unpack(key)
    if kind == LEADER_CHANGE:
        return _read_leader_change(value)
    if kind == SNAPSHOT_HEADER:
        header = read_whole(SnapshotHeaderRecord, value, 0, MalformedRecord)
        return SnapshotHeader(last_contained_timestamp_ms=header.last_contained_log_timestamp)
    if kind == SNAPSHOT_FOOTER:
        read_whole(SnapshotFooterRecord, value, 0, MalformedRecord)
        return SnapshotFooter()
    if kind == KRAFT_VERSION:
        level = read_whole(KRaftVersionRecord, value, 0, MalformedRecord)
        return KRaftVersion(version=level.k_raft_version)
    if kind == KRAFT_VOTERS:
        rows = read_whole(voters_record.VotersRecord, value, 0, MalformedRecord).voters
        return Voters(voters=tuple(_from_voter_entity(row) for row in rows))
    if kind == ADD_VOTER:
        return AddVoter(key=_named(read_whole(AddVoterRecord, value, 0, MalformedRecord)))
    if kind == REMOVE_VOTER:
        return RemoveVoter(key=_named(read_whole(RemoveVoterRecord, value, 0, MalformedRecord)))
    raise MalformedRecord(f"control record type {kind} is unknown")


def _leader_change(record: LeaderChange) -> LeaderChangeMessage:
    keys = (*record.voters, *record.granting_voters)
    if all(key.known_directory is None for key in keys):
        return leader_change_0.LeaderChangeMessage(
            version=i16(0),
            leader_id=BrokerId(record.leader),
            voters=tuple(_by_id(key) for key in record.voters),
            granting_voters=tuple(_by_id(key) for key in record.granting_voters),
        )
    return leader_change_1.LeaderChangeMessage(
        version=i16(1),
        leader_id=BrokerId(record.leader),
        voters=tuple(_by_directory(key) for key in record.voters),
        granting_voters=tuple(_by_directory(key) for key in record.granting_voters),
    )


def _by_id(key: ReplicaKey) -> leader_change_0.Voter:
    return leader_change_0.Voter(voter_id=i32(key.id))


def _by_directory(key: ReplicaKey) -> leader_change_1.Voter:
    return leader_change_1.Voter(voter_id=i32(key.id), voter_directory_id=key.known_directory)


def _read_leader_change(value: bytes) -> LeaderChange:
    """Its first field is its version."""
    if value[:2] == _DIRECTORIES_TOLD:
        told = read_whole(leader_change_1.LeaderChangeMessage, value, 0, MalformedRecord)
        return LeaderChange(
            leader=NodeId(told.leader_id),
            voters=tuple(map(_key_told, told.voters)),
            granting_voters=tuple(map(_key_told, told.granting_voters)),
        )
    plain = read_whole(leader_change_0.LeaderChangeMessage, value, 0, MalformedRecord)
    return LeaderChange(
        leader=NodeId(plain.leader_id),
        voters=tuple(ReplicaKey(NodeId(row.voter_id)) for row in plain.voters),
        granting_voters=tuple(ReplicaKey(NodeId(row.voter_id)) for row in plain.granting_voters),
    )


def _key_told(row: leader_change_1.Voter) -> ReplicaKey:
    return ReplicaKey(NodeId(row.voter_id), row.voter_directory_id or ZERO_UUID)


def _named(record: AddVoterRecord | RemoveVoterRecord) -> ReplicaKey:
    return ReplicaKey(NodeId(record.voter_id), record.voter_uuid or ZERO_UUID)


def _voter_entity(voter: Voter) -> voters_record.Voter:
    return voters_record.Voter(
        voter_id=BrokerId(voter.key.id),
        voter_directory_id=voter.key.directory,
        endpoints=tuple(
            voters_record.Endpoint(name=at.name, host=at.host, port=u16(at.port))
            for at in voter.endpoints
        ),
        k_raft_version_feature=voters_record.KRaftVersionFeature(
            min_supported_version=i16(voter.min_kraft_version),
            max_supported_version=i16(voter.max_kraft_version),
        ),
    )


def _from_voter_entity(row: voters_record.Voter) -> Voter:
    return Voter(
        key=ReplicaKey(NodeId(row.voter_id), row.voter_directory_id or ZERO_UUID),
        endpoints=tuple(Endpoint(name=at.name, host=at.host, port=at.port) for at in row.endpoints),
        min_kraft_version=row.k_raft_version_feature.min_supported_version,
        max_kraft_version=row.k_raft_version_feature.max_supported_version,
    )
