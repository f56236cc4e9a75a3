"""A plan that is written down and read back is the same plan; what is none is refused by name."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.bugs.catalogue import MUTATIONS
from chaos.cluster.targets.named import KAFKA, MIXED, NODE
from chaos.conditions import Conditions
from chaos.run.plan import RunPlan
from chaos.run.plan_files import NotAPlanError, plan_as_json, plan_from
from chaos.run.planning import Choices, plan_of, runs_on_kafka
from chaos.scenario import SIM
from chaos.scenarios import SCENARIOS
from chaos.scenarios.controls import CONTROLS
from checkers.history.sealed_run import RunInfo
from workloads.append import AppendOptions
from workloads.clients.library_clients import LIBRARIES, TOPIC_CLIENTS
from workloads.workload import RegisterOptions
from workloads.workload_kinds import KINDS, kind_of


def written_and_read(plan: RunPlan) -> RunPlan:
    return plan_from(json.loads(json.dumps(plan_as_json(plan))))


def every_plan() -> Iterator[RunPlan]:
    """Each scenario as it is and by each of its sides, and each control."""
    for scenario in (SCENARIOS | CONTROLS).values():
        target = MIXED if scenario.of_both else KAFKA if runs_on_kafka(scenario) else NODE
        plain = Choices(scenario=scenario.name, seed=7, target=target, runtime="docker")
        plan = plan_of(plain) if scenario.trial is None else plan_of(replace(plain, runtime=SIM))
        yield plan
        for side in scenario.sides:
            yield plan_of(
                replace(
                    plain,
                    settings=side.settings,
                    topic_client=side.topic_client,
                    side=side.name,
                )
            )


@pytest.mark.parametrize(
    "plan", list(every_plan()), ids=lambda plan: f"{plan.scenario.name}:{plan.side}"
)
def test_every_scenario_and_side(plan: RunPlan) -> None:
    assert written_and_read(plan) == plan
    assert written_and_read(plan.settled()) == plan.settled()
    assert (plan.settled().schedule is None) == (plan.scenario.script is not None)


@given(
    seed=st.integers(0, 2**63 - 1),
    duration_s=st.none() | st.floats(3, 100),
    nodes=st.integers(0, 7),
)
def test_every_seed_of_the_swarm(seed: int, duration_s: float | None, nodes: int) -> None:
    chosen = Choices(
        scenario="swarm", seed=seed, duration_s=duration_s, nodes=nodes or None, runtime=SIM
    )
    plan = plan_of(chosen)
    assert plan.schedule is not None
    assert written_and_read(plan) == plan


loads = st.builds(
    RegisterOptions,
    concurrency=st.integers(2, 99),
    rate=st.floats(0, 1e5),
    live_keys=st.integers(1, 300),
    read_share=st.floats(0, 1),
    most_operations=st.integers(0, 10**6),
) | st.builds(
    AppendOptions,
    topics=st.integers(1, 5),
    configs=st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3),
    prefix=st.text(max_size=9),
    rate=st.floats(0, 1e5),
)


@given(
    load=loads,
    conditions=st.builds(Conditions, fetch_timeout_ms=st.integers(1, 9999), spikes=st.floats(0, 1)),
    settings=st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3),
    client=st.sampled_from(LIBRARIES),
    topic_client=st.sampled_from(TOPIC_CLIENTS),
    mutation=st.sampled_from(["", *MUTATIONS]),
    duration_s=st.floats(1, 86400),
)
def test_whatever_else_a_plan_says(duration_s: float, **said: Any) -> None:
    scenario = SCENARIOS["partition-leader"]
    plan = RunPlan(scenario=scenario, seed=1, nodes=3, duration_s=duration_s, **said)
    assert written_and_read(plan) == plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfNoWorkload:
    concurrency: int = 1


def test_each_workload_has_options_of_its_own() -> None:
    assert len({kind.options for kind in KINDS.values()}) == len(KINDS)
    for name, kind in KINDS.items():
        assert kind_of(kind.options()).name == name
    with pytest.raises(LookupError, match="no workload has the options _OfNoWorkload"):
        kind_of(_OfNoWorkload())  # type: ignore[arg-type]  # that is what is tested


def changed(**changes: Any) -> dict[str, Any]:
    whole = plan_as_json(plan_of(Choices(scenario="power-off", seed=2, runtime=SIM)).settled())
    return {**whole, **changes}


def _without_a_rate(content: dict[str, Any]) -> None:
    del content["load"]["options"]["rate"]


def _with_patience(content: dict[str, Any]) -> None:
    content["load"]["options"]["patience"] = 3


def _of_bank_accounts(content: dict[str, Any]) -> None:
    content["load"]["workload"] = "bank"


def _of_another_scenario(content: dict[str, Any]) -> None:
    content["scenario"] = "tickle"


def _with_odd_windows(content: dict[str, Any]) -> None:
    content["schedule"]["windows"][0]["kind"] = "tickle"


def _of_another_format(content: dict[str, Any]) -> None:
    content["format"] = 9


def _without_a_seed(content: dict[str, Any]) -> None:
    del content["seed"]


def _with_odd_conditions(content: dict[str, Any]) -> None:
    content["conditions"]["gravity"] = 9.81


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_without_a_rate, "the option rate of register is missing"),
        (_with_patience, "the option patience of register is unknown"),
        (_of_bank_accounts, "unknown workload 'bank'; known: register, append"),
        (_of_another_scenario, "this version has no scenario 'tickle'"),
        (_with_odd_windows, "not a schedule: KeyError: 'tickle'"),
        (_of_another_format, "its plan has the format 9, not 1"),
        (_without_a_seed, "seed is missing"),
        (_with_odd_conditions, "gravity"),
    ],
)
def test_what_is_no_plan_is_refused_by_name(
    change: Callable[[dict[str, Any]], None], why: str
) -> None:
    content = json.loads(json.dumps(changed()))
    change(content)
    with pytest.raises(NotAPlanError, match=why):
        plan_from(content)


def test_a_run_of_an_older_version_has_none() -> None:
    assert RunInfo.__dataclass_fields__["plan"].default_factory is dict
    with pytest.raises(NotAPlanError, match="recorded by an older version"):
        plan_from({})
