"""What a node is born with: the quorum's voters and the first metadata records.

Both are snapshot files (`node.records.snapshot`) that no leader wrote, so their epoch is 0.
"""

from collections.abc import Sequence

from node.endpoint import Endpoint
from node.ids import Epoch, ReplicaKey
from node.records.batch import Record
from node.records.control import ControlRecord, KRaftVersion, Voter, Voters
from node.records.malformed_record import MalformedRecord
from node.records.metadata import (
    FeatureLevelRecord,
    MetadataRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
)
from node.records.snapshot import SnapshotEncoder, SnapshotReader
from node.storage.disk import Disk
from node.storage.layout import BOOTSTRAP_CHECKPOINT, VOTERS_CHECKPOINT
from node.storage.storage_errors import CorruptFile

FormattedVoters = tuple[tuple[ReplicaKey, tuple[Endpoint, ...]], ...]
_NO_EPOCH = Epoch(0)
_NEXT_STEP = "  try: put it back from a copy of this disk, or format an empty disk"


def encode_voters(voters: FormattedVoters, *, timestamp_ms: int) -> bytes:
    """The 0-0 checkpoint of a quorum whose voters have directory ids (kraft.version 1). Without
    any, of a node that is to learn them from the log."""
    rows = tuple(Voter(key=key, endpoints=endpoints) for key, endpoints in voters)
    controls: list[ControlRecord] = [KRaftVersion(version=1)]
    if rows:
        controls.append(Voters(voters=rows))
    encoder = SnapshotEncoder(_NO_EPOCH, timestamp_ms)
    return encoder.opening(controls) + encoder.closing()


def encode_static(*, timestamp_ms: int) -> bytes:
    """The 0-0 checkpoint of a static quorum (kraft.version 0): who votes stands in the files of the
    nodes, and ids alone count."""
    encoder = SnapshotEncoder(_NO_EPOCH, timestamp_ms)
    return encoder.opening([KRaftVersion(version=0)]) + encoder.closing()


def is_static(disk: Disk) -> bool:
    """Was the disk formatted for a static quorum, and says so? Raises CorruptFile."""
    if not disk.exists(VOTERS_CHECKPOINT):
        return False
    return _read_snapshot(disk, VOTERS_CHECKPOINT) == ([KRaftVersion(version=0)], [])


def encode_bootstrap(records: Sequence[MetadataRecord], *, timestamp_ms: int) -> bytes:
    """bootstrap.checkpoint: what the first active controller writes into an empty log."""
    encoder = SnapshotEncoder(_NO_EPOCH, timestamp_ms)
    values = [encode_metadata(record) for record in records]
    return encoder.opening(()) + encoder.data(values) + encoder.closing()


def read_voters(disk: Disk) -> FormattedVoters:
    """The voters of the 0-0 checkpoint, with their endpoints. Raises CorruptFile."""
    if not disk.exists(VOTERS_CHECKPOINT):
        raise CorruptFile(
            f"nothing says who votes: {VOTERS_CHECKPOINT} would, and it is missing; the"
            " configuration lists no voters\n"
            "  try: set controller.quorum.voters, if it was set when this disk was formatted, or"
            " controller.quorum.bootstrap.servers, if its node is to learn them; otherwise put the"
            " file back from a copy of this disk, or format an empty disk"
        )
    match _read_snapshot(disk, VOTERS_CHECKPOINT):
        case ([KRaftVersion(), Voters(voters=(_, *_) as voters)], []):
            return tuple((voter.key, voter.endpoints) for voter in voters)
        case ([KRaftVersion()], []):
            return ()
        case _:
            raise _corrupt(VOTERS_CHECKPOINT, "it does not hold a kraft.version and voters")


def read_bootstrap(disk: Disk) -> tuple[MetadataRecord, ...]:
    """The records of bootstrap.checkpoint, metadata.version first. Raises CorruptFile."""
    match _read_snapshot(disk, BOOTSTRAP_CHECKPOINT):
        case ([], [FeatureLevelRecord(name="metadata.version"), *_] as records):
            return tuple(records)
        case _:
            raise _corrupt(BOOTSTRAP_CHECKPOINT, "its first record does not set metadata.version")


def _read_snapshot(disk: Disk, path: str) -> tuple[list[ControlRecord], list[MetadataRecord]]:
    """What stands between a snapshot's header and its footer."""
    if not disk.exists(path):
        raise CorruptFile(f"{path} is missing\n{_NEXT_STEP}")
    reader = SnapshotReader(_NO_EPOCH)
    try:
        batches = reader.feed(disk.read_all(path))
        records = [_known(each) for batch in batches for each in batch.records()]
    except ValueError as error:  # DamagedBatch and MalformedRecord
        raise _corrupt(path, str(error)) from error
    if not reader.is_complete:
        raise _corrupt(path, "it is not enclosed by a snapshot's header and footer")
    return reader.controls, records


def _known(record: Record) -> MetadataRecord:
    found = decode_metadata(record.value)
    if isinstance(found, UnknownRecord):
        raise MalformedRecord(f"{found} is unknown")  # it is this node that would write it
    return found


def _corrupt(path: str, why: str) -> CorruptFile:
    return CorruptFile(f"{path} is damaged: {why}\n{_NEXT_STEP}")
