"""What a node is born with: the quorum's voters and the first metadata records.

Both are snapshot files (KIP-630): batches between a SnapshotHeader and a SnapshotFooter. A file
without its footer is not complete and is refused.
"""

from collections.abc import Iterator, Sequence

from node.endpoint import Endpoint
from node.ids import Epoch, Offset, ReplicaKey
from node.records.batch import Batch, KeyValue, encode_batch, split_batches
from node.records.control import (
    ControlRecord,
    KRaftVersion,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    decode_control,
    encode_control,
)
from node.records.metadata import (
    FeatureLevelRecord,
    MalformedRecord,
    MetadataRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
)
from node.storage.disk import Disk
from node.storage.layout import BOOTSTRAP_CHECKPOINT, VOTERS_CHECKPOINT
from node.storage.storage_errors import CorruptFile

ListedVoters = tuple[tuple[ReplicaKey, tuple[Endpoint, ...]], ...]
_NO_EPOCH = Epoch(0)  # of the records in a snapshot that no leader wrote


def encode_voters(voters: ListedVoters, *, timestamp_ms: int) -> bytes:
    """The 0-0 checkpoint of a quorum whose voters have directory ids (kraft.version 1)."""
    rows = tuple(Voter(key=key, endpoints=endpoints) for key, endpoints in voters)
    return _encode_snapshot((KRaftVersion(version=1), Voters(voters=rows)), (), timestamp_ms)


def encode_bootstrap(records: Sequence[MetadataRecord], *, timestamp_ms: int) -> bytes:
    """bootstrap.checkpoint: what the first active controller writes into an empty log."""
    return _encode_snapshot((), records, timestamp_ms)


def read_voters(disk: Disk) -> ListedVoters:
    """The voters of the 0-0 checkpoint, with their endpoints. Raises CorruptFile."""
    match _read_snapshot(disk, VOTERS_CHECKPOINT):
        case [KRaftVersion(), Voters(voters=(_, *_) as voters)]:
            return tuple((voter.key, voter.endpoints) for voter in voters)
        case _:
            raise _corrupt(VOTERS_CHECKPOINT, "it does not hold a kraft.version and voters")


def read_bootstrap(disk: Disk) -> tuple[MetadataRecord, ...]:
    """The records of bootstrap.checkpoint, metadata.version first. Raises CorruptFile."""
    content = _read_snapshot(disk, BOOTSTRAP_CHECKPOINT)
    records = tuple(record for record in content if isinstance(record, MetadataRecord))
    match records:
        case (FeatureLevelRecord(name="metadata.version"), *_) if len(records) == len(content):
            return records
        case _:
            raise _corrupt(BOOTSTRAP_CHECKPOINT, "its first record does not set metadata.version")


def _encode_snapshot(
    controls: Sequence[ControlRecord], records: Sequence[MetadataRecord], timestamp_ms: int
) -> bytes:
    header = SnapshotHeader(last_contained_timestamp_ms=timestamp_ms)
    opening = [encode_control(record) for record in (header, *controls)]
    content: list[KeyValue] = [(None, encode_metadata(record)) for record in records]
    closing = [encode_control(SnapshotFooter())]
    data = b""
    offset = 0
    for batch, control in ((opening, True), (content, False), (closing, True)):
        if batch:
            data += encode_batch(
                batch,
                base_offset=Offset(offset),
                leader_epoch=_NO_EPOCH,
                timestamp_ms=timestamp_ms,
                control=control,
            )
            offset += len(batch)
    return data


def _read_snapshot(disk: Disk, path: str) -> list[ControlRecord | MetadataRecord]:
    """The records between a snapshot's header and its footer."""
    if not disk.exists(path):
        raise _corrupt(path, "it is missing")
    found: list[ControlRecord | MetadataRecord] = []
    try:
        for batch in split_batches(disk.read_all(path)):
            if batch.header.base_offset != len(found):
                raise ValueError(f"offset {batch.header.base_offset} after {len(found)} records")
            found.extend(_decode(batch))
    except ValueError as error:  # DamagedBatch and MalformedRecord as well
        raise _corrupt(path, str(error)) from error
    match found:
        case [SnapshotHeader(), *content, SnapshotFooter()]:
            return content
        case _:
            raise _corrupt(path, "it is not enclosed by a snapshot's header and footer")


def _decode(batch: Batch) -> Iterator[ControlRecord | MetadataRecord]:
    for record in batch.records():
        if batch.header.is_control:
            yield decode_control(record.key, record.value)
            continue
        found = decode_metadata(record.value)
        if isinstance(found, UnknownRecord):
            raise MalformedRecord(f"{found} is unknown")  # it is this node that would write it
        yield found


def _corrupt(path: str, why: str) -> CorruptFile:
    return CorruptFile(
        f"{path} is damaged: {why}\n"
        "  try: put it back from a copy of this disk, or format an empty disk"
    )
