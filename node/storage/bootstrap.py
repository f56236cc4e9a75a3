"""What a node is born with: the quorum's voters and the first metadata records.

Both are snapshot files (KIP-630): batches between a SnapshotHeader and a SnapshotFooter. A file
without its footer is not complete and is refused.
"""

from collections.abc import Sequence

from node.ids import Epoch, Offset, ReplicaKey
from node.messages import Endpoint
from node.records.batch import Batch, DamagedBatch, KeyValue, encode_batch, split_batches
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
from node.records.metadata import MetadataRecord, decode_metadata, encode_metadata
from node.storage.disk import Disk
from node.storage.errors import CorruptFile
from node.storage.layout import BOOTSTRAP_CHECKPOINT, VOTERS_CHECKPOINT

VoterSet = tuple[tuple[ReplicaKey, tuple[Endpoint, ...]], ...]
_NO_EPOCH = Epoch(0)  # of the records in a snapshot that no leader wrote


def encode_voters(voters: VoterSet, *, timestamp_ms: int) -> bytes:
    """The 0-0 checkpoint of a quorum whose voters have directory ids (kraft.version 1)."""
    rows = tuple(Voter(key=key, endpoints=endpoints) for key, endpoints in voters)
    return _encode_snapshot((KRaftVersion(version=1), Voters(voters=rows)), (), timestamp_ms)


def encode_bootstrap(records: Sequence[MetadataRecord], *, timestamp_ms: int) -> bytes:
    """bootstrap.checkpoint: what the first active controller writes into an empty log."""
    return _encode_snapshot((), records, timestamp_ms)


def read_voters(disk: Disk) -> VoterSet:
    """The voters of the 0-0 checkpoint, with their endpoints. Raises CorruptFile."""
    controls, _ = _read_snapshot(disk, VOTERS_CHECKPOINT)
    sets = [record for record in controls if isinstance(record, Voters)]
    if len(sets) != 1 or not sets[0].voters:
        raise _corrupt(VOTERS_CHECKPOINT, "it does not hold one set of voters")
    return tuple((voter.key, voter.endpoints) for voter in sets[0].voters)


def read_bootstrap(disk: Disk) -> tuple[MetadataRecord, ...]:
    """The records of bootstrap.checkpoint, metadata.version first. Raises CorruptFile."""
    return _read_snapshot(disk, BOOTSTRAP_CHECKPOINT)[1]


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


def _read_snapshot(
    disk: Disk, path: str
) -> tuple[tuple[ControlRecord, ...], tuple[MetadataRecord, ...]]:
    if not disk.exists(path):
        raise _corrupt(path, "it is missing")
    controls: list[ControlRecord] = []
    records: list[MetadataRecord] = []
    try:
        for batch in split_batches(disk.read_all(path)):
            _decode_into(batch, controls, records)
    except ValueError as error:  # DamagedBatch or MalformedRecord
        raise _corrupt(path, str(error)) from error
    first, last = (controls[0], controls[-1]) if controls else (None, None)
    if not isinstance(first, SnapshotHeader) or not isinstance(last, SnapshotFooter):
        raise _corrupt(path, "it is not enclosed by a snapshot's header and footer")
    return tuple(controls), tuple(records)


def _decode_into(
    batch: Batch, controls: list[ControlRecord], records: list[MetadataRecord]
) -> None:
    if controls and isinstance(controls[-1], SnapshotFooter):
        raise DamagedBatch(0, "a batch after the snapshot's footer")
    if batch.header.is_control:
        controls.extend(decode_control(record.key, record.value) for record in batch.records())
    else:
        records.extend(decode_metadata(record.value) for record in batch.records())


def _corrupt(path: str, why: str) -> CorruptFile:
    return CorruptFile(
        f"{path} is damaged: {why}\n"
        "  try: put it back from a copy of this disk, or format an empty disk"
    )
