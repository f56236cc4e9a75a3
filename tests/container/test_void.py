"""Void is real: a fault whose effect is disabled ends a run VOID and says what is missing.

Every case is a whole run of containers with one window. The effect is taken away from outside, by
a patch in this process; the program has no knob for it.
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
from chaos.cluster.docker.metrics import Stream
from chaos.cluster.docker.power_cuts import Power
from chaos.cluster.docker.toxiproxy_api import ToxiproxyApi
from chaos.cluster.interface import PowerCutMode
from chaos.installation import prepare
from chaos.nemesis.fault import Fault
from chaos.nemesis.grudges import Ways
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenarios import SCENARIOS
from tests.support.one_fault import NAME, scenario_of

Disable = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module", autouse=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    fault: Fault
    disable: Disable
    says: str


CLEAN = NetworkPartition(victim=ControllerLeader())
OUT = NetworkPartition(victim=ControllerLeader(), ways=Ways.OUT)
CUT_POWER = PowerOff(victim=RandomFollower())

UNSWALLOWED = "was not swallowed"

CASES = (
    Case(name="clean cut, proxy not told", fault=CLEAN, disable=toxics_skipped, says=UNSWALLOWED),
    Case(
        name="clean cut, requests only",
        fault=CLEAN,
        disable=only(Stream.UPSTREAM),
        says="the proxy did not stop answers along",
    ),
    Case(
        name="clean cut, answers only",
        fault=CLEAN,
        disable=only(Stream.DOWNSTREAM),
        says=UNSWALLOWED,
    ),
    Case(name="one-way cut, proxy not told", fault=OUT, disable=toxics_skipped, says=UNSWALLOWED),
    Case(
        name="one-way cut, requests only",
        fault=OUT,
        disable=only(Stream.UPSTREAM),
        says="an answer passed along",
    ),
    Case(
        name="one-way cut, answers only",
        fault=OUT,
        disable=only(Stream.DOWNSTREAM),
        says=UNSWALLOWED,
    ),
    Case(
        name="one-way cut, the opposite cut as well",
        fault=OUT,
        disable=opposite_too,
        says="did not pass: it cannot be told from a clean cut",
    ),
    Case(
        name="kill sent nowhere",
        fault=Kill(victim=RandomFollower()),
        disable=kill_sent_nowhere,
        says="the process runs on",
    ),
    Case(
        name="stop sent nowhere",
        fault=Terminate(victim=RandomFollower()),
        disable=stop_sent_nowhere,
        says="no running process was stopped",
    ),
    Case(
        name="pause sent nowhere",
        fault=Pause(victim=RandomFollower()),
        disable=skipped("quiesce"),
        says="threads go on",
    ),
    Case(
        name="power cut, ioctl skipped",
        fault=CUT_POWER,
        disable=skipped("shutdown"),
        says="the disk forgot nothing",
    ),
    Case(
        name="power cut, ioctl that freezes first",
        fault=CUT_POWER,
        disable=freezes_first,
        says="the disk forgot nothing",
    ),
    Case(
        name="power cut, processes not stopped",
        fault=CUT_POWER,
        disable=skipped("quiesce"),
        says="ran on during the cut",
    ),
    Case(
        name="power cut, a mere SIGKILL",
        fault=CUT_POWER,
        disable=mere_kill,
        says="ran on during the cut",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_without_its_effect_makes_the_run_void(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCENARIOS, NAME, scenario_of(case.fault))
    case.disable(monkeypatch)
    # A busy node may take longer to answer a probe, and then the proxy tells first.
    monkeypatch.setattr(proxy_links, "KNOCK_WAIT_S", 1.0)
    code = main(
        ["run", NAME, "--rate", "200", "--duration", "2", "--seed", "5", "--out", str(tmp_path)]
    )
    sentence, _, rest = capsys.readouterr().out.partition("\n")
    assert code == 3, sentence + rest
    assert sentence.startswith(f"VOID: faults-bit: fault 0, {case.fault.kind}, left no evidence")
    assert case.says in sentence
    page = html.unescape((tmp_path / "latest" / "report.html").read_text())
    assert sentence.removeprefix("VOID: ") in page
    print(f"{case.name}: {sentence}")
