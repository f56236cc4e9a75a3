"""Partitions on disks, by hand: what is damaged is said, and the rest is read."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from checkers.disk import read_disks
from checkers.disk.batches import read_batches, read_records
from checkers.disk.fields import DamagedError, Fields
from checkers.disk.records import read_detail
from tests.support.log_files import log_directory, record, record_batch, text, uvarint

UUID = bytes(range(16))


def valued(base: int, *values: int, epoch: int = 0, size: int = 8) -> bytes:
    """A batch of records with these values."""
    bodies = [struct.pack(">q", value).ljust(size, b".") for value in values]
    records = [record(body, delta, key=b"k" * delta) for delta, body in enumerate(bodies)]
    return record_batch(base, epoch, records)


def partition(disks: Path, *batches: bytes, key: str = "t-0", node: int = 1) -> Path:
    """A node with a metadata log and one partition; returns the partition's directory."""
    if not (disks / f"node-{node}").exists():
        log_directory(disks, node, [])
    path = disks / f"node-{node}" / "kraft" / key
    path.mkdir()
    (path / f"{0:020}.log").write_bytes(b"".join(batches))
    (path / "partition.metadata").write_text("version: 0\ntopic_id: abcdefghijklmnopqrstuv\n")
    return path


def replica(disks: Path) -> dict[str, Any]:
    (row,) = read_disks(disks)["replicas"].to_pylist()
    found: dict[str, Any] = row
    return found


def spans(disks: Path) -> list[tuple[int, ...]]:
    names = ("offset", "value", "records", "epoch")
    rows = read_disks(disks)["replica_spans"].to_pylist()
    return [tuple(row[name] for name in names) for row in rows]


def test_a_whole_replica(tmp_path: Path) -> None:
    path = partition(tmp_path, valued(0, 70, 71), valued(2, 72, size=5000), valued(3, 99, epoch=1))
    (path / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 3\n")
    for name, offset in (("replication", 3), ("recovery-point", 2), ("log-start", 1)):
        (path.parent / f"{name}-offset-checkpoint").write_text(f"0\n2\nt 0 {offset}\nu 7 9\n")
    assert replica(tmp_path) == {
        "node": 1,
        "directory": "directory-of-node-00001",
        "key": "t-0",
        "topic_id": "abcdefghijklmnopqrstuv",
        "log_start": 1,
        "log_end": 4,
        "high_watermark": 3,
        "epochs": "[[0, 0], [1, 3]]",
        "whole": True,
        "problem": None,
    }
    assert spans(tmp_path) == [(0, 70, 3, 0), (3, 99, 1, 1)]


def test_a_second_log_directory_has_its_own_replicas_and_checkpoints(tmp_path: Path) -> None:
    home = log_directory(tmp_path, 1, []).parent.rename(tmp_path / "copy")
    home = log_directory(tmp_path, 1, []).parent
    second = home / "kraft.second"
    second.mkdir()
    text = (home / "meta.properties").read_text()
    (second / "meta.properties").write_text(text.replace("00001", "00002"))
    for place, key, high_watermark in ((home, "t-0", 1), (second, "u-0", 2)):
        (place / key).mkdir()
        (place / key / f"{0:020}.log").write_bytes(valued(0, 7, 8))
        (place / key / "partition.metadata").write_text("version: 0\ntopic_id: x\n")
        (place / "replication-offset-checkpoint").write_text(f"0\n1\n{key[0]} 0 {high_watermark}\n")
    tables = read_disks(tmp_path)
    found = {
        row["key"]: (row["directory"][-1], row["high_watermark"], row["log_end"])
        for row in tables["replicas"].to_pylist()
    }
    assert found == {"t-0": ("1", 1, 2), "u-0": ("2", 2, 2)}
    (disk,) = tables["disks"].to_pylist()
    assert disk["directory"][-1] == "1", "who votes is told by the directory of the metadata log"


@pytest.mark.parametrize(("second", "found"), [(42, 42), (41, None), (None, None)])
def test_all_log_directories_have_to_say_that_it_shut_down_cleanly(
    second: int | None, found: int | None, tmp_path: Path
) -> None:
    home = log_directory(tmp_path, 1, []).parent
    other = home / "kraft.second"
    other.mkdir()
    (other / "meta.properties").write_text((home / "meta.properties").read_text())
    for place, epoch in ((home, 42), (other, second)):
        if epoch is not None:
            (place / ".kafka_cleanshutdown").write_text(f'{{"version":0,"brokerEpoch":{epoch}}}')
    assert read_disks(tmp_path)["disks"]["clean_shutdown"].to_pylist() == [found]


def test_what_is_no_value(tmp_path: Path) -> None:
    short = record_batch(0, 0, [record(b"1234567"), record(b"", 1), record(b"12345678", 2)])
    partition(tmp_path, short)
    assert [span[:3] for span in spans(tmp_path)] == [
        (0, -1, 1),
        (1, -1, 1),
        (2, int.from_bytes(b"12345678", "big"), 1),
    ]


def test_topics_of_the_cluster_itself_have_batches_and_no_values(tmp_path: Path) -> None:
    partition(tmp_path, valued(0, 70), key="__consumer_offsets-3")
    assert read_disks(tmp_path)["replica_batches"].num_rows == 1
    assert spans(tmp_path) == []


def test_partitions_that_are_going_or_coming_are_none(tmp_path: Path) -> None:
    for key in ("t-0.0123abcd-delete", "t-0.0123abcd-future", "t-0.0123abcd-stray"):
        partition(tmp_path, valued(0, 70), key=key)
    assert read_disks(tmp_path)["replicas"].num_rows == 0


def test_control_records_and_gaps_are_no_values(tmp_path: Path) -> None:
    marker = record(struct.pack(">hi", 0, 1), key=struct.pack(">hh", 0, 1))
    control = record_batch(1, 0, [marker], control=True)
    partition(tmp_path, valued(0, 70), control, valued(2, 71))
    assert [span[:3] for span in spans(tmp_path)] == [(0, 70, 1), (2, 71, 1)]
    assert replica(tmp_path)["problem"] is None


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (b"\0" * 4096, "4096 NUL bytes up to the end"),
        (b"\0" * 512 + b"x" * 100, "512 NUL bytes and 100 other bytes behind them"),
        (valued(1, 71)[:-1], "has 75 of 76 bytes"),
        (valued(1, 71)[:-1] + b"x", "wrong CRC"),
        (valued(5, 71), "the log ended at 1 before it"),
        (record_batch(1, 0, [b"\x7f"]), "the records of the batch at offset 1 are torn"),
    ],
    ids=["nuls", "nuls between", "torn", "flipped", "gap", "record"],
)
def test_a_damaged_tail(tmp_path: Path, tail: bytes, said: str) -> None:
    partition(tmp_path, valued(0, 70), tail)
    row = replica(tmp_path)
    assert said in row["problem"]
    assert row["whole"] == said.startswith("the log ended")
    assert spans(tmp_path)[0] == (0, 70, 1, 0)


def test_less_than_was_flushed(tmp_path: Path) -> None:
    path = partition(tmp_path, valued(0, 70))
    (path.parent / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    assert replica(tmp_path)["problem"] == "the log ends at 1, and was flushed up to 4"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("replication-offset-checkpoint", "0\n2\nt 0 4\n", "entries 2, and 1 follow"),
        ("replication-offset-checkpoint", "0\n1\nt 0 x\n", "invalid literal"),
        ("replication-offset-checkpoint", "0\n1\nt 0\n", "1 number where 2 should be"),
        ("t-0/leader-epoch-checkpoint", "0\n2\n1 0\n0 4\n", "do not rise"),
        ("t-0/leader-epoch-checkpoint", "0\n1\n0 0 7\n", "3 numbers where 2 should be"),
        ("t-0/partition.metadata", "version: 1\n", "partition.metadata"),
        ("meta.properties", "version=1\n", "no node.id"),
    ],
)
def test_damaged_small_files(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = partition(tmp_path, valued(0, 70))
    (path.parent / name).write_text(content)
    assert said in replica(tmp_path)["problem"]


def test_an_epoch_checkpoint_that_is_still_empty(tmp_path: Path) -> None:
    (partition(tmp_path) / "leader-epoch-checkpoint").write_text("")
    row = replica(tmp_path)
    assert (row["log_end"], row["epochs"], row["problem"]) == (0, "[]", None)


def test_a_clean_shutdown(tmp_path: Path) -> None:
    path = partition(tmp_path).parent / ".kafka_cleanshutdown"
    path.write_text('{"version":0,"brokerEpoch":42}')
    assert read_disks(tmp_path)["disks"]["clean_shutdown"].to_pylist() == [42]
    path.write_text("")  # as Apache Kafka left it before it had a broker epoch to write down
    (row,) = read_disks(tmp_path)["disks"].to_pylist()
    assert (row["clean_shutdown"], row["problem"]) == (-1, None)
    path.write_text("{")
    (row,) = read_disks(tmp_path)["disks"].to_pylist()
    assert (row["clean_shutdown"], "JSONDecodeError" in row["problem"]) == (None, True)


def compressed(codec: int, block: bytes) -> bytes:
    """A batch of one record whose block is this."""
    body = struct.pack(">hiqqqhii", codec, 0, 1, 1, -1, -1, -1, 1) + block
    return struct.pack(">qiibI", 0, 9 + len(body), 0, 2, crc32c(body)) + body


def test_a_compressed_block(tmp_path: Path) -> None:
    """All codecs are in the files that Kafka wrote; here, those that are not what they say."""
    partition(tmp_path, compressed(1, gzip.compress(record(struct.pack(">q", 70)))))
    assert spans(tmp_path) == [(0, 70, 1, 0)]


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5])
def test_a_block_that_does_not_decompress(tmp_path: Path, codec: int) -> None:
    partition(tmp_path, compressed(codec, b"this is nothing of the sort"))
    problem = replica(tmp_path)["problem"]
    assert "codec 5 is unknown" in problem if codec == 5 else "the batch at position 0" in problem
    (batch,) = read_batches(compressed(codec, b"this is nothing of the sort"))
    with pytest.raises(DamagedError):
        list(read_records(batch))


# --- records that are rare ---


def detail(name: str, body: bytes, version: int = 0) -> dict[str, Any] | None:
    return read_detail(name, Fields(body), version)


def test_records_that_healthy_clusters_do_not_write() -> None:
    broker = struct.pack(">iq", 7, 40)
    assert detail("UnregisterBroker", broker + b"\0") == {"brokerId": 7, "brokerEpoch": 40}
    assert detail("FenceBroker", broker + b"\0") == {"id": 7, "epoch": 40}
    assert detail("UnfenceBroker", broker + b"\0") == {"id": 7, "epoch": 40}
    assert detail("ClearElr", text("") + b"\0") == {"topicName": ""}
    assert detail("NoOp", b"whatever") is None


def test_older_versions_have_fewer_fields() -> None:
    nodes = uvarint(2) + struct.pack(">i", 1)
    body = struct.pack(">i", 0) + UUID + nodes * 2 + uvarint(1) * 2
    body += struct.pack(">iii", 1, 5, 9)
    zero = detail("Partition", body + b"\0", 0)
    assert zero is not None
    assert (zero["isr"], zero["leaderEpoch"], "directories" in zero) == ([1], 5, False)
    one = detail("Partition", body + uvarint(2) + UUID + b"\0", 1)
    assert one is not None
    assert one["directories"] == ["AAECAwQFBgcICQoLDA0ODw"]


def test_tags_that_nobody_knows_are_passed_over() -> None:
    head = struct.pack(">i", 0) + UUID
    tags = uvarint(2) + uvarint(1) + uvarint(4) + struct.pack(">i", 3) + uvarint(99) + b"\x02xy"
    found = detail("PartitionChange", head + tags, 2)
    assert found is not None
    assert json.dumps(found)
    assert (found["leader"], set(found)) == (3, {"partitionId", "topicId", "leader"})


@pytest.mark.parametrize(
    ("name", "fields"), [("PartitionChange", b""), ("Partition", b"\1" * 4 + bytes(12) + b"\1")]
)
def test_the_last_known_leader_is_read_where_it_is_set(name: str, fields: bytes) -> None:
    head = struct.pack(">i", 0) + UUID + fields
    found = detail(name, head + uvarint(1) + uvarint(100) + uvarint(4) + struct.pack(">i", 3), 2)
    assert found is not None
    assert found["lastKnownLeader"] == 3


@pytest.mark.parametrize(
    ("body", "version", "said"),
    [
        (struct.pack(">iq", 7, 40) + b"\0x", 0, "1 bytes too many"),
        (struct.pack(">iq", 7, 40) + b"\0", 1, "the newest known is 0"),
        (struct.pack(">i", 7), 0, "bytes wanted"),
    ],
)
def test_records_that_are_not_what_they_say(body: bytes, version: int, said: str) -> None:
    with pytest.raises(DamagedError, match=said):
        detail("UnregisterBroker", body, version)


def test_a_list_that_cannot_be_so_long() -> None:
    with pytest.raises(DamagedError, match="a list of 99"):
        detail("RegisterBroker", struct.pack(">i", 1) + UUID + bytes(8) + uvarint(100), 0)
