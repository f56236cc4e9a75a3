"""Who is tried where; the mutations' own tests are in tests/sim/test_selftest.py."""

from pathlib import Path

import pytest

from chaos.errors import UsageError
from chaos.run.planning import scenario_of
from chaos.scenarios import SCENARIOS
from chaos.scenarios.controls import CONTROLS
from chaos.selftest.kill_table import SuspectKind
from chaos.selftest.suspects import SelftestArguments, suspects
from checkers.suite import CHECKS


def asked(*mutations: str, scenario: str = "") -> SelftestArguments:
    return SelftestArguments(
        mutations=mutations,
        tries=None,
        seed=1,
        out=Path(),
        as_json=True,
        runtime="docker",
        scenario=scenario,
        target="kafka",
    )


def test_nothing_is_planted_in_the_brokers_of_others() -> None:
    found = suspects(asked())
    assert [(each.kind, each.scenario) for each in found] == [
        (SuspectKind.CORRECT, "quiet-brokers"),
        (SuspectKind.CORRECT, "lost-answers"),
        (SuspectKind.CONTROL, "rash-client"),
        (SuspectKind.CONTROL, "hasty-client"),
    ]
    assert all(bool(each.named) == (each.kind is SuspectKind.CONTROL) for each in found)
    checks = {check.id for check in CHECKS}
    assert {name for each in found for name in each.named} <= checks


@pytest.mark.parametrize("wanted", [asked("Q-ZOMBIE"), asked(scenario="power-off-brokers")])
def test_who_asks_for_bugs_in_them_is_told_what_there_is(wanted: SelftestArguments) -> None:
    with pytest.raises(UsageError, match=r"controls only\n  try: kraft-chaos selftest --target"):
        suspects(wanted)


def test_controls_can_be_run_by_name_and_are_not_listed() -> None:
    assert CONTROLS.keys().isdisjoint(SCENARIOS)
    assert all(scenario_of(name).name == name for name in CONTROLS)
