"""What a run recorded so far is judged beside it, and its first violation is told."""

import asyncio
from pathlib import Path

import pytest

from chaos.recorder import Recorder
from chaos.run.first_violation import LookError, first_violation, violation_in
from checkers.history.events import EventType
from checkers.history.sealed_run import write_run_info
from tests.chaos.test_recorder import HandClock
from tests.support.histories import run_info


class Client:
    """One process, whose operations take a millisecond each."""

    def __init__(self, recorder: Recorder, clock: HandClock) -> None:
        self._recorder, self._clock = recorder, clock
        self._process = recorder.new_process()

    def does(self, f: str, value: int) -> None:
        asked = value if f == "write" else None
        self._recorder.invoke(self._process, f, "r-1", asked, 1, "main")
        self._clock.now += 1_000_000
        self._recorder.complete(self._process, EventType.OK, value, None)
        self._clock.now += 1_000_000


def test_a_violation_is_told_while_the_run_goes_on(tmp_path: Path) -> None:
    clock = HandClock()
    write_run_info(tmp_path, run_info(finished=False))

    async def go(recorder: Recorder) -> str:
        client = Client(recorder, clock)
        looking = asyncio.create_task(first_violation(tmp_path, recorder, every_s=0.01))
        client.does("write", 100)
        client.does("write", 101)
        client.does("read", 101)
        client.does("read", 100)
        recorder.invoke(recorder.new_process(), "write", "r-1", 102, 1, "main")  # still under way
        return await looking

    with Recorder(tmp_path, clock) as recorder:
        found = asyncio.run(go(recorder))
    assert found.startswith("linearizable: stale read: process 0 read 100 at r-1")
    assert not (tmp_path / "verdict.json").exists(), "the run itself is judged when it is over"


def test_nothing_is_wrong_with_a_run_that_has_only_begun(tmp_path: Path) -> None:
    write_run_info(tmp_path, run_info(finished=False))
    with Recorder(tmp_path, HandClock()):
        assert violation_in(tmp_path) == ""


def test_a_look_that_fails_is_no_clean_record(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with Recorder(tmp_path, HandClock()) as recorder, pytest.raises(LookError, match="be judged"):
        asyncio.run(first_violation(tmp_path, recorder, every_s=0.01))
