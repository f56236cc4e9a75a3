"""All snapshots of the metadata log on a disk (KIP-630), record by record."""

import re
from pathlib import Path

import pyarrow as pa

from checkers.disk.batches import read_batches
from checkers.disk.decoded_batches import DecodedBatches, RecordRow
from checkers.disk.fields import DamagedError
from checkers.history.tables import SNAPSHOT_RECORDS

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def snapshots_of(directory: Path) -> list[tuple[int, int, Path]]:
    """End and epoch of each snapshot, by its name, from the oldest on."""
    named = ((_SNAPSHOT.fullmatch(path.name), path) for path in directory.iterdir())
    return sorted((int(name[1]), int(name[2]), path) for name, path in named if name)


def read_snapshots(
    directory: Path, node: int, directory_id: str, known: DecodedBatches, problems: list[str]
) -> list[RecordRow]:
    """Rows of SNAPSHOT_RECORDS; a damaged snapshot is read up to the damage, which is noted."""
    found: list[RecordRow] = []
    for end, epoch, path in snapshots_of(directory):
        head: RecordRow = {"node": node, "directory": directory_id, "end": end, "epoch": epoch}
        rows: list[RecordRow] = []
        try:
            for batch in read_batches(path.read_bytes()):
                if not batch.crc_ok:
                    problems.append(f"{path.name} position {batch.position}: wrong CRC")
                    break
                rows += [{**row, **head} for row in known.rows(batch)]
        except (DamagedError, OSError) as error:
            problems.append(f"{path.name}: {error}")
        if not rows or rows[-1]["type"] != "SnapshotFooter":
            problems.append(f"{path.name} does not end with its footer")
        found += rows
    return found


def snapshots_table(rows: list[RecordRow]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SNAPSHOT_RECORDS)
