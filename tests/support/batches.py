"""Batches for tests of whatever stores or reads them."""

from node.ids import Epoch, LogPosition, Offset
from node.records.batch import encode_batch
from node.records.control import KRaftVersion
from node.records.metadata import ConfigRecord, encode_metadata
from node.records.snapshot import SnapshotEncoder


def batch(base: int, epoch: int, records: int = 1, *, size: int = 0) -> bytes:
    """A batch of `records` configuration records, each value made at least `size` long."""
    values = [_config(base + index, size) for index in range(records)]
    return encode_batch(
        [(None, encode_metadata(value)) for value in values],
        base_offset=Offset(base),
        leader_epoch=Epoch(epoch),
        timestamp_ms=1_700_000_000_000 + base,
    )


def snapshot(id_: LogPosition, values: int = 1, *, size: int = 0) -> bytes:
    """A whole snapshot of `values` configuration records in one batch each, such as a node writes
    at `id_`."""
    encoder = SnapshotEncoder(id_.epoch, 1_700_000_000_000 + id_.offset)
    pieces = [encoder.opening([KRaftVersion(version=1)])]
    for number in range(values):
        pieces.append(encoder.data([encode_metadata(_config(number, size))]))
    return b"".join([*pieces, encoder.closing()])


def _config(value: int, size: int) -> ConfigRecord:
    return ConfigRecord(
        resource_type=16,
        resource_name="register",
        name="interval.ms",
        value=str(value).rjust(size, "0"),
    )
