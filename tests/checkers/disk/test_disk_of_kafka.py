"""What Apache Kafka 4.3.1 wrote: our reader against Kafka's own dump tool, on the same files.

The files are small and real; `tests.support.kafka_disks` says how they came about.
"""

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from checkers.disk import read_disks
from checkers.disk.records import LAYOUTS
from tests.support.dumped import DumpedBatch, DumpedRecord, parse
from tests.support.kafka_disks import unpack

METADATA = "__cluster_metadata-0"
Tables = dict[str, pa.Table]
Dumped = dict[str, list[DumpedBatch]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tables, Dumped]:
    directory = tmp_path_factory.mktemp("disks")
    dumped = parse(unpack("4.3.1", directory))
    return directory, read_disks(directory), dumped


def of(path: str, batch: DumpedBatch) -> dict[str, Any]:
    """A batch of the dump as the columns of a table of batches."""
    head = batch.head
    return {
        "node": int(path[5]),
        "base_offset": int(head["baseOffset"]),
        "last_offset": int(head["lastOffset"]),
        "epoch": int(head["partitionLeaderEpoch"]),
        "crc": int(head["crc"]),
        "crc_ok": head["isvalid"] == "true",
        "control": head["isControl"] == "true",
        "records": int(head["count"]),
        "size": int(head["size"]),
        "segment": path.rpartition("/")[2],
        "position": int(head["position"]),
    }


def test_batches_of_metadata_logs(read: tuple[Path, Tables, Dumped]) -> None:
    _, tables, dumped = read
    told = [
        of(path, batch) | {"timestamp": int(batch.head["CreateTime"])}
        for path, batches in sorted(dumped.items())
        if METADATA in path and path.endswith(".log")
        for batch in batches
    ]
    rows = tables["log_batches"].drop(["directory"]).to_pylist()
    assert len(told) > 200
    assert rows == told


def test_batches_of_partitions(read: tuple[Path, Tables, Dumped]) -> None:
    _, tables, dumped = read
    told = [
        of(path, batch)
        | {
            "key": path.split("/")[2],
            "producer_id": int(batch.head["producerId"]),
            "producer_epoch": int(batch.head["producerEpoch"]),
            "base_sequence": int(batch.head["baseSequence"]),
        }
        for path, batches in sorted(dumped.items())
        if "/kept-" in path
        for batch in batches
    ]
    assert tables["replica_batches"].drop(["directory"]).to_pylist() == told
    codecs = {batch.head["compresscodec"] for batches in dumped.values() for batch in batches}
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_values_in_all_codecs(read: tuple[Path, Tables, Dumped]) -> None:
    _, tables, dumped = read
    told = [
        (
            int(path[5]),
            path.split("/")[2],
            record.offset,
            *struct.unpack(">q", record.text[:8].encode()),
        )
        for path, batches in sorted(dumped.items())
        if "/kept-" in path
        for batch in batches
        for record in batch.records
    ]
    spans = tables["replica_spans"].to_pylist()
    found = [
        (span["node"], span["key"], span["offset"] + more, span["value"] + more)
        for span in spans
        for more in range(span["records"])
    ]
    assert found == told
    assert len(spans) * 3 == len(found)  # three records a batch, and no two batches go on


def test_records_of_logs_and_of_the_snapshots_before_them(
    read: tuple[Path, Tables, Dumped],
) -> None:
    """The oldest snapshot first, all of it at the last offset that it covers; then the log."""
    directory, tables, dumped = read
    rows = tables["log_records"].to_pylist()
    for node in (1, 2, 3):
        log = directory / f"node-{node}" / "kafka" / METADATA
        starts_late = min(int(path.stem) for path in log.glob("*.log")) > 0
        snapshot = min(log.glob("*.checkpoint")) if starts_late else None
        told: list[tuple[int, DumpedRecord]] = []
        if snapshot is not None:
            at = int(snapshot.name[:20]) - 1
            told += [(at, record) for record in records(dumped, directory, snapshot)]
        for path in sorted(log.glob("*.log")):
            told += [(record.offset, record) for record in records(dumped, directory, path)]
        mine = [row for row in rows if row["node"] == node]
        assert [(row["offset"], row["type"]) for row in mine] == [
            (at, record.type) for at, record in told
        ]
        for row, (_, record) in zip(mine, told, strict=True):
            compare(row, record)
    assert any(row["type"] == "SnapshotFooter" for row in rows)


def records(dumped: Dumped, directory: Path, path: Path) -> list[DumpedRecord]:
    batches = dumped.get(str(path.relative_to(directory)), [])
    return [record for batch in batches for record in batch.records]


def compare(row: dict[str, Any], record: DumpedRecord) -> None:
    match row["type"]:
        case "Config":
            names = ("resourceType", "resourceName", "name", "value")
            columns = ("resource_type", "resource", "name", "value")
            assert [row[name] for name in columns] == [record.fields[name] for name in names]
        case "FeatureLevel":
            level = record.fields["featureLevel"]
            assert (row["name"], row["value"]) == (record.fields["name"], str(level))
        case kind if kind in LAYOUTS:
            assert json.loads(row["detail"]) == record.fields


def test_what_was_written_there(read: tuple[Path, Tables, Dumped]) -> None:
    """So that the comparisons above are about something."""
    _, tables, _ = read
    types = set(tables["log_records"]["type"].to_pylist())
    assert types >= {
        "RegisterBroker",
        "BrokerRegistrationChange",
        "Topic",
        "RemoveTopic",
        "Partition",
        "PartitionChange",
        "ProducerIds",
        "LeaderChange",
        "Config",
        "FeatureLevel",
        "KRaftVoters",
    }


def test_checkpoints_and_identities(read: tuple[Path, Tables, Dumped]) -> None:
    _, tables, _ = read
    replicas = {(row["node"], row["key"]): row for row in tables["replicas"].to_pylist()}
    assert sorted(replicas) == [(node, f"kept-{number}") for node in (1, 2, 3) for number in (0, 1)]
    for (node, _), row in replicas.items():
        assert (row["directory"], row["problem"]) == (f"directory-of-node-00{node}w", None)
        assert row["log_end"] == row["high_watermark"] == replicas[1, row["key"]]["log_end"]
        assert json.loads(row["epochs"])[0] == [0, 0]
    assert sum(replicas[1, f"kept-{number}"]["log_end"] for number in (0, 1)) == 18
    assert len({row["topic_id"] for row in replicas.values()}) == 1
    disks = tables["disks"].to_pylist()
    assert [row["problem"] for row in disks] == [None, None, None]
    assert {row["cluster_id"] for row in disks} == {"clusterOfTheTestsDataw"}
    assert [row["clean_shutdown"] is None for row in disks] == [True, False, False]
