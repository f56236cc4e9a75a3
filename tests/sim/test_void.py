"""Void is real here too: a fault whose effect is disabled ends a run VOID and says what is missing.

As tests/container/test_void.py: whole runs with one window, and the effect taken away by a patch.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import DiskTrouble, Link
from chaos.cluster.sim.disk.disk import Drive
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.network import Network
from chaos.cluster.sim.network import Path as Way
from chaos.cluster.sim.process import SimProcess
from chaos.cluster.sim.sim_machine import Machine
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.victims import AllVoters, ControllerLeader, RandomFollower
from chaos.scenarios import SCENARIOS
from tests.support.one_fault import NAME, scenario_of

pytestmark = pytest.mark.slow

Disable = Callable[[pytest.MonkeyPatch], None]


def nothing(owner: object, *names: str) -> Disable:
    """These do nothing when they are called."""

    def disable(monkeypatch: pytest.MonkeyPatch) -> None:
        for name in names:
            monkeypatch.setattr(owner, name, lambda *_: None)

    return disable


def only(wanted: Way) -> Disable:
    """Of the two paths of a cut only one is stopped."""
    stop = Network.stop

    def stop_one(network: Network, link: Link, path: Way) -> None:
        if path is wanted:
            stop(network, link, path)

    return lambda monkeypatch: monkeypatch.setattr(Network, "stop", stop_one)


def opposite_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is cut is cut both ways."""
    stop = Network.stop

    def stop_both(network: Network, link: Link, path: Way) -> None:
        stop(network, link, path)
        stop(network, Link(link.destination, link.source), path)

    monkeypatch.setattr(Network, "stop", stop_both)


def says_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network claims to stop what it lets pass."""
    claimed: set[tuple[Link, Way]] = set()
    monkeypatch.setattr(Network, "stop", lambda _, *lane: claimed.add(lane))
    monkeypatch.setattr(Network, "let_pass", lambda _, *lane: claimed.discard(lane))
    monkeypatch.setattr(Network, "is_stopped", lambda _, *lane: lane in claimed)


def lives_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody starts the node again before the cure."""
    kill = Machine.kill

    def kill_and_boot(machine: Machine) -> None:
        kill(machine)
        machine._site.loop.call_later(0.5, machine.boot)

    monkeypatch.setattr(Machine, "kill", kill_and_boot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    fault: Fault
    disable: Disable
    says: str


CLEAN = NetworkPartition(victim=ControllerLeader())
OUT = NetworkPartition(victim=ControllerLeader(), ways=Ways.OUT)
CUT_POWER = PowerOff(victim=RandomFollower())
SLOW_KILL = Kill(victim=RandomFollower(), latency_ms=100)
SLOW_DISKS = PowerOff(victim=AllVoters(), disks=DiskTrouble.SLOW)
LYING_DISKS = PowerOff(victim=AllVoters(), disks=DiskTrouble.LYING)

unstopped = nothing(Network, "stop")
UNSWALLOWED = "was not swallowed"

CASES = (
    Case(
        name="clean cut, no path", fault=CLEAN, disable=nothing(Network, "stop"), says=UNSWALLOWED
    ),
    Case(
        name="clean cut, requests only",
        fault=CLEAN,
        disable=only(Way.REQUESTS),
        says="the proxy did not stop answers along",
    ),
    Case(name="clean cut, answers only", fault=CLEAN, disable=only(Way.ANSWERS), says=UNSWALLOWED),
    Case(name="clean cut, only said", fault=CLEAN, disable=says_stopped, says=UNSWALLOWED),
    Case(
        name="one-way cut, no path", fault=OUT, disable=nothing(Network, "stop"), says=UNSWALLOWED
    ),
    Case(
        name="one-way cut, requests only",
        fault=OUT,
        disable=only(Way.REQUESTS),
        says="an answer passed along",
    ),
    Case(name="one-way cut, answers only", fault=OUT, disable=only(Way.ANSWERS), says=UNSWALLOWED),
    Case(
        name="one-way cut, the opposite cut as well",
        fault=OUT,
        disable=opposite_too,
        says="did not pass: it cannot be told from a clean cut",
    ),
    Case(
        name="kill sent nowhere",
        fault=Kill(victim=RandomFollower()),
        disable=nothing(Machine, "kill"),
        says="the process runs on",
    ),
    Case(
        name="kill that does not last",
        fault=Kill(victim=RandomFollower()),
        disable=lives_again,
        says="it was running again before the cure",
    ),
    Case(
        name="links not slowed",
        fault=SLOW_KILL,
        disable=nothing(Network, "slow"),
        says="an answer between nodes took",
    ),
    Case(
        name="stop sent nowhere",
        fault=Terminate(victim=RandomFollower()),
        disable=nothing(SimProcess, "terminate", "kill"),
        says="no running process was stopped",
    ),
    Case(
        name="pause sent nowhere",
        fault=Pause(victim=RandomFollower()),
        disable=nothing(SimProcess, "pause"),
        says="threads go on",
    ),
    Case(
        name="power cut, nothing forgotten",
        fault=CUT_POWER,
        disable=nothing(FileSystem, "power_cut"),
        says="the disk forgot nothing",
    ),
    Case(
        name="power cut, process not stopped",
        fault=CUT_POWER,
        disable=nothing(Machine, "kill"),
        says="ran on during the cut",
    ),
    Case(
        name="power cut, syncs not slow",
        fault=SLOW_DISKS,
        disable=nothing(Drive, "_make_slow"),
        says="no sync was slow before the cut",
    ),
    Case(
        name="power cut, syncs not lying",
        fault=LYING_DISKS,
        disable=nothing(Drive, "_make_lie"),
        says="no sync was lying before the cut",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_without_its_effect_makes_the_run_void(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCENARIOS, NAME, scenario_of(case.fault))
    case.disable(monkeypatch)
    words = ["run", NAME, "--duration", "3", "--seed", "5", "--runtime", "sim", "--rate", "50"]
    code = main([*words, "--out", str(tmp_path)])
    sentence, _, rest = capsys.readouterr().out.partition("\n")
    assert code == 3, sentence + rest
    assert sentence.startswith(f"VOID: faults-bit: fault 0, {case.fault.kind}, left no evidence")
    assert case.says in sentence
    page = html.unescape((tmp_path / "latest" / "report.html").read_text())
    assert sentence.removeprefix("VOID: ") in page


@pytest.mark.parametrize("fault", {case.fault: None for case in CASES}, ids=str)
def test_the_same_faults_bite_when_nothing_is_taken_away(
    fault: Fault,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(SCENARIOS, NAME, scenario_of(fault))
    words = ["run", NAME, "--duration", "3", "--seed", "5", "--runtime", "sim", "--rate", "50"]
    main([*words, "--out", str(tmp_path)])
    assert "1 of 1 faults bit" in capsys.readouterr().out  # whatever else the judge found
