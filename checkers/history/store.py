"""Sealed runs on disk: typed Parquet files and their manifest, which is renamed into place last.

A directory without `_manifest.json` is not sealed, whatever Parquet files lie in it; readers go by
the manifest, never by a glob, so a seal that broke off half-way is simply done again. Integers are
delta-packed (times and indices rise), strings are dictionary-encoded: a quarter of plain Parquet.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from crc32c import crc32c

from checkers.history.sealed_run import Run, checked, read_run_info, with_checksum
from checkers.history.tables import TABLES

_MEANING = 6  # goes up when the meaning of a column changes


def schema_version(tables: Mapping[str, pa.Schema], meaning: int = _MEANING) -> str:
    """A hash of the columns and their meaning: a run of another version cannot be read."""
    columns = [f"{name}.{c.name} {c.type}" for name, table in tables.items() for c in table]
    return f"{meaning}-{crc32c(chr(10).join(columns).encode()):08x}"


SCHEMA_VERSION = schema_version(TABLES)
MANIFEST = "_manifest.json"
VERDICT = "verdict.json"  # only in a sealed run
EVENTS = "events-*.jsonl.zst"  # the source of the tables, besides disks and traces
_SMALL_BYTES = 1 << 20

ManifestValue = (
    int
    | float
    | str
    | bool
    | None
    | Sequence[str]
    | Mapping[str, str]
    | Mapping[str, int]
    | Mapping[str, Mapping[str, int]]
)


class UnreadableRunError(Exception):
    """A run directory that cannot be judged: the message says which file, why, and the next
    command."""


class DamagedSealError(UnreadableRunError):
    """A sealed run with a file that differs from what was sealed: it cannot be judged."""


def write_tables(
    directory: Path,
    tables: Mapping[str, pa.Table],
    extra: Mapping[str, ManifestValue],
    *,
    syncs: bool = True,
) -> None:
    """Seal `tables` (one for each name of `TABLES`) into `directory`; durable when it returns,
    unless `syncs` is off.

    `extra` goes into the manifest as it is; its entry `truncated`, a list of sentences about what
    was cut from the recorded files, comes back as `Run.truncated`; so do `differs`, `rows` and
    `broken_lines`, under their names. An older seal is removed first, so that no reader ever finds
    a new file under an old manifest. Raises ValueError for a table that is missing or has another
    schema.
    """
    _require_all(tables)
    (directory / MANIFEST).unlink(missing_ok=True)
    if syncs:
        _sync(directory)
    files = {name: _write_table(directory, name, tables[name], syncs=syncs) for name in TABLES}
    manifest = {"truncated": [], **extra, "schema_version": SCHEMA_VERSION, "files": files}
    replace_file(directory / MANIFEST, with_checksum(manifest).encode(), syncs=syncs)


def _require_all(tables: Mapping[str, pa.Table]) -> None:
    for name, schema in TABLES.items():
        if name not in tables:
            raise ValueError(
                f"table {name} is missing; an empty one is {name}.schema.empty_table()"
            )
        if not tables[name].schema.equals(schema):
            raise ValueError(f"table {name} does not have its schema: {tables[name].schema}")


def _write_table(
    directory: Path, name: str, table: pa.Table, *, syncs: bool
) -> dict[str, int | str]:
    """In place: without a manifest, no reader opens it."""
    path = directory / f"{name}.parquet"
    data = _encoded(table) if table.num_rows else _encoded_empty(table.schema)
    path.write_bytes(data)
    if syncs:
        _sync(path)
    return {"name": path.name, "rows": table.num_rows, "bytes": len(data), "crc32c": crc32c(data)}


def _encoded(table: pa.Table) -> pa.Buffer:
    """Compressing a small table takes as long as the rest, and saves some kilobytes."""
    into = pa.BufferOutputStream()
    compression = "zstd" if table.nbytes > _SMALL_BYTES else "none"
    pq.write_table(table, into, compression=compression, **_encodings(table.schema))
    return into.getvalue()


@cache
def _encoded_empty(schema: pa.Schema) -> pa.Buffer:
    """A third of a run's tables are empty, and each would take as long as a short one."""
    return _encoded(schema.empty_table())


def _encodings(schema: pa.Schema) -> dict[str, object]:
    int64 = {column.name: "DELTA_BINARY_PACKED" for column in schema if column.type == pa.int64()}
    strings = [column.name for column in schema if column.type == pa.string()]
    return {"use_dictionary": strings, "column_encoding": int64}


def replace_file(path: Path, data: bytes, *, syncs: bool = True) -> None:
    """Put `data` at `path` in one step: a reader finds the old file or the new one; also after a
    power cut, if it `syncs`."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # another may write it, too
    part.write_bytes(data)
    if syncs:
        _sync(part)
    part.replace(path)
    if syncs:
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_run(directory: Path) -> Run:
    """The sealed run in `directory`; every file is compared with the manifest before it is used.

    Raises UnreadableRunError: not a run, not sealed, sealed by another version; DamagedSealError.
    """
    try:
        info = read_run_info(directory)
    except FileNotFoundError as error:
        raise UnreadableRunError(
            f"{directory} is no run: it has no run.json\n  try: kraft-chaos run partition-leader"
        ) from error
    except ValueError as error:
        raise UnreadableRunError(
            f"{error}\n  the run cannot be read; run its scenario again"
        ) from error
    manifest = read_manifest(directory)
    tables = {name: _read_table(directory, name, manifest) for name in TABLES}
    return Run(
        directory=directory,
        info=info,
        tables=tables,
        truncated=_truncated(manifest),
        differs=_texts(manifest.get("differs")),
        rows={name: _numbers(rows) for name, rows in _entries(manifest.get("rows"))},
        broken_lines=_numbers(manifest.get("broken_lines")),
    )


def _damaged(directory: Path, what: str) -> DamagedSealError:
    if any(directory.glob(EVENTS)):
        step = (
            f"kraft-chaos check --reseal {directory}   (from what was recorded, if that is "
            "complete)"
        )
    else:
        step = f"copy {directory} again from where it was made: its {EVENTS} are missing as well"
    return DamagedSealError(f"{what}\n  try: {step}")


def read_manifest(directory: Path) -> dict[str, object]:
    """The manifest, as it was written. Raises UnreadableRunError."""
    path = directory / MANIFEST
    if not path.exists():
        raise _not_sealed(directory)
    try:
        text = path.read_text()
        manifest = json.loads(text)
    except ValueError as error:
        raise _damaged(directory, f"{path}: not JSON: {error}") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise _damaged(directory, f"{path}: not a manifest")
    try:
        checked(path, text, manifest)
    except ValueError as error:
        raise _damaged(directory, str(error)) from error
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise UnreadableRunError(
            f"{path}: schema version {manifest.get('schema_version')}, but this program reads "
            f"{SCHEMA_VERSION}\n  try: kraft-chaos check {directory}   (seals it again from what "
            "was recorded)"
        )
    return manifest


def _not_sealed(directory: Path) -> UnreadableRunError:
    """A run that broke off was never judged; if a run was judged, its manifest is lost."""
    if (directory / VERDICT).exists():
        return _damaged(
            directory, f"{directory / MANIFEST} is missing, and the run was judged by it"
        )
    return UnreadableRunError(
        f"{directory} is not sealed: it has no {MANIFEST}\n"
        f"  try: kraft-chaos check {directory}   (check seals it)"
    )


def _read_table(directory: Path, name: str, manifest: Mapping[str, object]) -> pa.Table:
    data, rows = sealed_bytes(directory, name, manifest)
    table = pq.ParquetFile(pa.BufferReader(data)).read().cast(TABLES[name])
    if table.num_rows != rows:
        raise _damaged(directory, f"{directory / name}.parquet: {table.num_rows} rows, not {rows}")
    return table


def sealed_bytes(
    directory: Path, name: str, manifest: Mapping[str, object]
) -> tuple[bytes, object]:
    """The file of a table as it was sealed, and its number of rows by the manifest.

    Raises DamagedSealError.
    """
    path = directory / f"{name}.parquet"
    files = manifest["files"]
    assert isinstance(files, dict)
    promised = files.get(name)
    if not isinstance(promised, dict):
        raise _damaged(directory, f"{directory / MANIFEST}: it names no table {name}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _damaged(directory, f"{path}: {error.strerror}") from error
    if (len(data), crc32c(data)) != (promised.get("bytes"), promised.get("crc32c")):
        sealed = promised.get("bytes")
        why = f"{path}: its {len(data)} bytes are not the {sealed} bytes that were sealed"
        raise _damaged(directory, why)
    return data, promised.get("rows")


def _truncated(manifest: Mapping[str, object]) -> tuple[str, ...]:
    notes = manifest.get("truncated")
    return tuple(str(note) for note in notes) if isinstance(notes, list) else ()


def _entries(found: object) -> Iterable[tuple[str, object]]:
    return found.items() if isinstance(found, dict) else ()


def _texts(found: object) -> dict[str, str]:
    return {name: str(text) for name, text in _entries(found)}


def _numbers(found: object) -> dict[str, int]:
    return {name: number for name, number in _entries(found) if isinstance(number, int)}
