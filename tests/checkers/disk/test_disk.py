"""The reader of disks: what it finds on whole ones, and that it reports what is damaged."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from checkers.disk import read_disks
from checkers.disk.fields import DamagedError, Fields
from checkers.history.tables import DISKS, LOG_BATCHES, LOG_RECORDS, NO_DIRECTORY
from tests.support.log_files import (
    config_batch,
    config_value,
    leader_change_batch,
    log_directory,
    record,
    record_batch,
    text,
    uvarint,
)

V1 = (
    '{"leaderId":1,"leaderEpoch":3,"votedId":2,"votedDirectoryId":"abcdefghijklmnopqrstuv",'
    '"data_version":1}'
)
V0 = (
    '{"clusterId":"","leaderId":-1,"leaderEpoch":4,"votedId":3,"appliedOffset":0,'
    '"currentVoters":[],"data_version":0}'
)
ID, ID_TEXT = bytes(range(16)), "AAECAwQFBgcICQoLDA0ODw"
BATCHES = [
    leader_change_batch(0, 1, 2),
    config_batch(1, 1, ("r-0", 101), ("r-1", 102)),
    config_batch(3, 1, ("r-0", 103)),
]


def test_a_whole_disk(tmp_path: Path) -> None:
    log_directory(tmp_path, 1, BATCHES, quorum_state=V1, epochs="0\n1\n1 0\n")
    tables = read_disks(tmp_path)
    assert tables["log_batches"].schema.equals(LOG_BATCHES)
    assert tables["log_records"].schema.equals(LOG_RECORDS)
    batches = tables["log_batches"].to_pylist()
    assert [(b["base_offset"], b["last_offset"], b["control"]) for b in batches] == [
        (0, 0, True),
        (1, 2, False),
        (3, 3, False),
    ]
    assert all(b["crc_ok"] and b["node"] == 1 for b in batches)
    assert batches[1]["position"] == batches[0]["size"] == len(BATCHES[0])
    assert batches[0]["crc"] == struct.unpack_from(">I", BATCHES[0], 17)[0]
    records = tables["log_records"].to_pylist()
    assert (records[0]["type"], records[0]["leader"], records[0]["epoch"]) == ("LeaderChange", 2, 1)
    assert [(r["offset"], r["resource"], r["name"], r["value"]) for r in records[1:]] == [
        (1, "r-0", "interval.ms", "101"),
        (2, "r-1", "interval.ms", "102"),
        (3, "r-0", "interval.ms", "103"),
    ]
    assert records[1]["resource_type"] == 16
    assert tables["disks"].to_pylist() == [
        {
            "node": 1,
            "directory": "directory-of-node-00001",
            "cluster_id": "cluster-1",
            "epoch": 3,
            "leader": 1,
            "voted": 2,
            "voted_directory": "abcdefghijklmnopqrstuv",
            "log_end": 4,
            "clean_shutdown": None,
            "problem": None,
        }
    ]


def test_a_quorum_state_that_is_nested_too_deeply_is_a_problem_of_that_disk(
    tmp_path: Path,
) -> None:
    log_directory(tmp_path, 2, [], quorum_state="[" * 2_000)
    (row,) = read_disks(tmp_path)["disks"].to_pylist()
    assert "quorum-state: RecursionError" in row["problem"]


def test_quorum_state_of_version_0_forgets_the_directory(tmp_path: Path) -> None:
    log_directory(tmp_path, 2, [], quorum_state=V0)
    (row,) = read_disks(tmp_path)["disks"].to_pylist()
    assert (row["epoch"], row["voted"], row["voted_directory"]) == (4, 3, None)
    assert (row["log_end"], row["problem"]) == (0, None)


def test_other_records_are_known_by_name_or_number(tmp_path: Path) -> None:
    voters = record(b"\0\0\1\0", key=struct.pack(">hh", 0, 6))
    version = record(struct.pack(">hh", 0, 1) + b"\0", 1, key=struct.pack(">hh", 0, 5))
    odd = record(b"", 2, key=struct.pack(">hh", 0, 77))
    data = [
        b"\x01" + uvarint(12) + b"\x00" + text("metadata.version") + struct.pack(">h", 25) + b"\0",
        b"\x01" + uvarint(20) + b"\x00\x00",
        b"\x01" + uvarint(23) + b"\x00\x00",
        b"\x01" + uvarint(999) + b"\x00rest that nobody reads",
        b"\x01" + uvarint(27) + b"\x00" + struct.pack(">i", 3) + bytes(16) + b"rest",
        config_value("r-0", "interval.ms", None),
    ]
    batches = [
        record_batch(0, 1, [voters, version, odd], control=True),
        record_batch(3, 1, [record(value, delta) for delta, value in enumerate(data)]),
    ]
    log_directory(tmp_path, 1, batches)
    rows = read_disks(tmp_path)["log_records"].to_pylist()
    assert [row["type"] for row in rows] == [
        "KRaftVoters",
        "KRaftVersion",
        "unknown-control-77",
        "FeatureLevel",
        "NoOp",
        "BeginTransaction",
        "unknown-999",
        "RegisterController",
        "Config",
    ]
    assert (rows[1]["name"], rows[1]["value"]) == ("kraft.version", "1")
    assert (rows[3]["name"], rows[3]["value"]) == ("metadata.version", "25")
    assert rows[7]["resource"] == "3"
    assert rows[8]["value"] is None


JSON = dict[str, Any]


@pytest.mark.parametrize(
    ("kind", "value", "name", "fields"),
    [
        (
            6,  # KIP-853: VotersRecord
            struct.pack(">h", 0)
            + uvarint(3)
            + struct.pack(">i", 1)
            + ID
            + uvarint(2)
            + text("CONTROLLER")
            + text("node-1")
            + struct.pack(">H", 65535)
            + b"\0"
            + struct.pack(">hh", 0, 1)
            + b"\0"
            + b"\0"
            + struct.pack(">i", 2)
            + bytes(16)
            + uvarint(1)
            + struct.pack(">hh", 0, 0)
            + b"\0"
            + b"\0"
            + b"\0",
            "KRaftVoters",
            {
                "version": 0,
                "voters": [
                    {
                        "voterId": 1,
                        "voterDirectoryId": ID_TEXT,
                        "endpoints": [{"name": "CONTROLLER", "host": "node-1", "port": 65535}],
                        "kRaftVersionFeature": {
                            "minSupportedVersion": 0,
                            "maxSupportedVersion": 1,
                        },
                    },
                    {
                        "voterId": 2,
                        "voterDirectoryId": NO_DIRECTORY,
                        "endpoints": [],
                        "kRaftVersionFeature": {
                            "minSupportedVersion": 0,
                            "maxSupportedVersion": 0,
                        },
                    },
                ],
            },
        ),
        (
            7,  # KIP-856: AddVoterRecord
            struct.pack(">hi", 0, 3) + ID + b"\0",
            "AddVoter",
            {"version": 0, "voterId": 3, "voterDirectoryId": ID_TEXT},
        ),
        (
            8,  # RemoveVoterRecord, with a tagged field of later
            struct.pack(">hi", 0, 3) + ID + b"\1\5\2ab",
            "RemoveVoter",
            {"version": 0, "voterId": 3, "voterDirectoryId": ID_TEXT},
        ),
    ],
)
def test_records_of_voters(
    kind: int, value: bytes, name: str, fields: JSON, tmp_path: Path
) -> None:
    """Whole; and cut after any byte, or too long, they are damage and nothing worse."""
    cut = [value[:size] for size in range(len(value))] + [value + b"\0"]
    for number, each in enumerate([value, *cut]):
        batch = record_batch(0, 1, [record(each, key=struct.pack(">hh", 0, kind))], control=True)
        log_directory(tmp_path / str(number), 1, [batch])
        tables = read_disks(tmp_path / str(number))
        (problem,) = tables["disks"]["problem"].to_pylist()
        rows = tables["log_records"].to_pylist()
        if number == 0:
            assert problem is None
            assert [row["type"] for row in rows] == [name]
            assert json.loads(rows[0]["detail"]) == fields
        else:
            assert problem is not None
            assert rows == []


def test_a_record_of_voters_without_its_list(tmp_path: Path) -> None:
    value = struct.pack(">h", 0) + uvarint(0) + b"\0"
    batch = record_batch(0, 1, [record(value, key=struct.pack(">hh", 0, 6))], control=True)
    log_directory(tmp_path, 1, [batch])
    assert "no list of structures" in problem_of(tmp_path)


def problem_of(disks: Path) -> str:
    (row,) = read_disks(disks)["disks"].to_pylist()
    assert isinstance(row["problem"], str), row
    return row["problem"]


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (b"\0" * 4096, "no batch at position"),
        (config_batch(4, 1, ("r-0", 104))[:-1], "has 92 of 93 bytes"),
        (b"\0" * 60, "are no whole batch"),
        (config_batch(7, 1, ("r-0", 104)), "the log ended at 4 before it"),
        (config_batch(4, 1, ("r-0", 104))[:-1] + b"\7", "wrong CRC"),
        (record_batch(4, 1, [record(b"\x00\x04\x00")]), "frame version 0"),
        (record_batch(4, 1, [record(b"\x01\x04\x00\x10\x09ab")]), "bytes wanted"),
        (record_batch(4, 1, [b"\x02"]), "bytes wanted"),
    ],
    ids=["nuls", "torn", "short", "gap", "flipped", "frame", "body", "record"],
)
def test_a_damaged_tail_is_reported_and_the_rest_is_read(
    tmp_path: Path, tail: bytes, said: str
) -> None:
    log_directory(tmp_path, 1, BATCHES, tail=tail)
    assert said in problem_of(tmp_path)
    assert read_disks(tmp_path)["log_records"].num_rows >= 4


def test_the_head_of_a_log_may_be_cut_where_a_snapshot_ends(tmp_path: Path) -> None:
    """Within its first segment, which keeps its name (KIP-630)."""
    log = log_directory(tmp_path, 1, BATCHES, epochs="0\n1\n1 2\n")
    assert "epoch 1 starts at 2, the log says 0" in problem_of(tmp_path)
    (log / f"{2:020}-{1:010}.checkpoint").touch()
    assert problem_of(tmp_path) == f"{2:020}-{1:010}.checkpoint does not end with its footer"


def test_an_epoch_of_which_the_log_has_nothing(tmp_path: Path) -> None:
    log_directory(tmp_path, 1, BATCHES, epochs="0\n2\n1 0\n7 2\n")
    assert "epoch 7 starts at 2, the log has no batch of it" in problem_of(tmp_path)


def test_damaged_small_files_are_reported(tmp_path: Path) -> None:
    log = log_directory(tmp_path, 1, BATCHES, quorum_state='{"leaderId":', epochs="0\n2\n1 0\n")
    assert "quorum-state: JSONDecodeError" in problem_of(tmp_path)
    assert "leader-epoch-checkpoint: version 0, entries 2, and 1 follow" in problem_of(tmp_path)
    (log / "leader-epoch-checkpoint").write_text("0\n1\n1 2\n")
    assert "epoch 1 starts at 2, the log says 0" in problem_of(tmp_path)
    (log.parent / "meta.properties").write_text("version=1\nnode.id=x\n")
    assert "meta.properties: no node.id" in problem_of(tmp_path)
    (log.parent / "meta.properties").unlink()
    assert "no meta.properties" in problem_of(tmp_path)


def test_a_disk_of_another_node_or_without_a_log_is_reported(tmp_path: Path) -> None:
    log_directory(tmp_path / "a", 1, BATCHES)
    (tmp_path / "a" / "node-1").rename(tmp_path / "a" / "node-3")
    assert problem_of(tmp_path / "a") == "meta.properties names node 1"
    (tmp_path / "b" / "node-1").mkdir(parents=True)
    assert problem_of(tmp_path / "b") == "no meta.properties; no __cluster_metadata-0"


def test_no_disks_give_empty_tables(tmp_path: Path) -> None:
    assert read_disks(tmp_path / "none")["disks"].schema.equals(DISKS)
    assert read_disks(tmp_path)["disks"].num_rows == 0


def test_segments_are_read_in_order_and_nodes_by_number(tmp_path: Path) -> None:
    log = log_directory(tmp_path, 2, BATCHES[:1])
    (log / f"{3:020}.log").write_bytes(BATCHES[2])
    (log / f"{1:020}.log").write_bytes(BATCHES[1])
    (log / f"{9:020}.log.deleted").write_bytes(b"garbage")
    log_directory(tmp_path, 10, BATCHES)
    disks = read_disks(tmp_path)["disks"].to_pylist()
    assert [(row["node"], row["log_end"], row["problem"]) for row in disks] == [
        (2, 4, None),
        (10, 4, None),
    ]


def test_fields_end_where_the_bytes_end() -> None:
    with pytest.raises(DamagedError, match="varint without an end"):
        Fields(b"\xff" * 12).uvarint()
    with pytest.raises(DamagedError, match="no UTF-8"):
        Fields(b"\x03\xff\xfe").text()
    assert Fields(struct.pack(">qd", -5, 1.5)).int64() == -5
