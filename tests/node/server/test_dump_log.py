"""What `kraft-node dump-log` prints of sound and of damaged files."""

import io
from pathlib import Path
from uuid import UUID

import pytest

from node.ids import Endpoint, Epoch, NodeId, Offset, ReplicaKey
from node.records.batch import encode_batch
from node.records.control import LeaderChange, encode_control
from node.server.dump_log import dump
from node.storage.format import encode_voters
from node.storage.indexes import OffsetIndex, TimeIndex
from tests.support.batches import batch


def printed(path: Path) -> tuple[int, list[str]]:
    out = io.StringIO()
    code = dump([path], out)
    return code, out.getvalue().splitlines()


def leader_change(base: int, epoch: int) -> bytes:
    key = ReplicaKey(NodeId(1), UUID(int=1 << 64))
    change = LeaderChange(leader=NodeId(1), voters=(key,), granting_voters=())
    return encode_batch(
        [encode_control(change)],
        base_offset=Offset(base),
        leader_epoch=Epoch(epoch),
        timestamp_ms=1_700_000_000_000,
        control=True,
    )


def test_a_line_a_batch_and_a_line_a_record(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    first, second = leader_change(0, 3), batch(1, 3, 2)
    path.write_bytes(first + second)
    code, lines = printed(path)
    assert code == 0
    assert lines[0] == f"Dumping {path}"
    assert lines[1].startswith(
        "baseOffset: 0 lastOffset: 0 count: 1 partitionLeaderEpoch: 3 isControl: true position: 0"
    )
    assert lines[2] == (
        "| offset: 0 LeaderChange(leader=1, "
        "voters=[ReplicaKey(id=1, directory=AAAAAAAAAAEAAAAAAAAAAA)], granting_voters=[])"
    )
    assert f"isControl: false position: {len(first)} " in lines[3]
    assert lines[4].startswith("| offset: 1 ConfigRecord(resource_type=16, ")
    assert lines[5].startswith("| offset: 2 ConfigRecord(")
    assert len(lines) == 6


def test_damage_is_marked_and_what_follows_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    parts = [batch(0, 1), batch(1, 1), batch(2, 1)]
    flipped = parts[1][:-1] + b"\xff"
    path.write_bytes(parts[0] + flipped + parts[2] + parts[0][:30])
    code, lines = printed(path)
    assert code == 1
    damages = [line for line in lines if line.startswith("DAMAGED")]
    start = len(parts[0])
    assert damages[0].startswith(f"DAMAGED position: {start} bytes: {len(flipped)} CRC-32C is")
    assert damages[0].endswith("then a sound batch follows")
    assert damages[1].endswith("30 bytes left, a header has 61; then the file ends")
    assert [line.split()[1] for line in lines if line.startswith("baseOffset")] == ["0", "2"]


def test_records_it_does_not_know_are_shown_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(
        encode_batch(
            [(b"\x01", b"\x01\x0e\x00\xaa"), (None, None)],
            base_offset=Offset(0),
            leader_epoch=Epoch(1),
            timestamp_ms=0,
        )
    )
    code, lines = printed(path)
    assert code == 0
    unknown = "ClientQuotaRecord (type 14, version 0) is unknown"
    assert lines[2] == f"| offset: 0 key: 01 value: 010e00aa ({unknown})"
    assert lines[3].startswith("| offset: 1 key: null value: null (a metadata record without")


def test_a_checkpoint_is_dumped_as_well(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000-0000000000.checkpoint"
    voters = (
        (
            ReplicaKey(NodeId(1), UUID(int=1 << 70)),
            (Endpoint(name="CONTROLLER", host="node-1", port=9101),),
        ),
    )
    path.write_bytes(encode_voters(voters, timestamp_ms=5))
    code, lines = printed(path)
    assert code == 0
    assert lines[2] == "| offset: 0 SnapshotHeader(last_contained_timestamp_ms=5)"
    assert lines[3] == "| offset: 1 KRaftVersion(version=1)"
    assert lines[4].startswith("| offset: 2 Voters(voters=[Voter(key=ReplicaKey(id=1, dir")
    assert "directory=AAAAAAAAAEAAAAAAAAAAAA), endpoints=[Endpoint(" in lines[4]
    assert lines[6] == "| offset: 3 SnapshotFooter()"


def test_a_file_that_is_not_there_is_the_callers_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        dump([tmp_path / "none.log"], io.StringIO())


def test_an_index_is_shown_as_kafka_shows_it(tmp_path: Path) -> None:
    """And an entry that does not name the batch to which it leads is marked."""
    segment = tmp_path / f"{7:020}.log"
    parts = [batch(7, 1, 2), batch(9, 1, 3), batch(12, 1)]
    segment.write_bytes(b"".join(parts))
    index, second = OffsetIndex(), len(parts[0])
    index.add(4, second)
    segment.with_suffix(".index").write_bytes(index.encode())
    assert printed(segment.with_suffix(".index")) == (
        0,
        [f"Dumping {segment.with_suffix('.index')}", f"offset: 11 position: {second}"],
    )
    index.add(5, second + len(parts[1]) + 1)
    segment.with_suffix(".index").write_bytes(index.encode())
    code, lines = printed(segment.with_suffix(".index"))
    assert code == 1
    assert lines[3].startswith(f"DAMAGED position: {second + len(parts[1]) + 1} ")


def test_a_time_index_is_shown_or_said_to_be_none(tmp_path: Path) -> None:
    path, times = tmp_path / f"{7:020}.timeindex", TimeIndex()
    times.add(1_700, 4)
    path.write_bytes(times.encode())
    assert printed(path) == (0, [f"Dumping {path}", "timestamp: 1700 offset: 11"])
    path.write_bytes(bytes(24))
    code, lines = printed(path)
    assert code == 1
    assert lines[1].startswith("DAMAGED entry (0, 0) follows ")
