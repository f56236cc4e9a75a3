"""The catalogue, the modules and the entry point fit together."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from chaos.bugs.broker_catalogue import BROKER_MUTATIONS, IN_BROKERS, LEADER_MUTATIONS
from chaos.bugs.catalogue import MUTATIONS
from chaos.bugs.planted import FAMILIES, Planted, planted_by
from chaos.cluster.sim.invariants.rules import ANSWER_RULES
from chaos.scenarios import CONTROLLER_SCENARIOS, SCENARIOS
from checkers.suite import CHECKS


def test_every_mutation_is_planted_somewhere_and_every_planted_one_is_listed() -> None:
    families = [import_module(f"chaos.bugs.{name}") for name in FAMILIES]
    found = [
        name.replace("_", "-")
        for family in families
        for name, value in vars(family).items()
        if isinstance(value, Planted)
    ]
    assert sorted(found) == sorted({*MUTATIONS, *BROKER_MUTATIONS, *LEADER_MUTATIONS})


@pytest.mark.parametrize("mutation", [*MUTATIONS, *BROKER_MUTATIONS, *LEADER_MUTATIONS])
def test_each_replaces_a_decision_that_the_node_takes(mutation: str) -> None:
    for planted in planted_by(mutation).decisions():
        decision = getattr(planted.owner, planted.decision)
        assert callable(decision) or isinstance(decision, property)
        assert decision is not planted.wrong


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
def test_each_has_named_checks_and_a_scenario(mutation: object) -> None:
    entry = next(one for one in MUTATIONS.values() if one is mutation)
    scenarios = SCENARIOS if entry in IN_BROKERS else CONTROLLER_SCENARIOS
    assert entry.scenario in scenarios
    assert entry.duration_s > 0
    assert entry.checks
    assert entry.tries >= 1


def test_the_checks_that_are_named_are_there() -> None:
    named = {check for mutation in MUTATIONS.values() for check in mutation.checks}
    named |= {check for mutation in BROKER_MUTATIONS.values() for check in mutation.checks}
    assert named <= {*(check.id for check in CHECKS), *ANSWER_RULES}


def start(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "chaos.bugs", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_entry_point_plants_and_becomes_the_node(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=CONTROLLER://127.0.0.1:0\nadvertised.listeners=CONTROLLER://127.0.0.1:9101\n"
        f"log.dirs={tmp_path / 'none'}\n"
    )
    done = start("Q-ZOMBIE", "--", "start", "-c", str(config))
    assert "planted Q-ZOMBIE: " in done.stderr
    assert "the log directory does not exist" in done.stderr
    assert done.returncode != 0


@pytest.mark.parametrize("words", [(), ("Q-ZOMBIE",), ("Q-NONSENSE", "--", "start")])
def test_wrong_usage_is_254(words: tuple[str, ...]) -> None:
    done = start(*words)
    assert done.returncode == 254
    assert "known: Q-NO-FSYNC" in done.stderr


def test_nothing_heavy_comes_along() -> None:
    code = (
        "import sys, chaos.bugs.__main__; "
        "print([name for name in ('numpy', 'pyarrow', 'docker', 'numba') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
