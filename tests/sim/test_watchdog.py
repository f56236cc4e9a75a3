"""A node's work that never ends, or eats memory, is halted, and the node accused of that step."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from chaos.campaign.conduct import each_of
from chaos.cli import main
from chaos.cluster.sim import sim_machine, watchdog
from chaos.cluster.sim.invariant_keeper import ProcessMonitor
from chaos.cluster.sim.watchdog import Limits
from node.controller.controller import Controller
from node.effects import TimeoutElapsed
from node.outbox import Output
from node.storage.log import Log
from node.turn import Action, Turns

RUN = ["run", "baseline", "--seed", "1", "--duration", "3", "--concurrency", "5", "--rate", "50"]
MIB = 1 << 20
MOST_MIB = 512  # that a test takes, should nobody stop it

Break = Callable[[], None]
right = Controller.write


def loop_for_ever() -> None:
    while True:
        pass


def loop_through_everything() -> None:
    """What it takes for an error of its own does not end it."""
    while True:
        try:
            loop_for_ever()
        except Exception:  # noqa: BLE001 - on purpose
            continue


def eat_memory() -> None:
    eaten = []
    for _ in range(MOST_MIB):
        eaten.append(b"x" * MIB)
        sum(range(100_000))  # a second of CPU time in all
    raise AssertionError("nobody stopped it")


def ask_to_stop_and_loop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    loop_for_ever()


def breaks_after(calls: int, how: Break) -> Callable[..., object]:
    left = calls

    def decide(*arguments: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            how()
        return right(*arguments)  # type: ignore[arg-type]

    return decide


def run_with(
    monkeypatch: pytest.MonkeyPatch, out: Path, how: Break, limits: Limits
) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code of a run whose leader breaks at its 40th write, and its rows by check."""
    monkeypatch.setattr(Controller, "write", breaks_after(40, how))
    return run_within(limits, monkeypatch, out)


def run_within(
    limits: Limits, monkeypatch: pytest.MonkeyPatch, out: Path
) -> tuple[int, dict[str, dict[str, str]]]:
    monkeypatch.setattr(watchdog, "Limits", lambda: limits)
    code = main([*RUN, "--runtime", "sim", "--out", str(out)])
    results = json.loads((out / "latest" / "verdict.json").read_text())["results"]
    return code, {row["check"]: row for row in results}


def assert_accused(rows: dict[str, dict[str, str]], what: str) -> None:
    """By name, and the harness has had no trouble."""
    assert "run" not in rows
    for check in ("nodes-kept-running", "recovers-when-healed"):
        assert rows[check]["verdict"] == "invalid"
        assert re.search(f"^node [123] {what}", rows[check]["message"]), rows[check]


@pytest.mark.parametrize("how", [loop_for_ever, loop_through_everything])
def test_a_step_that_never_ends_is_the_nodes_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Break
) -> None:
    code, rows = run_with(monkeypatch, tmp_path, how, Limits(cpu_s=1.0))
    assert code == 1
    what = r"does not end a step within 1.25 s of CPU time \(life 1, step \d+: FrameReceived\("
    assert_accused(rows, what)


def test_a_step_that_eats_memory_is_the_nodes_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, rows = run_with(monkeypatch, tmp_path, eat_memory, Limits(grown_bytes=64 * MIB))
    assert code == 1
    assert_accused(rows, r"takes \d+ MiB of memory in one step \(life 1, step ")


@pytest.mark.parametrize("looks_take", [0, 20_000])
def test_steps_that_beget_steps_and_let_no_time_pass_are_one_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_take: int
) -> None:
    """None of them takes long, and it is the node's fault also where the harness, which looks at
    each, takes most of the time."""
    live = Turns.drain
    look = ProcessMonitor.after_step

    def look_closely(self: ProcessMonitor, outputs: Sequence[Output]) -> None:
        sum(range(looks_take))
        look(self, outputs)

    monkeypatch.setattr(ProcessMonitor, "after_step", look_closely)

    def for_ever(self: Turns) -> Iterator[Sequence[Action]]:
        yield from live(self)
        while self._read_clocks().mono_ns - began_ns(self) > 2_000_000_000:
            self.feed(TimeoutElapsed())
            yield from live(self)

    def began_ns(self: Turns) -> int:
        return int(vars(self).setdefault("began", self._read_clocks().mono_ns))

    monkeypatch.setattr(Turns, "drain", for_ever)
    code, rows = run_within(Limits(cpu_s=1.0), monkeypatch, tmp_path)
    assert code == 1
    what = r"takes [\d,]+ steps after one another, lets no time pass and does not end them within "
    assert_accused(rows, what)


@pytest.mark.parametrize(
    ("module", "name", "what"),
    [
        (sim_machine, "recover", r"does not end a step within .* \(life 1, step 0: it opens its "),
        (sim_machine, "format_log_directory", r"does not end a step within .* it formats its disk"),
        (Log, "append", r"does not end a step within .* \(life 1, step \d+: "),
    ],
)
def test_whatever_of_a_node_never_ends_is_halted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str, what: str
) -> None:
    monkeypatch.setattr(module, name, lambda *_, **__: loop_for_ever())
    code, rows = run_within(Limits(cpu_s=1.0), monkeypatch, tmp_path)
    assert code == 1
    assert re.search(f"node [123] {what}", rows["recovers-when-healed"]["message"])


def test_a_look_that_never_ends_is_the_harness_own_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessMonitor, "after_step", lambda *_: loop_for_ever())
    code, rows = run_within(Limits(cpu_s=1.0), monkeypatch, tmp_path)
    assert code == 255
    assert "was looked at by the harness, which does not end that" in rows["run"]["message"]
    assert rows["nodes-kept-running"]["verdict"] == "valid"


def test_a_signal_is_heard_amid_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the step has gone on for too long."""
    code, rows = run_with(monkeypatch, tmp_path, ask_to_stop_and_loop, Limits())
    assert code == 255
    assert "interrupted by SIGTERM" in rows["run"]["message"]
    assert "CPU time into a step (life 1, step " in rows["run"]["message"]


def run_in_a_worker(out: Path, seed: int) -> int:
    with pytest.MonkeyPatch.context() as monkeypatch:
        code, _ = run_with(monkeypatch, out / str(seed), loop_for_ever, Limits(cpu_s=1.0))
    return code


@pytest.mark.slow
def test_a_worker_of_a_campaign_goes_on_to_the_next_seed(tmp_path: Path) -> None:
    found = dict(each_of(partial(run_in_a_worker, tmp_path), iter([1, 2]), jobs=1, limit_s=120))
    assert found == {1: 1, 2: 1}
