"""A quorum under random faults: safety at every step, linearizability at the end, then progress.

A failure names its seed; `run_seed(N)` in this file reproduces it exactly.
"""

import random
from dataclasses import dataclass

import pytest

from node.ids import NodeId
from tests.support.quorum import MS, SECOND, Quorum
from tests.support.quorum_members import Mischief
from tests.support.registers import Registers, assert_linearizable, write_request
from tests.support.watch import Watch

CHAOS_NS = 30 * SECOND
HEALING_NS = 15 * SECOND


@dataclass
class Chaos:
    """Power cuts, isolation, one-way cuts, in random order; never asks what is fair."""

    quorum: Quorum
    rng: random.Random

    def begin(self) -> None:
        self.quorum.at(self.quorum.now_ns + self.rng.randrange(3 * SECOND), self.strike)

    def strike(self) -> None:
        quorum, rng = self.quorum, self.rng
        if quorum.now_ns > CHAOS_NS:
            return
        leaders = quorum.leaders()
        node = rng.choice(leaders) if leaders and rng.random() < 0.6 else self._any()
        match rng.randrange(6):
            case 0 | 1:
                self._power_off(node)
            case 2:
                for each in list(quorum.members):
                    self._power_off(each)
            case 3:
                quorum.isolate(node)
            case 4:
                quorum.cut.add((node, self._any()))
            case _:
                quorum.cut_between(node, self._any())
        if rng.random() < 0.5:
            quorum.at(quorum.now_ns + rng.randrange(4 * SECOND), quorum.heal)
        quorum.at(quorum.now_ns + rng.randrange(200 * MS, 4 * SECOND), self.strike)

    def _any(self) -> NodeId:
        return self.rng.choice(list(self.quorum.members))

    def _power_off(self, node: NodeId) -> None:
        if self.quorum.is_up(node):
            self.quorum.power_off(node)
            back = self.quorum.now_ns + self.rng.randrange(50 * MS, 3 * SECOND)
            self.quorum.at(back, lambda: self.quorum.start(node))


def run_seed(
    seed: int,
    mischief: Mischief | None = None,
    *,
    pause_ms: int = 120,
    invariants: bool = False,
) -> Registers:
    """30 virtual seconds of faults with safety checked, then heal and demand progress.

    Safety is what the trace lines tell, or with `invariants` what every step leaves inside.
    """
    rng = random.Random(f"{seed}:chaos")
    watch = Watch()
    size = 5 if seed % 6 == 5 else 3
    watchers = () if invariants else (watch,)
    quorum = Quorum(size, seed=seed, mischief=mischief, watchers=watchers, invariants=invariants)
    quorum.start()
    clients = Registers(quorum, processes=3, keys=2, seed=seed, pause_ms=pause_ms)
    Chaos(quorum, rng).begin()
    quorum.run_for(CHAOS_NS + 4 * SECOND)
    quorum.heal()
    assert_progress(quorum)
    clients.stop()
    quorum.run_for(2 * SECOND)
    watch.finish(quorum)
    assert_linearizable(clients.operations)
    return clients


def assert_progress(quorum: Quorum) -> None:
    """With every link whole and every node up, somebody leads, commits and reads it back."""
    answers: list[object] = []

    def try_again() -> None:
        for node in quorum.active():
            quorum.ask(node, write_request("progress", 1000), note)

    def note(answer: object) -> None:
        error = getattr(answer, "results", [None])[0]
        if error is not None and error.error == 0:
            answers.append(answer)

    def has_succeeded() -> bool:
        return bool(answers)

    deadline = quorum.now_ns + HEALING_NS
    while quorum.now_ns < deadline and not answers:
        try_again()
        quorum.run_until(has_succeeded, 200 * MS)
    assert answers, f"no progress: leaders {quorum.leaders()}, active {quorum.active()}"


@pytest.mark.parametrize("seed", range(4))
def test_safe_under_faults_and_live_after(seed: int) -> None:
    clients = run_seed(seed)
    assert clients.acknowledged_writes() > 50, "too little happened to mean anything"
