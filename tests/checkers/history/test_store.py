"""Seal and read back; every way a directory can fail to be a sealed run says what to do."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.history.sealed_run import with_checksum
from checkers.history.store import (
    MANIFEST,
    VERDICT,
    DamagedSealError,
    UnreadableRunError,
    read_run,
    schema_version,
    write_tables,
)
from checkers.history.tables import TABLES
from tests.support.sealed_runs import Shape, seal_run, synthetic_run

SMALL = Shape(duration_s=3, faults=((1, 2),))


def test_a_sealed_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    run = read_run(seal_run(tmp_path / "r", SMALL))
    original = synthetic_run(SMALL)
    assert set(run.tables) == set(TABLES)
    assert all(run.tables[name].equals(original.tables[name]) for name in TABLES)
    assert run.info.scenario == "partition-leader"


def test_integers_are_delta_packed_and_strings_have_dictionaries(tmp_path: Path) -> None:
    by_name = columns_of(seal_run(tmp_path / "r", SMALL) / "ops.parquet")
    assert "DELTA_BINARY_PACKED" in by_name["t0"].encodings
    assert "RLE_DICTIONARY" in by_name["key"].encodings


@pytest.mark.parametrize(("bytes_each", "compression"), [(10, "UNCOMPRESSED"), (1 << 20, "ZSTD")])
def test_large_tables_are_compressed_however_few_their_rows_are(
    tmp_path: Path, bytes_each: int, compression: str
) -> None:
    tables = dict(synthetic_run(SMALL).tables)
    ops = tables["ops"].slice(0, 2)
    key = ops.schema.get_field_index("key")
    large = pa.array(["x" * bytes_each] * 2, ops.schema.field(key).type)
    write_tables(tmp_path, {**tables, "ops": ops.set_column(key, ops.schema.field(key), large)}, {})
    assert columns_of(tmp_path / "ops.parquet")["t0"].compression == compression


def columns_of(path: Path) -> dict[str, Any]:
    group = pq.ParquetFile(path).metadata.row_group(0)
    return {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}


def test_what_was_cut_is_told_to_the_reader(tmp_path: Path) -> None:
    directory = seal_run(tmp_path / "r", SMALL)
    write_tables(directory, synthetic_run(SMALL).tables, {"truncated": ["events-1: last frame"]})
    assert read_run(directory).truncated == ("events-1: last frame",)


def test_no_leftovers_beside_the_files(tmp_path: Path) -> None:
    directory = seal_run(tmp_path / "r", SMALL)
    assert not list(directory.glob(".*"))


def test_all_of_a_seal_is_durable_unless_nobody_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink().name)
    )
    tables = synthetic_run(SMALL).tables
    write_tables(tmp_path, tables, {})
    assert {f"{name}.parquet" for name in TABLES} <= set(synced)
    assert synced[-2:] == [f".{MANIFEST}.{os.getpid()}.part", tmp_path.name]
    synced.clear()
    write_tables(tmp_path, tables, {}, syncs=False)
    assert not synced


def test_a_table_of_another_schema_is_refused(tmp_path: Path) -> None:
    tables = dict(synthetic_run(SMALL).tables)
    tables["ops"] = pa.table({"op_id": [1]})
    with pytest.raises(ValueError, match="ops does not have its schema"):
        write_tables(tmp_path, tables, {})
    del tables["ops"]
    with pytest.raises(ValueError, match="ops is missing"):
        write_tables(tmp_path, tables, {})


def of_another_schema(directory: Path) -> None:
    """As an older program sealed it."""
    manifest = json.loads((directory / MANIFEST).read_text())
    del manifest["crc32c"]
    (directory / MANIFEST).write_text(with_checksum({**manifest, "schema_version": 4}))


def test_a_column_more_or_of_another_type_is_another_version() -> None:
    """Nobody has to remember to say so: runs of before were called damaged by a traceback."""
    changed: list[dict[str, pa.Schema]] = [{**TABLES, "more": pa.schema([("one", pa.int64())])}]
    for name, table in TABLES.items():
        first = table.field(0)
        changed += [
            {**TABLES, name: table.append(pa.field("more", pa.bool_()))},
            {**TABLES, name: table.remove(0)},
            {**TABLES, name: table.set(0, first.with_type(pa.binary()))},
            {**TABLES, name: table.set(0, first.with_name("other"))},
        ]
    versions = {schema_version(each) for each in changed}
    assert len(versions) == len(changed)
    assert schema_version(TABLES) not in versions
    assert schema_version(TABLES, 7) != schema_version(TABLES, 6)


def another_digit(directory: Path) -> None:
    text = (directory / MANIFEST).read_text()
    assert '"schema_version": "6-' in text
    (directory / MANIFEST).write_text(text.replace('"schema_version": "6', '"schema_version": "4'))


def judged_and_not_sealed(directory: Path) -> None:
    (directory / VERDICT).touch()
    (directory / MANIFEST).unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d: (d / "run.json").unlink(), "no run.json"),
        (lambda d: (d / "run.json").write_text("{"), "not a run's description"),
        (lambda d: (d / "_manifest.json").unlink(), "is not sealed"),
        (lambda d: (d / "_manifest.json").write_text("[1"), "not JSON"),
        (lambda d: (d / "_manifest.json").write_text("[]"), "not a manifest"),
        (lambda d: (d / "_manifest.json").write_text('{"files":{}}'), "no checksum"),
        (another_digit, "checksum differs"),
        (of_another_schema, "schema version 4"),
        (judged_and_not_sealed, r"_manifest\.json is missing"),
        (lambda d: (d / "ops.parquet").unlink(), r"ops\.parquet: No such file"),
        (lambda d: (d / "faults.parquet").write_bytes(b"PAR1"), r"faults\.parquet: its 4 bytes"),
    ],
)
def test_damage_is_named_with_the_next_command(tmp_path: Path, damage: object, said: str) -> None:
    directory = seal_run(tmp_path / "r", SMALL)
    assert callable(damage)
    damage(directory)
    with pytest.raises(UnreadableRunError, match=said) as caught:
        read_run(directory)
    assert "\n  try: " in str(caught.value) or "run its scenario again" in str(caught.value)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_damaged_table_is_made_anew_only_on_purpose_and_from_events(
    tmp_path: Path, recorded: bool
) -> None:
    directory = seal_run(tmp_path / "r", SMALL)
    (directory / "ops.parquet").write_bytes(b"PAR1")
    if recorded:
        (directory / "events-ops.jsonl.zst").touch()
    with pytest.raises(DamagedSealError) as caught:
        read_run(directory)
    step = f"kraft-chaos check --reseal {directory}" if recorded else f"copy {directory} again"
    assert step in str(caught.value)
