"""Records of batches, each decoded once: the disks of a quorum mostly hold the same batches."""

from collections.abc import Hashable, Iterator

from checkers.disk.batches import Batch, read_records
from checkers.disk.records import decode_control, decode_metadata

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
