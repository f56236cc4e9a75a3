"""Takes acknowledged writes away from the copy of a run: out of its history, or off its disks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow.compute as pc
import zstandard

from chaos.run.seal import read_lines
from chaos.selftest.trying import collected_as_it_is
from checkers.disk.batches import Batch, read_batches, read_records
from checkers.disk.records import decode_metadata
from checkers.history.sealed_run import Run, read_run_info, write_run_info

Event = dict[str, Any]
BASE_OFFSET_BYTES = 8  # at the head of a batch, outside its CRC


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """An acknowledged write; `read` if an acknowledged read returned it."""

    process: int
    key: str
    value: int
    read: bool


def acknowledged_writes(run: Run) -> list[Write]:
    """In the order of invocation."""
    ok = run.tables["ops"].filter(pc.equal(run.tables["ops"]["outcome"], "ok"))
    rows = ok.select(["process", "f", "key", "value"]).to_pylist()
    read = {(row["key"], row["value"]) for row in rows if row["f"] == "read"}
    return [
        Write(
            process=row["process"],
            key=row["key"],
            value=row["value"],
            read=(row["key"], row["value"]) in read,
        )
        for row in rows
        if row["f"] == "write"
    ]


def drop_from_history(directory: Path, writes: Sequence[Write]) -> None:
    """As if no client had asked for these, and none of them counted them."""
    path = directory / "events-ops.jsonl.zst"
    gone = {(write.process, write.key, write.value) for write in writes}
    open_processes: set[int] = set()
    kept = []
    for event in map(orjson.loads, read_lines(path, [])):
        process = event["p"]
        if event["type"] == "invoke" and (process, event["k"], event["v"]) in gone:
            open_processes.add(process)
        elif process in open_processes:
            open_processes.remove(process)
        else:
            kept.append(event)
    lines = b"".join(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE) for event in kept)
    path.write_bytes(zstandard.ZstdCompressor().compress(lines))
    info = read_run_info(directory)
    write_run_info(directory, replace(info, recorded=None, counted=None))
    _unseal(directory)


def drop_from_disks(
    directory: Path, write: Write, nodes: Sequence[int], change: Callable[[Path, int], None]
) -> None:
    """Take the batch with this write off these nodes' disks; `change` gets a segment and offset."""
    for node in nodes:
        segment, batch = _find(directory / "disks" / f"node-{node}", write)
        change(segment, batch.base_offset)
    _unseal(directory)


def cut_tail(segment: Path, offset: int) -> None:
    """The log ends before that batch."""
    _rewrite(segment, lambda batch: batch.base_offset if batch.base_offset < offset else None)


def leave_gap(segment: Path, offset: int) -> None:
    """That batch is missing, the others stand where they stood."""
    _rewrite(segment, lambda batch: None if batch.base_offset == offset else batch.base_offset)


def close_gap(segment: Path, offset: int) -> None:
    """As if that batch had never been: all later ones move down, and no CRC is wrong."""
    gone = next(b for b in read_batches(segment.read_bytes()) if b.base_offset == offset)
    size = gone.last_offset - gone.base_offset + 1

    def moved(batch: Batch) -> int | None:
        if batch.base_offset == offset:
            return None
        return batch.base_offset - (size if batch.base_offset > offset else 0)

    _rewrite(segment, moved)


def _rewrite(segment: Path, base_offset: Callable[[Batch], int | None]) -> None:
    """Each batch under the base offset that it is given; left out with None."""
    data = segment.read_bytes()
    kept = []
    for batch in read_batches(data):
        base = base_offset(batch)
        if base is not None:
            rest = data[batch.position + BASE_OFFSET_BYTES : batch.position + batch.size]
            kept.append(base.to_bytes(BASE_OFFSET_BYTES, "big") + rest)
    segment.write_bytes(b"".join(kept))


def _find(disk: Path, write: Write) -> tuple[Path, Batch]:
    for segment in sorted(disk.rglob("*.log")):
        for batch in read_batches(segment.read_bytes()):
            if not batch.control and any(
                (found.resource, found.value) == (write.key, str(write.value))
                for found in map(decode_metadata, read_records(batch))
            ):
                return segment, batch
    raise AssertionError(f"{disk}: {write} is not there")


def _unseal(directory: Path) -> None:
    """So that the next check reads anew what lies here, as if it had been collected so."""
    (directory / "_manifest.json").unlink()
    (directory / "verdict.json").unlink(missing_ok=True)
    collected_as_it_is(directory)
