"""What is planted in the controller's decisions is found in the metadata log that comes of them.

Brokers and operators are random ones, and the log is read off a disk and judged by the checks that
judge every run.
"""

from pathlib import Path

import pytest

from chaos.bugs.broker_catalogue import BROKER_MUTATIONS, BrokerMutation
from chaos.bugs.planted import planted_by
from checkers.all_checks import CHECKS
from checkers.verdict import Verdict
from tests.support.decided_log import run_of
from tests.support.random_brokers import RandomBrokers

ROOT = Path(__file__).parents[3]
STEPS = 150
TRIES = 12
NAMED = {check.id: check for check in CHECKS}


def accusers(mutation: BrokerMutation, seed: int) -> list[str]:
    """Of those that are named for it."""
    with planted_by(mutation.id).planted():
        machine = RandomBrokers(f"{seed}:True", elr=True)
        for _ in range(STEPS):
            machine.step()
    run = run_of(machine.brokers.history, machine.ends, level=machine.image.metadata_version)
    return [name for name in mutation.checks if NAMED[name](run).verdict is Verdict.INVALID]


@pytest.mark.parametrize("mutation", BROKER_MUTATIONS.values(), ids=BROKER_MUTATIONS)
def test_each_is_found_by_a_check_that_is_named_for_it(mutation: BrokerMutation) -> None:
    """As soon as `docs/results/planted-bugs.md` says."""
    found = ((seed + 1, accusers(mutation, seed)) for seed in range(TRIES))
    tries, named = next((tries, named) for tries, named in found if named)
    row = f"| {mutation.id} | {', '.join(named)} | {tries} |"
    assert row in (ROOT / "docs" / "results" / "planted-bugs.md").read_text().splitlines(), row
