"""All snapshots of the metadata log that lie on a disk (KIP-630), record by record."""

import re
from pathlib import Path

import pyarrow as pa

from checkers.disk.batches import read_batches
from checkers.disk.decoded_batches import DecodedBatches, RecordRow
from checkers.disk.fields import DamagedError
from checkers.history.tables import SNAPSHOT_RECORDS

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def snapshots_of(directory: Path) -> list[tuple[int, int, Path]]:
    """End and epoch of each, by its name, from the oldest on."""
    named = ((_SNAPSHOT.fullmatch(path.name), path) for path in directory.iterdir())
    return sorted((int(name[1]), int(name[2]), path) for name, path in named if name)


def read_snapshots(
    directory: Path, node: int, directory_id: str, known: DecodedBatches
) -> list[RecordRow]:
    """Rows of SNAPSHOT_RECORDS. Of a damaged one, up to the damage."""
    found: list[RecordRow] = []
    for end, epoch, path in snapshots_of(directory):
        head: RecordRow = {"node": node, "directory": directory_id, "end": end, "epoch": epoch}
        try:
            for batch in read_batches(path.read_bytes()):
                if not batch.crc_ok:
                    break
                found += [{**row, **head} for row in known.rows(batch)]
        except (DamagedError, OSError):
            continue
    return found


def snapshots_table(rows: list[RecordRow]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SNAPSHOT_RECORDS)
