"""Every scenario names the checks without which it shows nothing."""

import pytest

from chaos.cluster.sim.invariants.rules import ANSWER_RULES
from chaos.scenario import Scenario
from chaos.scenarios import MIXED_SCENARIOS, SCENARIOS
from checkers.all_checks import CHECKS
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import RunInfo
from tests.support.histories import run_info
from workloads.workload_kinds import kind_of


def info_of(scenario: Scenario, *, traced: bool) -> RunInfo:
    """Of a run of it: of our node, or of Apache Kafka."""
    brokers = {str(n): "broker" for n in (1, 2, 3)} if scenario.is_of_brokers else {}
    kinds = [kind for kind in Kind if traced or kind is not Kind.TRACES]
    return run_info(
        scenario=scenario.name,
        history=kind_of(scenario.load).history,
        gives=tuple(kinds),
        roles={**brokers, "4": "controller"} if brokers else {},
        load={"chores": getattr(scenario.load, "chores", ()), "transactional": True},
        to_show=scenario.to_show,
        target="2 of ours, 1 kafka 4.3.1" if scenario.name in MIXED_SCENARIOS else "node 1",
    )


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_it_exists_for_checks_that_judge_its_runs(scenario: Scenario) -> None:
    assert scenario.exists_for
    assert set(scenario.exists_for) <= {check.id for check in CHECKS}
    for traced in (True, False):
        info = info_of(scenario, traced=traced)
        judging = {check.id for check in CHECKS if check.applies(info)}
        assert judging & set(scenario.exists_for), f"traced: {traced}"


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_what_has_no_subject_in_it_is_a_check_or_a_rule(scenario: Scenario) -> None:
    known = {check.id for check in CHECKS} | {f"invariant:{rule}" for rule in ANSWER_RULES}
    assert set(scenario.without_subject) <= known
    assert not set(scenario.without_subject) & set(scenario.exists_for)
