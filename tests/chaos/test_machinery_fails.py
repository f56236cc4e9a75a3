"""A client, the recorder or the harness' whole process dies, ends, hangs or is not let run: the run
is an error that names it, and no node is accused."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

import pytest

from chaos.recorder import EventFields, EventWriter, RecordingError
from chaos.run.experiment import Timeouts
from chaos.run.starvation import MachineWatch
from checkers.history.sealed_run import read_run_info
from checkers.verdict import Judgement, Verdict
from tests.chaos.test_runner import row, run
from tests.support.fake_cluster import FakeCluster
from workloads.register import RegisterWorkload

Follow = Callable[[RegisterWorkload, int], Awaitable[None]]
right = RegisterWorkload._follow


def assert_an_error_of(judgement: Judgement, directory: Path, part: str, what: str) -> None:
    assert judgement.verdict is Verdict.ERROR, judgement.sentence
    assert f"{part} {what}" in row(judgement, "run").message
    assert [each.check for each in judgement.results if each.verdict is Verdict.INVALID] == []
    info = read_run_info(directory)
    assert (info.machinery["part"], info.stuck) == (part, "")
    assert 0 <= int(info.machinery["t_ns"]) <= info.duration_ns


async def dies(workload: RegisterWorkload, number: int) -> None:
    if number == 2:
        while workload.acknowledged_writes < 20:
            await asyncio.sleep(0.01)
        raise ZeroDivisionError("as planned")
    await right(workload, number)


async def ends(workload: RegisterWorkload, number: int) -> None:
    if number != 2:
        await right(workload, number)


@pytest.mark.parametrize(
    ("follow", "what"),
    [
        (dies, "died: ZeroDivisionError: as planned"),
        (ends, "ended before it was stopped"),
    ],
)
def test_a_client_that_is_no_more_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow: Follow, what: str
) -> None:
    monkeypatch.setattr(RegisterWorkload, "_follow", follow)
    judgement = run(tmp_path, FakeCluster(), duration_s=60)
    assert_an_error_of(judgement, tmp_path, "client 2", what)


def test_a_client_that_hangs_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(workload: RegisterWorkload, number: int) -> None:
        await right(workload, number)
        if number == 2:
            await asyncio.Event().wait()

    monkeypatch.setattr(RegisterWorkload, "_follow", hangs)
    judgement = run(tmp_path, FakeCluster(), timeouts=Timeouts(clients_s=0.2))
    assert_an_error_of(judgement, tmp_path, "the load", "did not end within 0.2 s")


def test_a_recorder_that_cannot_write_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    write = EventWriter.write

    def writes_some(writer: EventWriter, event: EventFields, now_ns: int) -> None:
        """A hundred operations; what else happens finds room."""
        nonlocal written
        if "f" in event:
            written += 1
            if written > 100:
                no_room()
        write(writer, event, now_ns)

    def no_room() -> NoReturn:
        raise RecordingError("cannot write events-ops: No space left on device")

    monkeypatch.setattr(EventWriter, "write", writes_some)
    judgement = run(tmp_path, FakeCluster(), duration_s=60)
    what = "broke off: cannot write events-ops: No space left on device"
    assert_an_error_of(judgement, tmp_path, "the recorder", what)


def test_a_harness_that_is_not_let_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_s = []

    def late(watch: MachineWatch) -> tuple[float, float]:
        due_s.append(watch._ticks[0].at_s)
        return 12.34, due_s[-1]

    monkeypatch.setattr(MachineWatch, "longest_late", late)
    judgement = run(tmp_path, FakeCluster(), duration_s=0.5)
    part = "the harness, with its clients and its recorder,"
    assert_an_error_of(judgement, tmp_path, part, "was stopped, or not scheduled, for 12.3 s")
    assert read_run_info(tmp_path).finished
