"""Batches for tests of whatever stores or reads them."""

from node.ids import Epoch, Offset
from node.records.batch import encode_batch
from node.records.metadata import ConfigRecord, encode_metadata


def batch(base: int, epoch: int, records: int = 1, *, size: int = 0) -> bytes:
    """A batch of `records` configuration records, each value made at least `size` long."""
    values = [
        ConfigRecord(
            resource_type=16,
            resource_name="register",
            name="interval.ms",
            value=str(base + index).rjust(size, "0"),
        )
        for index in range(records)
    ]
    return encode_batch(
        [(None, encode_metadata(value)) for value in values],
        base_offset=Offset(base),
        leader_epoch=Epoch(epoch),
        timestamp_ms=1_700_000_000_000 + base,
    )
