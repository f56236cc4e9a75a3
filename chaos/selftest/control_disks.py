"""A copy of a run in which the disk of a last leader lacks one acknowledged record.

Final reads had it, and every offset, size and CRC of the image is right: only a comparison of the
disk with the clients' answers can show it.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from crc32c import crc32c

from chaos.run.collect import take, trace_lines
from chaos.scenarios.controls import NothingToDropError
from checkers.disk.batches import HEADER, HEADER_SIZE, Batch, read_batches
from checkers.disk.fields import Fields, decompressed
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run, read_run_info, write_run_info
from checkers.history.store import MANIFEST, VERDICT, read_run

_CODEC_BITS = 0x07
_CRC_FROM = 21  # the attributes: the CRC does not cover what is before them


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The removed record: its client, its node and partition."""

    node: int
    key: str
    offset: int


def without_its_record_at_the_leader(run: Path, copy: Path) -> Removed:
    """Copy a valid run of brokers, unsealed, to a new directory.

    Raises NothingToDropError where no image of a last leader holds an acknowledged record.
    """
    removed = _victim(read_run(run))
    shutil.copytree(run, copy)
    for derived in (MANIFEST, VERDICT):
        (copy / derived).unlink(missing_ok=True)  # so that the disks are read again
    for segment in _segments(copy, removed):
        data = segment.read_bytes()
        for batch in read_batches(data):
            if batch.base_offset <= removed.offset <= batch.last_offset:
                segment.write_bytes(_without(data, batch, removed.offset))
                collected_as_it_is(copy)
                return removed
    raise NothingToDropError(f"{run}: no segment of node {removed.node} holds {removed}")


def collected_as_it_is(copy: Path) -> None:
    """Make the inventory of a copy again: the cluster lost something, no evidence did
    afterwards."""
    info = read_run_info(copy)
    write_run_info(copy, replace(info, inventory_crc32c=take(copy), trace_lines=trace_lines(copy)))


def _victim(run: Run) -> Removed:
    """One from the middle: neither the first nor the last of its log."""
    evidence = Evidence(run)
    found, sent = evidence.timeline, evidence.acknowledged
    if found is None or not sent.num_rows:
        raise NothingToDropError(f"{run.info.run_id}: brokers acknowledged no record")
    row = sent.slice(sent.num_rows // 2, 1).to_pylist()[0]
    return Removed(node=found.last_leader(row["key"]), key=row["key"], offset=row["offset"])


def _segments(run: Path, removed: Removed) -> Iterator[Path]:
    disk = run / "disks" / f"node-{removed.node}"
    yield from sorted(disk.rglob(f"{removed.key}/*.log"))


def _without(segment: bytes, batch: Batch, offset: int) -> bytes:
    """The batch keeps its offsets, as after a compaction; if it had one record it is empty."""
    records = _records_but(batch, offset)
    before, after = segment[: batch.position], segment[batch.position + batch.size :]
    header = np.frombuffer(segment, HEADER, count=1, offset=batch.position).copy()
    header["attributes"] &= ~_CODEC_BITS
    header["records"] -= 1
    header["length"] += HEADER_SIZE + len(records) - batch.size
    header["crc"] = crc32c(header.tobytes()[_CRC_FROM:] + records)
    return b"".join((before, header.tobytes(), records, after))


def _records_but(batch: Batch, offset: int) -> bytes:
    """The record block, not compressed, without the record of an offset."""
    block = Fields(decompressed(batch.codec, batch.data))
    kept = b""
    for _ in range(batch.records):
        start = block.at
        body = Fields(block.take(block.varint()))
        body.int8()
        body.varint()
        if batch.base_offset + body.varint() != offset:
            kept += block.data[start : block.at]
    return kept
