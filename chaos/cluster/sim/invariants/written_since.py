"""Records of the metadata log, read from the log itself: those written since a request arrived."""

from collections.abc import Iterator

from node.ids import Offset
from node.records.batch import split_batches
from node.records.metadata import MetadataRecord, UnknownRecord, decode_metadata
from node.storage.view import LogView

_READ_BYTES = 1 << 20


def written_between(
    log: LogView, start: Offset, end: Offset
) -> Iterator[MetadataRecord | UnknownRecord]:
    """Records of whole batches, from the log's start at the earliest."""
    offset = max(start, log.start())
    while offset < end:
        for batch in split_batches(log.read(offset, _READ_BYTES)):
            offset = batch.header.next_offset
            if batch.header.is_control or offset > end:
                continue
            for value in batch.values():
                yield decode_metadata(value)
