"""Damage to sealed tables: seen by their manifest, or with one that was written anew and fits."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from crc32c import crc32c

from checkers.history.sealed_run import with_checksum
from checkers.history.store import EVENTS, MANIFEST

Thin = Callable[[pa.Table, random.Random], pa.Table]


def damage_table(directory: Path, rng: random.Random) -> str:
    """Take rows from one table of a sealed run; what was done, in words."""
    manifest = json.loads((directory / MANIFEST).read_bytes())
    name = rng.choice([name for name, file in manifest["files"].items() if file["rows"]])
    table = pq.read_table(directory / f"{name}.parquet")
    thin = rng.choice(_THINS)
    left = thin(table, rng)
    _rewrite(directory, name, left)
    return f"table {name}: {thin.__name__}, {table.num_rows - left.num_rows} of {table.num_rows}"


def cut_table_file(directory: Path, rng: random.Random) -> str:
    """Delete or cut the file of one table of an archived run, which has nothing but its seal."""
    for recorded in directory.glob(EVENTS):
        recorded.unlink()
    return f"without its events, {_spoil(rng, _table_files(directory))}"


def spoil_seal(directory: Path, rng: random.Random) -> str:
    """The same where all that the tables were made from is whole; or damage to the manifest."""
    return _spoil(rng, [*_table_files(directory), directory / MANIFEST])


def _table_files(directory: Path) -> list[Path]:
    manifest = json.loads((directory / MANIFEST).read_bytes())
    return [directory / f"{name}.parquet" for name in sorted(manifest["files"])]


def _spoil(rng: random.Random, files: Sequence[Path]) -> str:
    path = rng.choice(files)
    data = path.read_bytes()
    at, draw = rng.randrange(len(data) - 1), rng.random()
    if draw < 0.4:
        path.write_bytes(data[:at])
        return f"{path.name} cut at {at} of {len(data)} bytes"
    if draw < 0.7:
        path.unlink()
        return f"{path.name} deleted"
    path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    return f"{path.name} with another bit in byte {at}"


def _rewrite(directory: Path, name: str, table: pa.Table) -> None:
    path = directory / f"{name}.parquet"
    pq.write_table(table, path)
    data = path.read_bytes()
    manifest = json.loads((directory / MANIFEST).read_bytes())
    del manifest["crc32c"]  # its own
    manifest["files"][name] |= {
        "rows": table.num_rows,
        "bytes": len(data),
        "crc32c": crc32c(data),
    }
    (directory / MANIFEST).write_text(with_checksum(manifest))


def one_row(table: pa.Table, rng: random.Random) -> pa.Table:
    return _without(table, {rng.randrange(table.num_rows)})


def some_rows(table: pa.Table, rng: random.Random) -> pa.Table:
    most = max(1, table.num_rows // 4)
    return _without(table, set(rng.sample(range(table.num_rows), rng.randint(1, most))))


def last_rows(table: pa.Table, rng: random.Random) -> pa.Table:
    return table.slice(0, table.num_rows - rng.randint(1, min(60, table.num_rows)))


def first_rows(table: pa.Table, rng: random.Random) -> pa.Table:
    del rng
    return table.slice((table.num_rows + 1) // 2)


def all_rows(table: pa.Table, rng: random.Random) -> pa.Table:
    del rng
    return table.slice(0, 0)


def rows_of_one(table: pa.Table, rng: random.Random) -> pa.Table:
    """Of one node, where the table tells of nodes; else of one process."""
    of = next(column for column in ("node", "process", "op_id", "fault_id") if column in _of(table))
    values = table[of].to_pylist()
    victim = rng.choice(values)
    return _without(table, {row for row, value in enumerate(values) if value == victim})


def _of(table: pa.Table) -> list[str]:
    names: list[str] = table.column_names
    return names


def _without(table: pa.Table, gone: set[int]) -> pa.Table:
    left = [row for row in range(table.num_rows) if row not in gone]
    return table.take(pa.array(left, pa.int64()))


_THINS: tuple[Thin, ...] = (one_row, some_rows, last_rows, first_rows, all_rows, rows_of_one)
