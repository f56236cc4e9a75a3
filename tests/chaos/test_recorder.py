"""What is recorded survives: cut files, full disks, quiet runs."""

import errno
import os
from functools import partial
from pathlib import Path

import orjson
import pytest
import zstandard

from chaos.recorder import EVENTS_A_FRAME, FRAME_NS, EventWriter, Recorder, RecordingError
from chaos.run.seal import read_lines
from checkers.history.events import EventType, FaultStage


class HandClock:
    """Moves when it is told to."""

    started_mono_ns = 5

    def __init__(self) -> None:
        self.now = 0

    def now_ns(self) -> int:
        return self.now

    def wall_ns(self) -> int:
        return self.now


def frames_in(path: Path) -> int:
    data, frames = path.read_bytes(), 0
    while data:
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        decompressor.decompress(data)
        assert decompressor.eof
        data, frames = decompressor.unused_data, frames + 1
    return frames


def lines_of(path: Path) -> list[dict[str, object]]:
    dropped: list[str] = []
    lines = [orjson.loads(line) for line in read_lines(path, dropped)]
    assert not dropped
    return lines


def test_one_counter_orders_all_processes(tmp_path: Path) -> None:
    clock = HandClock()
    with Recorder(tmp_path, clock) as recorder:
        first, second = recorder.new_process(), recorder.new_process()
        recorder.invoke(first, "write", "r-1", 100, 2, "main")
        clock.now = 10
        recorder.invoke(second, "read", "r-1", None, 2, "main")
        recorder.complete(first, EventType.OK, 100, None)
        recorder.complete(second, EventType.FAIL, None, "error-41")
    events = lines_of(tmp_path / "events-ops.jsonl.zst")
    assert [event["i"] for event in events] == [0, 1, 2, 3]
    assert [event["t"] for event in events] == [0, 10, 10, 10]
    assert events[0] == {
        "type": "invoke", "i": 0, "p": 0, "f": "write", "k": "r-1", "v": 100, "t": 0, "n": 2,
        "ph": "main",
    }  # fmt: skip
    assert events[3] == {"type": "fail", "i": 3, "p": 1, "v": None, "t": 10, "e": "error-41"}
    assert recorder.counts == {"invoked": 2, "ok": 1, "fail": 1}


def test_frames_close_by_count_and_by_time(tmp_path: Path) -> None:
    clock = HandClock()
    writer = EventWriter(tmp_path, "x")
    for _ in range(EVENTS_A_FRAME + 1):
        writer.write({"type": "note"}, clock.now)
    assert frames_in(writer.path) == 1
    writer.write({"type": "note"}, FRAME_NS)
    assert frames_in(writer.path) == 2
    writer.write({"type": "note"}, FRAME_NS)
    writer.close()
    assert frames_in(writer.path) == 3
    assert len(lines_of(writer.path)) == EVENTS_A_FRAME + 3


def test_a_fault_is_on_the_disk_at_once(tmp_path: Path) -> None:
    with Recorder(tmp_path, HandClock()) as recorder:
        recorder.fault(0, FaultStage.START, {"kind": "kill"})
        (event,) = lines_of(tmp_path / "events-nemesis.jsonl.zst")
        assert (event["id"], event["stage"], event["kind"]) == (0, "start", "kill")


def test_a_quiet_run_is_flushed_by_the_ticker(tmp_path: Path) -> None:
    with Recorder(tmp_path, HandClock()) as recorder:
        recorder.note("nothing happens")
        recorder.flush()
        assert len(lines_of(tmp_path / "events-nemesis.jsonl.zst")) == 1


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_torn_last_frame_is_dropped_and_said(tmp_path: Path, cut: int) -> None:
    writer = EventWriter(tmp_path, "x")
    for frame in range(3):
        for number in range(100):
            writer.write({"type": "note", "n": frame * 100 + number}, 0)
        writer.flush()
    writer.close()
    writer.path.write_bytes(writer.path.read_bytes()[:-cut])
    dropped: list[str] = []
    assert len(list(read_lines(writer.path, dropped))) == 200
    assert len(dropped) == 1
    assert "torn frame" in dropped[0]


def test_a_flipped_bit_ends_the_file_there(tmp_path: Path) -> None:
    """A frame that fails its checksum cannot be told from a torn one; what follows is not used."""
    writer = EventWriter(tmp_path, "x")
    for number in range(100):
        writer.write({"type": "note", "n": number}, 0)
        writer.flush()
    writer.close()
    data = bytearray(writer.path.read_bytes())
    data[len(data) // 2] ^= 0x10
    writer.path.write_bytes(bytes(data))
    dropped: list[str] = []
    assert 40 <= len(list(read_lines(writer.path, dropped))) <= 60
    assert dropped


def test_a_full_disk_is_said_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame that does not fit is taken back: the file still ends with a whole frame."""
    writer = EventWriter(tmp_path, "x")
    writer.write({"type": "note", "n": 1}, 0)
    writer.flush()

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 5 and not written:
            written.append(really(descriptor, data[:5]))
            return written[0]
        raise OSError(errno.ENOSPC, "No space left on device")

    really = os.write
    written: list[int] = []
    monkeypatch.setattr(os, "write", full)
    writer.write({"type": "note", "n": 2}, 0)
    with pytest.raises(RecordingError, match=r"events-x.*No space left on device; free some"):
        writer.flush()
    monkeypatch.undo()
    assert [line["n"] for line in lines_of(writer.path)] == [1]
    writer.close()
    assert [line["n"] for line in lines_of(writer.path)] == [1, 2]


def test_who_writes_late_writes_into_no_other_file(tmp_path: Path) -> None:
    """A task that is left of a broken run; another file has the descriptor's number by now."""
    writer = EventWriter(tmp_path, "x")
    writer.write({"type": "note", "n": 1}, 0)
    writer.close()
    acts = [partial(writer.write, {"type": "note", "n": 2}, at) for at in (0, 5 * FRAME_NS)]
    acts += [partial(writer.flush, sync=sync) for sync in (False, True)]
    others = [(tmp_path / f"other-{n}").open("wb", buffering=0) for n in range(8)]
    try:
        for act in acts:
            with pytest.raises(RecordingError, match=r"events-x\.jsonl\.zst is closed: its run"):
                act()
        writer.close()
        for other in others:
            assert other.write(b"mine") == 4  # still open
    finally:
        for other in others:
            other.close()
    assert {path.read_bytes() for path in tmp_path.glob("other-*")} == {b"mine"}
    assert [line["n"] for line in lines_of(writer.path)] == [1]


def test_a_recorder_that_is_closed_takes_nothing(tmp_path: Path) -> None:
    clock = HandClock()
    with Recorder(tmp_path, clock) as recorder:
        process = recorder.new_process()
        recorder.invoke(process, "write", "r-1", 1, 1, "main")
    counts = dict(recorder.counts)
    clock.now = 5 * FRAME_NS
    with pytest.raises(RecordingError):
        recorder.complete(process, EventType.OK, 1, None)
    with pytest.raises(RecordingError):
        recorder.fault(0, FaultStage.START, {"kind": "kill"})
    with pytest.raises(RecordingError):
        recorder.flush()
    assert recorder.counts == counts
    assert len(lines_of(tmp_path / "events-ops.jsonl.zst")) == 1


def test_a_writer_whose_last_frame_does_not_fit_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = EventWriter(tmp_path, "x")
    writer.write({"type": "note"}, 0)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RecordingError, match="No space left"):
        writer.close()
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="is closed"):
        writer.write({"type": "note"}, 0)


def test_a_hundred_thousand_events_read_back(tmp_path: Path) -> None:
    with Recorder(tmp_path, HandClock()) as recorder:
        process = recorder.new_process()
        for number in range(50_000):
            recorder.invoke(process, "write", "r-1", number, 1, "main")
            recorder.complete(process, EventType.OK, number, None)
    events = lines_of(tmp_path / "events-ops.jsonl.zst")
    assert [event["i"] for event in events] == list(range(100_000))
