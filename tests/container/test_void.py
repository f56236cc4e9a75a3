"""Void is real: a fault whose effect is disabled ends a run VOID and says what is missing.

Every case is a whole run of containers, with some windows one after the other. The effect is taken
away from outside, by a patch in this process; the program has no knob for it.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker.models.containers import Container

from chaos.cli import main
from chaos.cluster.docker import power_cuts, proxy_links
from chaos.cluster.docker.agent import Agent, Arguments
from chaos.cluster.docker.power_cuts import Power
from chaos.cluster.docker.toxiproxy_api import Stream, ToxiproxyApi
from chaos.cluster.interface import PowerCutMode
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.run.installation import prepare
from chaos.scenarios import SCENARIOS
from checkers.history.store import read_run
from tests.support.one_fault import NAME, scenario_of

Disable = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="session", autouse=True)
def _images() -> None:
    prepare(print)


def toxics_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is never told."""
    monkeypatch.setattr(ToxiproxyApi, "swallow", lambda *_: None)


def only(stream: Stream) -> Disable:
    """Of the two toxics that make a cut only one is set."""
    swallow = ToxiproxyApi.swallow

    def swallow_one(api: ToxiproxyApi, proxy: str, wanted: Stream) -> None:
        if wanted is stream:
            swallow(api, proxy, wanted)

    return lambda monkeypatch: monkeypatch.setattr(ToxiproxyApi, "swallow", swallow_one)


def opposite_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is cut is cut both ways."""
    swallow, pass_again = ToxiproxyApi.swallow, ToxiproxyApi.pass_again

    def swallow_both(api: ToxiproxyApi, proxy: str, _: Stream) -> None:
        for stream in Stream:
            swallow(api, proxy, stream)

    def pass_both(api: ToxiproxyApi, proxy: str, _: Stream) -> None:
        for stream in Stream:
            pass_again(api, proxy, stream)

    monkeypatch.setattr(ToxiproxyApi, "swallow", swallow_both)
    monkeypatch.setattr(ToxiproxyApi, "pass_again", pass_both)


def skipped(*operations: str) -> Disable:
    """The agent is not asked for these, the first time that each is due."""
    each = Agent.each

    def disable(monkeypatch: pytest.MonkeyPatch) -> None:
        due = set(operations)

        def each_but(agent: Agent, operation: str, arguments: Sequence[Arguments]) -> list[object]:
            if operation in due:
                due.remove(operation)
                return [None] * len(arguments)
            return each(agent, operation, arguments)

        monkeypatch.setattr(Agent, "each", each_but)

    return disable


def mere_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a power cut only the SIGKILL is left, and the canary that tells."""
    skipped("quiesce", "shutdown")(monkeypatch)
    monkeypatch.setattr(Power, "_silence", lambda *_: None)


def freezes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(power_cuts.FLAGS, PowerCutMode.LOSE_ALL, 0)


def kill_sent_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Container, "kill", lambda *_: None)


def stop_sent_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Container, "stop", lambda *_, **__: None)


def together(*several: Disable) -> Disable:
    def disable(monkeypatch: pytest.MonkeyPatch) -> None:
        for each in several:
            each(monkeypatch)

    return disable


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`faults`: each by itself, one after the other, with what its missing evidence says."""

    name: str
    faults: Sequence[tuple[Fault, str]]
    disable: Disable


CLEAN = NetworkPartition(victim=ControllerLeader())
OUT = NetworkPartition(victim=ControllerLeader(), ways=Ways.OUT)
CUT_POWER = PowerOff(victim=RandomFollower())

UNSWALLOWED = "was not swallowed"
FORGOT_NOTHING = "the disk forgot nothing"
RAN_ON = "ran on during the cut"

# What is taken away from one kind of fault takes nothing from the others, so a run has several.
CASES = (
    Case(
        name="proxy not told, ioctl skipped",
        faults=((CLEAN, UNSWALLOWED), (OUT, UNSWALLOWED), (CUT_POWER, FORGOT_NOTHING)),
        disable=together(toxics_skipped, skipped("shutdown")),
    ),
    Case(
        name="requests only, ioctl that freezes first",
        faults=(
            (CLEAN, "the proxy did not stop answers along"),
            (OUT, "an answer passed along"),
            (CUT_POWER, FORGOT_NOTHING),
        ),
        disable=together(only(Stream.UPSTREAM), freezes_first),
    ),
    Case(
        name="answers only, processes not stopped",
        faults=((CLEAN, UNSWALLOWED), (OUT, UNSWALLOWED), (CUT_POWER, RAN_ON)),
        disable=together(only(Stream.DOWNSTREAM), skipped("quiesce")),
    ),
    Case(
        name="the opposite cut as well, a mere SIGKILL",
        faults=(
            (OUT, "did not pass: it cannot be told from a clean cut"),
            (CUT_POWER, RAN_ON),
        ),
        disable=together(opposite_too, mere_kill),
    ),
    Case(
        name="kill, stop and pause sent nowhere",
        faults=(
            (Kill(victim=RandomFollower()), "the process runs on"),
            (Terminate(victim=RandomFollower()), "no running process was stopped"),
            (Pause(victim=RandomFollower()), "threads go on"),
        ),
        disable=together(kill_sent_nowhere, stop_sent_nowhere, skipped("quiesce")),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_without_its_effect_makes_the_run_void(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = scenario_of(*(fault for fault, _ in case.faults))
    monkeypatch.setitem(SCENARIOS, NAME, scenario)
    case.disable(monkeypatch)
    # A busy node may take longer to answer a probe, and then the proxy tells first.
    monkeypatch.setattr(proxy_links, "KNOCK_WAIT_S", 1.0)
    duration = ["--duration", f"{scenario.default_duration_s:g}"]
    code = main(["run", NAME, "--rate", "200", *duration, "--seed", "5", "--out", str(tmp_path)])
    sentence, _, rest = capsys.readouterr().out.partition("\n")
    assert code == 3, sentence + rest
    first, says = case.faults[0]
    assert sentence.startswith(f"VOID: faults-bit: fault 0, {first.kind}, left no evidence")
    assert says in sentence
    page = html.unescape((tmp_path / "latest" / "report.html").read_text())
    assert sentence.removeprefix("VOID: ") in page
    left = read_run(tmp_path / "latest").tables["faults"].to_pylist()
    assert [fault["kind"] for fault in left] == [fault.kind for fault, _ in case.faults]
    for fault, (_, says) in zip(left, case.faults, strict=True):
        assert not fault["bit"], fault
        assert says in fault["evidence"], fault
