"""A node's step that never ends, or eats memory, ends its run as an error that names the step."""

import json
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from chaos.campaign.workers import each_of
from chaos.cli import main
from chaos.cluster.sim import watchdog
from chaos.cluster.sim.watchdog import Limits
from node.controller.controller import Controller

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
    monkeypatch.setattr(watchdog, "Limits", lambda: limits)
    code = main([*RUN, "--runtime", "sim", "--out", str(out)])
    results = json.loads((out / "latest" / "verdict.json").read_text())["results"]
    return code, {row["check"]: row for row in results}


@pytest.mark.parametrize("how", [loop_for_ever, loop_through_everything])
def test_a_step_that_never_ends_is_an_error_with_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Break
) -> None:
    code, rows = run_with(monkeypatch, tmp_path, how, Limits(cpu_s=1.0))
    assert code == 255
    said = rows["run"]["message"]
    assert "StepError: node " in said
    assert "does not end a step within 1.25 s of CPU time (life 1, step " in said
    assert "FrameReceived(" in said
    assert rows["nodes-kept-running"]["verdict"] == "valid", "the harness ended it"


def test_a_step_that_eats_memory_is_an_error_with_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, rows = run_with(monkeypatch, tmp_path, eat_memory, Limits(grown_bytes=64 * MIB))
    assert code == 255
    assert "MiB of memory in one step (life 1, step " in rows["run"]["message"]


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
    assert found == {1: 255, 2: 255}
