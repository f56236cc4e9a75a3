"""The whole judge over synthetic sealed runs: what is green, what is red, and what is neither."""

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from checkers.check import Check, check, everywhere
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.history.store import read_run
from checkers.suite import CHECKS, judge, read_verdict, write_verdict
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.sealed_runs import Shape, seal_run, synthetic_run
from tests.support.simulated_log import SimulatedLog


def results_of(judgement: Judgement) -> dict[str, Verdict]:
    return {result.check: result.verdict for result in judgement.results}


@cache  # nobody changes it
def of_a_good_run() -> Judgement:
    return judge(synthetic_run())


def test_a_good_run_is_valid_in_every_row() -> None:
    judgement = of_a_good_run()
    assert set(results_of(judgement).values()) == {Verdict.VALID}, [
        result for result in judgement.results if result.verdict is not Verdict.VALID
    ]
    assert judgement.sentence.startswith("VALID: ")
    assert "operations on 8 keys are linearizable" in judgement.sentence
    assert "2 faults bit; longest time without a success 2." in judgement.sentence


def test_a_good_run_of_logs_is_judged_by_what_was_sent_and_polled() -> None:
    story = SimulatedLog(random.Random(1)).live(600)
    for process in range(3):
        story.assign(9000 + process)
    judgement = judge(story.run(), of_workloads())
    assert results_of(judgement) == dict.fromkeys(
        [
            "log-durability",
            "log-offsets",
            "log-polls",
            "log-sends",
            "log-final-reads",
            "workload-succeeded",
        ],
        Verdict.VALID,
    )
    acknowledged = judgement.results[0].facts["acknowledged"]
    assert judgement.sentence.startswith(
        f"VALID: {acknowledged} of {acknowledged} acknowledged records are there at the end, "
        "5 more checks hold, no faults"
    )
    promise = judgement.results[0].promise
    assert promise.startswith("Every record that all in-sync replicas acknowledged")


def of_workloads() -> list[Check]:
    """Those that judge what clients did: the others need nodes."""
    named = [
        "linearizable",
        "acknowledged_writes_survive",
        "records_were_asked_for",
        "reads_are_committed",
        "final_reads",
        "workload_succeeded",
    ]
    return [
        check
        for check in CHECKS
        if check.judges.__name__ in named or check.judges.__module__.startswith("checkers.log.")
    ]


def test_a_good_run_without_faults_is_valid() -> None:
    judgement = judge(synthetic_run(Shape(faults=(), scenario="baseline")))
    assert judgement.verdict is Verdict.VALID
    assert "no faults" in judgement.sentence


PLANTED = {
    "lost-write": (Verdict.INVALID, "durability"),
    "two-leaders": (Verdict.INVALID, "Q2-one-leader-per-epoch"),
    "stale-read": (Verdict.INVALID, "linearizable"),
    "no-evidence": (Verdict.VOID, "faults-bit"),
}


@pytest.mark.parametrize("violation", PLANTED)
def test_planted_violations_are_found(violation: str) -> None:
    verdict, check = PLANTED[violation]
    judgement = judge(synthetic_run(violation=violation))
    assert judgement.verdict is verdict, judgement.sentence
    assert results_of(judgement)[check] is verdict
    assert judgement.sentence.startswith(f"{verdict.name}: {check}: ")


@check("crashes", applies=everywhere, source="")
def _crash(evidence: Evidence) -> CheckResult:
    """Nothing holds."""
    raise ZeroDivisionError(evidence.info.run_id)


def test_a_crashed_check_is_an_error_and_the_others_still_run() -> None:
    judgement = judge(synthetic_run(), [_crash, *CHECKS])
    assert judgement.verdict is Verdict.ERROR
    assert "ZeroDivisionError: partition-leader-7 (test_suite.py:" in judgement.sentence
    assert results_of(judgement)["linearizable"] is Verdict.VALID


def test_a_proved_violation_is_not_hidden_by_a_crash() -> None:
    judgement = judge(synthetic_run(violation="stale-read"), [_crash, *CHECKS])
    assert judgement.verdict is Verdict.INVALID


def test_a_check_for_which_the_scenario_exists_has_something_to_judge() -> None:
    """No leader was cut off: that is as it is, unless the scenario is about just that."""
    run = synthetic_run(Shape(faults=(), scenario="baseline"))
    name = "Q22-cut-off-leader-resigns"

    def judged(*exists_for: str) -> Judgement:
        return judge(replace(run, info=replace(run.info, exists_for=exists_for)))

    assert judged().verdict is judged("linearizable").verdict is Verdict.VALID
    void = judged("linearizable", name)
    (row,) = [row for row in void.results if row.check == name]
    assert (void.verdict, row.verdict) == (Verdict.VOID, Verdict.VOID)
    assert row.message.endswith(", yet baseline exists for this check")


def test_no_checks_is_unknown() -> None:
    assert judge(synthetic_run(), []).verdict is Verdict.UNKNOWN


def test_a_run_that_broke_off_or_was_cut_is_unknown() -> None:
    run = synthetic_run(Shape(faults=(), scenario="baseline"))
    cut = judge(replace(run, truncated=("events-1.jsonl.zst: last frame",)))
    assert cut.verdict is Verdict.UNKNOWN
    assert "events-1.jsonl.zst" in cut.sentence
    assert judge(replace(run, info=replace(run.info, finished=False))).verdict is Verdict.UNKNOWN


def test_the_verdict_file_gives_back_the_judgement(tmp_path: Path) -> None:
    judgement = judge(read_run(seal_run(tmp_path / "r", violation="stale-read")))
    assert write_verdict(tmp_path, judgement).name == "verdict.json"
    again = read_verdict(tmp_path)
    assert (again.verdict, again.sentence) == (judgement.verdict, judgement.sentence)
    assert [dict(row) for row in again.results[0].witness] == list(judgement.results[0].witness)
    assert dict(again.statistics) == dict(judgement.statistics)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:99],
        lambda text: text[-2:],
        lambda text: text.replace('"valid"', '"fine"'),
    ],
)
def test_a_damaged_verdict_file_is_named(tmp_path: Path, damage: Callable[[str], str]) -> None:
    path = write_verdict(tmp_path, of_a_good_run())
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match=r"verdict\.json: not a verdict"):
        read_verdict(tmp_path)


def test_importing_the_suite_imports_no_compiler_nor_graphs() -> None:
    code = "import sys; import checkers.suite; print({'numba', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_sentence_names_missing_evidence_before_what_follows_from_it() -> None:
    whole = synthetic_run()
    cut = replace(whole, tables={**whole.tables, "node_events": whole.tables["node_events"][:0]})
    judgement = judge(cut)
    assert judgement.sentence.startswith("UNKNOWN: evidence-complete: evidence is missing: ")
    assert "more unknown)" in judgement.sentence


def test_an_accusation_that_rests_on_what_is_missing_is_a_suspicion() -> None:
    """Two of the three traces are there; what the third would have shown nobody knows."""

    @check("absent", applies=everywhere, source="", rests_on=(Kind.TRACES,))
    def absent(_: Evidence) -> CheckResult:
        """Something is there."""
        return CheckResult(verdict=Verdict.INVALID, message="it is not there", count=1)

    @check("seen", applies=everywhere, source="")
    def seen(_: Evidence) -> CheckResult:
        """Nothing is wrong."""
        return CheckResult(verdict=Verdict.INVALID, message="it was seen", count=1)

    whole = synthetic_run()
    events = whole.tables["node_events"]
    cut = replace(whole, tables={**whole.tables, "node_events": events.slice(40)})
    verdicts = [results_of(judge(run, [absent, seen])) for run in (whole, cut)]
    assert verdicts == [
        {"absent": Verdict.INVALID, "seen": Verdict.INVALID},
        {"absent": Verdict.UNKNOWN, "seen": Verdict.INVALID},
    ]
    (row, _) = judge(cut, [absent, seen]).results
    began = "a suspicion only, it rests on traces, and some of it is missing ("
    assert row.message.startswith(began)
