"""Of which clusters a scenario tells something, and that others are refused before they begin."""

from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import Roles
from chaos.cluster.targets.own_brokers import RECOVERY
from chaos.errors import UsageError
from chaos.run.planning import Choices, plan_of, takes_kafka
from chaos.scenario import Scenario, Takes
from chaos.scenarios import BROKER_SCENARIOS, CONTROLLER_SCENARIOS, SCENARIOS
from tests.support.sizes import choices_at, sizes_of

BOTH, VOTER = Roles.BOTH, Roles.CONTROLLER


@pytest.mark.parametrize(
    ("roles", "settings", "why"),
    [
        ([VOTER] * 3, {}, ""),
        ([VOTER] * 2, {}, "it needs 3 to 5 voters, and there are 2 voters"),
        ([VOTER], {}, "it needs 3 to 5 voters, and there is 1 voter"),
        ([BOTH] * 3, {"elr": "on"}, ""),
        ([*[BOTH] * 3, Roles.BROKER], {}, "it needs 0 to 3 brokers, and there are 4 brokers"),
        ([VOTER] * 3, {"elr": "off"}, "it needs elr=on or so, and that is off"),
    ],
)
def test_what_a_scenario_does_not_take_is_told(
    roles: list[Roles], settings: dict[str, str], why: str
) -> None:
    takes = Takes(voters=range(3, 6), brokers=range(4), settings={"elr": ("on", "so")})
    assert takes.why_not(roles, settings) == why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("remove-leader --nodes 1", "2 to 7 voters, and there is 1 voter\n  try: --nodes 3"),
        ("membership-churn --nodes 1", "3 to 7 voters, and there is 1 voter\n  try: --nodes 3"),
        ("laggard --set brokers=3", "3 to 7 voters, and there is 1 voter\n  try: --set contr"),
        ("remove-leader --set quorum=listed", "quorum=dynamic, and that is listed\n  try: without"),
        ("last-replica-standing --nodes 4", "3 brokers, and there are 4 brokers\n  try: --set bro"),
        ("elr-downgrade --set min_isr=1", "min_isr=2, and that is 1"),
        ("isr-shrink-storm --set replication=2", "replication=3 or 4 or 5, and that is 2"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, why: str
) -> None:
    out = tmp_path / "runs"
    assert main(["run", *line.split(), "--runtime", "sim", "--out", str(out)]) == 254
    assert f": it needs {why}" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda each: each.name)
def test_every_scenario_takes_what_it_has_unless_told_otherwise(scenario: Scenario) -> None:
    """And its sides, some of which are Apache Kafka's alone, and some our node's."""
    usual = "mixed" if scenario.of_both else "kafka" if takes_kafka(scenario) else "node"
    plan_of(Choices(scenario=scenario.name, seed=1, target=usual))
    target = "kafka" if scenario.is_of_brokers and not scenario.of_both else usual
    for side in scenario.sides:
        that_has_it = "node" if RECOVERY in side.settings else target
        settings = side.on(that_has_it).settings
        plan_of(Choices(scenario=scenario.name, seed=1, target=that_has_it, settings=settings))


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda each: each.name)
def test_every_scenario_can_be_planned_at_each_of_its_sizes(scenario: Scenario) -> None:
    for size in sizes_of(scenario):
        plan_of(choices_at(scenario, size))


def test_scenarios_of_a_quorum_take_more_than_one_size() -> None:
    told = {name: sizes_of(each) for name, each in CONTROLLER_SCENARIOS.items()}
    assert told["baseline"] == (1, 4, 7)
    assert told["uninformed-voter"] == (3,)
    assert sizes_of(BROKER_SCENARIOS["power-off-brokers"]) == (3, 4, 5)


def test_a_size_beyond_the_largest_is_refused() -> None:
    with pytest.raises(UsageError, match="it needs 3 voters, and there are 4 voters"):
        plan_of(choices_at(CONTROLLER_SCENARIOS["uninformed-voter"], 4))
