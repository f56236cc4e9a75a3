"""The machine had no time for the nodes, in the time that is judged or in another: a run that is
sealed with such figures is an error that names what was late, or accuses a node."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.conclusion import STARVED, Violation
from checkers.evidence.evidence import Evidence
from checkers.evidence.starvation import Suspicion, sort_out, why_in_doubt
from checkers.history.sealed_run import Run, read_run_info, write_run_info
from checkers.quorum.log_matching import followers_keep_up
from checkers.run.late_answers import described_partitions_are_new
from checkers.run.recovery import calm_operations_are_quick
from checkers.suite import judge
from checkers.verdict import CheckResult, Verdict
from tests.checkers.quorum import test_keeping_up
from tests.checkers.run import test_calm, test_change_answers, test_late_answers, test_serving
from tests.support.histories import make_run, run_info, write

SECOND = 1_000_000_000
WELL = {"longest_late_ms": 3.0, "late_share": 0.0, "waited_share": 0.3, "cpu_share": 0.5}
STRETCH_S = 5
PROXY = "the proxy (toxiproxy)"
Load = tuple[Mapping[str, float], ...]
BAD = [
    {"longest_late_ms": 1_200.0},
    {"waited_share": 0.85},
    {"cpu_share": 0.99},
    {"stolen_share": 0.5},
]


def load(bad: Mapping[str, float], *when_s: int, until_s: int = 120) -> Load:
    """Figures of each stretch: all well, but for those in which these seconds are."""
    found = []
    for begin in range(0, until_s, STRETCH_S):
        hit = any(begin <= at < begin + STRETCH_S for at in when_s)
        figures = {**WELL, **dict.fromkeys(bad, 0.0), **(bad if hit else {})}
        figures = {**figures, **{name: WELL[name] for name in bad if name in WELL and not hit}}
        times = {"t_ns": begin * SECOND, "until_ns": (begin + STRETCH_S) * SECOND}
        found.append({**times, **figures})
    return tuple(found)


def slow(part: str, at_s: float, took_s: float = 1.5) -> Mapping[str, str | int]:
    return {"part": part, "t_ns": int(at_s * SECOND), "until_ns": int((at_s + took_s) * SECOND)}


def slow_at_50_s(**info: Any) -> CheckResult:
    """An operation of 6 s, in real time."""
    found = test_calm.run(test_calm.slow_at_50_s(), runtime="docker", pressure=WELL, **info)
    return calm_operations_are_quick(found)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    ("when_s", "verdict"),
    [
        ((50, 55), Verdict.ERROR),
        ((5, 10), Verdict.INVALID),  # long before
        ((60, 65), Verdict.INVALID),  # when it was over
    ],
)
def test_a_slow_operation_is_a_node_s_unless_the_machine_was_starved_then(
    bad: Mapping[str, float], when_s: tuple[int, ...], verdict: Verdict
) -> None:
    found = slow_at_50_s(machine_load=load(bad, *when_s))
    assert found.verdict is verdict, found.message
    is_excused = verdict is Verdict.ERROR
    assert ("the machine was starved" in found.message) is is_excused
    assert (STARVED in found.facts) is is_excused
    assert found.count == (0 if is_excused else 1)


def test_an_election_that_starvation_caused_just_before_is_no_node_s_fault() -> None:
    """Leaders have as long to come as after a fault."""
    late = {"longest_late_ms": 1_200.0}
    assert slow_at_50_s(machine_load=load(late, 46)).verdict is Verdict.ERROR


@pytest.mark.parametrize(
    ("at_s", "verdict"),
    [(53, Verdict.ERROR), (49, Verdict.ERROR), (10, Verdict.INVALID), (57, Verdict.INVALID)],
)
@pytest.mark.parametrize("part", [PROXY, "the disk agent", "the Docker engine"])
def test_a_part_of_the_harness_that_was_slow_is_named(
    part: str, at_s: float, verdict: Verdict
) -> None:
    good = load({})
    found = slow_at_50_s(machine_load=good, slow_parts=[slow(part, at_s)])
    assert found.verdict is verdict, found.message
    said = f"{part} took 1.5 s to answer, at {at_s:.1f} s"
    assert (said in found.message) is (verdict is Verdict.ERROR)


def test_what_was_never_measured_cannot_be_decided() -> None:
    run = test_calm.run(test_calm.slow_at_50_s(), runtime="docker", pressure={})
    found = calm_operations_are_quick(run)
    assert found.verdict is Verdict.UNKNOWN
    assert "it was not measured" in found.message


def test_one_that_the_machine_explains_does_not_hide_one_that_it_does_not() -> None:
    late = write(8, 0, 1) | {
        "t0": 90 * SECOND,
        "t1": 96 * SECOND,
    }
    ops = [*test_calm.slow_at_50_s(), late]
    figures = load({"longest_late_ms": 1_200.0}, 52)
    found = calm_operations_are_quick(
        test_calm.run(ops, runtime="docker", pressure=WELL, machine_load=figures)
    )
    assert (found.verdict, found.count) == (Verdict.INVALID, 1)
    assert found.witness[0]["t_ns"] == 90 * SECOND


def test_in_virtual_time_no_machine_is_slow() -> None:
    ops = test_calm.slow_at_50_s()
    figures = load({"longest_late_ms": 9_000.0}, 52)
    found = calm_operations_are_quick(test_calm.run(ops, machine_load=figures))
    assert found.verdict is Verdict.INVALID


@pytest.mark.parametrize(("at_s", "verdict"), [(20, Verdict.ERROR), (95, Verdict.INVALID)])
def test_a_calm_without_service(at_s: int, verdict: Verdict) -> None:
    ops = test_serving.load(0, 11_000) + test_serving.load(11_000, 30_000, ok=False)
    figures = load({"longest_late_ms": 1_200.0}, at_s)
    told: dict[str, Any] = {"runtime": "docker", "pressure": WELL, "machine_load": figures}
    found = test_serving.judged(ops, **told)
    assert found.verdict is verdict, found.message


@pytest.mark.parametrize(("at_s", "verdict"), [(22, Verdict.ERROR), (50, Verdict.INVALID)])
def test_an_answer_that_is_long_out_of_date(at_s: int, verdict: Verdict) -> None:
    cluster = test_late_answers.says(test_late_answers.moved(), 3, 26_000, 1, 0)
    figures = load({"longest_late_ms": 1_200.0}, at_s)
    run = cluster.run(
        runtime="docker", duration_ns=60 * SECOND, pressure=WELL, machine_load=figures
    )
    found = described_partitions_are_new(run)
    assert found.verdict is verdict, found.message


def test_the_next_answer_of_the_same_broker_accuses_it() -> None:
    """Starved when it gave the first, and not when it gave the second."""
    cluster = test_late_answers.says(test_late_answers.moved(), 3, 26_000, 1, 0)
    cluster = test_late_answers.says(cluster, 3, 55_000, 1, 0)
    figures = load({"longest_late_ms": 1_200.0}, 22)
    run = cluster.run(
        runtime="docker", duration_ns=60 * SECOND, pressure=WELL, machine_load=figures
    )
    found = described_partitions_are_new(run)
    assert (found.verdict, found.count) == (Verdict.INVALID, 1)


@pytest.mark.parametrize(("at_s", "verdict"), [(10, Verdict.ERROR), (55, Verdict.INVALID)])
def test_a_change_of_voters_that_is_never_answered(at_s: int, verdict: Verdict) -> None:
    figures = load({"longest_late_ms": 1_200.0}, at_s, until_s=60)
    told: dict[str, Any] = {"runtime": "docker", "pressure": WELL, "machine_load": figures}
    found = test_change_answers.judged(test_change_answers.LOST, **told)
    assert found.verdict is verdict, found.message


@pytest.mark.parametrize(("at_s", "verdict"), [(52, Verdict.ERROR), (5, Verdict.INVALID)])
def test_a_sealed_run_says_the_same(tmp_path: Path, at_s: int, verdict: Verdict) -> None:
    """Written, read back, and judged by the check as a suite does it."""
    figures = load({"longest_late_ms": 1_200.0}, at_s)
    run = test_calm.run(
        test_calm.slow_at_50_s(), runtime="docker", pressure=WELL, machine_load=figures,
        slow_parts=[slow(PROXY, 110)],
    )  # fmt: skip
    write_run_info(tmp_path, run.info)
    sealed = Run(directory=tmp_path, info=read_run_info(tmp_path), tables=run.tables)
    judgement = judge(sealed, [calm_operations_are_quick])
    assert judgement.verdict is verdict, judgement.sentence
    said = "a timer of the harness was 1,200 ms late"
    assert (said in judgement.sentence) is (verdict is Verdict.ERROR)


def suspicions(*spans_s: tuple[int, int]) -> list[Suspicion]:
    return [
        Suspicion(Violation(f"{begin} to {end}"), begin * SECOND, end * SECOND)
        for begin, end in spans_s
    ]


def test_shares_are_those_of_the_whole_time_that_is_judged() -> None:
    """Some stretch of a busy machine has no moment left; a long time without any is starvation."""
    figures = load({"cpu_share": 0.99}, 50, 55)
    info: dict[str, Any] = {"runtime": "docker", "pressure": WELL, "machine_load": figures}
    evidence = Evidence(make_run(**info))
    told = sort_out(evidence.info, suspicions((50, 59), (40, 80)))
    assert [each.message for each in told.accused] == ["40 to 80"]
    assert len(told.starved) == 1


def test_runs_of_before_have_figures_of_the_whole_run_only() -> None:
    late = run_info(runtime="docker", pressure={**WELL, "longest_late_ms": 1_200.0})
    assert why_in_doubt(late.pressure)
    evidence = Evidence(make_run(runtime="docker", pressure=late.pressure))
    assert len(sort_out(evidence.info, suspicions((1, 2))).starved) == 1
    evidence = Evidence(make_run(runtime="docker", pressure=WELL))
    assert len(sort_out(evidence.info, suspicions((1, 2))).accused) == 1


@pytest.mark.parametrize(("at_s", "verdict"), [(12, Verdict.ERROR), (40, Verdict.INVALID)])
def test_a_follower_that_lags(at_s: int, verdict: Verdict) -> None:
    run = test_keeping_up.run(None, runtime="docker")
    figures = load({"longest_late_ms": 1_200.0}, at_s, until_s=60)
    info = replace(run.info, machine_load=figures)
    found = followers_keep_up(replace(run, info=info))
    assert found.verdict is verdict, found.message
