"""Parts of the harness' own that answer, and take long: noted with their times, and no failure."""

from types import SimpleNamespace
from typing import Any

import pytest

from chaos.cluster.docker import machinery_watch
from chaos.cluster.docker.agent import BusyError
from chaos.cluster.docker.machinery_watch import AGENT, ENGINE, PROXY, SLOW_S, MachineryWatch
from chaos.cluster.docker.toxiproxy_api import ToxiproxyApi
from chaos.setup import docker_engine

STATE = {"Running": True, "Paused": False, "Pid": 7}
SECOND = 1_000_000_000


class Clock:
    """Moves as parts take their time."""

    def __init__(self, slow: str, took_s: float) -> None:
        self.now_ns = 100 * SECOND
        self._slow, self._took_s = slow, took_s

    def monotonic_ns(self) -> int:
        return self.now_ns

    def waits(self, part: str) -> None:
        self.now_ns += int(self._took_s * SECOND) if part == self._slow else SECOND // 1000


class Engine:
    """All containers run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.api = SimpleNamespace(inspect_container=lambda _: {"State": STATE})

    def ping(self) -> None:
        self._clock.waits(ENGINE)


class Agent:
    def __init__(self, clock: Clock, *, busy: bool) -> None:
        self.container = SimpleNamespace(id="agent", name="agent")
        self._clock, self._busy = clock, busy

    def ask(self, operation: str, _within_s: float, *, pid: int) -> str:
        assert (operation, pid) == ("states", 7)
        self._clock.waits(AGENT)
        if self._busy:
            raise BusyError("another request")
        return "S"


def watch(
    monkeypatch: pytest.MonkeyPatch, slow: str = "", took_s: float = 0.0, *, busy: bool = False
) -> MachineryWatch:
    clock = Clock(slow, took_s)

    def answers(_: object) -> bool:
        clock.waits(PROXY)
        return True

    monkeypatch.setattr(machinery_watch, "time", clock)
    monkeypatch.setattr(docker_engine, "connect", lambda **_: Engine(clock))
    monkeypatch.setattr(ToxiproxyApi, "answers", answers)
    parts: Any = SimpleNamespace(
        agent=Agent(clock, busy=busy),
        proxy=SimpleNamespace(id="proxy", name="proxy"),
        api=SimpleNamespace(server="http://localhost:1"),
    )
    no_gate: Any = None
    return MachineryWatch(parts, no_gate)


@pytest.mark.parametrize("part", [ENGINE, PROXY, AGENT])
def test_an_answer_that_takes_long_is_noted_with_its_part(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    watched = watch(monkeypatch, part, SLOW_S + 0.5)
    assert watched.look() is None
    (slow,) = watched.slow_answers
    assert slow.part == part
    assert slow.asked_ns >= 100 * SECOND
    assert slow.answered_ns - slow.asked_ns == (SLOW_S + 0.5) * SECOND
    assert watched.look() is None
    assert len(watched.slow_answers) == 2


def test_an_agent_that_serves_others_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch(monkeypatch, AGENT, SLOW_S + 0.5, busy=True)
    assert watched.look() is None
    assert watched.slow_answers == ()


def test_an_answer_of_a_second_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch(monkeypatch, PROXY, SLOW_S)
    assert watched.look() is None
    assert watched.slow_answers == ()
