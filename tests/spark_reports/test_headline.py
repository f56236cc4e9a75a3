"""What the report says first; no Spark is needed for it."""

from dataclasses import replace
from pathlib import Path

import pytest

from checkers.run.expectation import Expectation
from checkers.verdict import Judgement, Verdict
from spark_reports.fate_counts import RECORDS, WRITES, FateCounts
from spark_reports.report_page import headline
from spark_reports.report_summary import GroupCounts, ReportSummary, share_of
from spark_reports.report_tables import durability_tables, planted_table, sides_table
from spark_reports.sealed_archive import Archive, SealedRun, SkippedRun
from tests.support.histories import run_info

KAFKA = "kafka 4.3.1 (kraft-chaos/kafka-4.3.1:7a4a770cfb2f)"
OUT = Path("report.html")


def run_of(
    side: str, verdict: Verdict, expected: Verdict | None = None, *undecided: str
) -> SealedRun:
    asked = Expectation(verdict=expected) if expected else None
    judgement = Judgement(run_id=f"run {side}", verdict=verdict, sentence="", results=())
    info = run_info(
        run_id=judgement.run_id, scenario="last-replica-standing", side=side, target=KAFKA
    )
    return SealedRun(
        key=info.run_id,
        seal=0,
        directory=Path("runs") / info.run_id,
        info=info,
        operations=1,
        verdict=verdict,
        sentence="",
        undecided=undecided,
        expected=asked,
        mismatch=asked.mismatch(judgement) if asked else "",
    )


def cell_of(run: SealedRun, kind: str = RECORDS, **numbers: int) -> GroupCounts:
    counts = FateCounts(kind=kind, fault_phase="during", **numbers)
    return GroupCounts(scenario=run.scenario, version=run.version, counts=counts)


def summary_of(
    *runs: SealedRun,
    cells: tuple[GroupCounts, ...] = (),
    problems: dict[str, str] | None = None,
    lost: dict[str, int] | None = None,
    skipped: tuple[SkippedRun, ...] = (),
) -> ReportSummary:
    return ReportSummary(
        archive=Archive(
            runs=tuple(run for run in runs if not run.is_planted),
            planted=tuple(run for run in runs if run.is_planted),
            skipped=skipped,
        ),
        cells=cells,
        culprits=(),
        problems=problems or {},
        lost=lost or {},
        outages=(),
        elections=(),
        latencies=(),
    )


OFF = run_of("elr=off", Verdict.INVALID, Verdict.INVALID)
ON = run_of("elr=on", Verdict.VALID, Verdict.VALID)


@pytest.mark.parametrize(
    ("verdict", "told", "counted", "words"),
    [
        (Verdict.VALID, 0, 0, ""),
        (Verdict.VALID, None, 0, ""),
        (Verdict.INVALID, 3, 3, ""),
        (Verdict.VALID, 0, 2, "its verdict counts 0 lost, and its tables 2"),
        (Verdict.INVALID, 2, 0, "its verdict counts 2 lost, and its tables 0"),
        (Verdict.VALID, None, 1, "its verdict counts no losses, and its tables 1"),
        (None, None, 1, "it is not judged, and its tables count 1 lost"),
        (None, None, 0, ""),
        (Verdict.VALID, 1, None, ""),  # it could not be counted, which is told elsewhere
    ],
)
def test_tables_that_contradict_the_verdict(
    verdict: Verdict | None, told: int | None, counted: int | None, words: str
) -> None:
    run = replace(run_of("elr=on", Verdict.VALID), verdict=verdict, verdict_lost=told)
    lost = {} if counted is None else {run.info.run_id: counted}
    summary = summary_of(run, lost=lost)
    assert [each for _, each in summary.contradicted] == [words] * bool(words)
    assert ("contradict the verdict" in headline(summary)) == bool(words)


def test_records_and_register_writes_are_counted_apart() -> None:
    cells = (
        cell_of(OFF, acknowledged=424, lost=315),
        cell_of(ON, WRITES, acknowledged=198_574),
    )
    told = headline(summary_of(OFF, ON, cells=cells))
    assert "0 of 2 runs were not as they should be, and 1 broke a promise as expected." in told
    assert "315 of 424 acknowledged records were lost (315 of them where it was expected)." in told
    assert "0 of 198,574 acknowledged register writes were lost." in told


def test_a_loss_where_none_was_expected_is_a_surprise() -> None:
    lossy = run_of("elr=on", Verdict.INVALID, Verdict.VALID)
    told = headline(summary_of(lossy, cells=(cell_of(lossy, acknowledged=10, lost=2),)))
    assert told.startswith("1 of 1 runs were not as they should be. 2 of 10 acknowledged records")
    assert "expected" not in told


def test_an_expected_loss_that_did_not_come_is_a_surprise_too() -> None:
    kept = run_of("elr=off", Verdict.VALID, Verdict.INVALID)
    assert headline(summary_of(kept)).startswith("1 of 1 runs were not as they should be")


def test_what_is_allowed_or_not_known_stands_beside_what_is_lost() -> None:
    cells = (cell_of(ON, acknowledged=20, allowed=3, undecided=4, polled_lost=1),)
    told = headline(summary_of(ON, cells=cells))
    assert "0 of 20 acknowledged records were lost (3 more are an allowed loss" in told
    assert "1 were polled and then lost; 4 are undecided)" in told


@pytest.mark.parametrize(
    ("run", "problems", "reason"),
    [
        (run_of("", Verdict.UNKNOWN, None, "evidence-complete"), {}, "evidence-complete"),
        (run_of("", Verdict.VALID), {"run ": "ValueError: x"}, "not counted: ValueError: x"),
    ],
)
def test_a_run_that_could_not_be_judged_is_named_with_the_reason(
    run: SealedRun, problems: dict[str, str], reason: str
) -> None:
    summary = summary_of(run, cells=(cell_of(run, acknowledged=5),), problems=problems)
    assert "Losses are undecided in 1 run." in headline(summary)
    shown = durability_tables(summary, OUT)
    assert "1 of 1 runs" in shown
    assert reason in shown


def test_sides_stand_beside_each_other_with_what_was_expected() -> None:
    cells = (cell_of(OFF, acknowledged=424, lost=315), cell_of(ON, acknowledged=407))
    shown = sides_table(summary_of(OFF, ON, cells=cells)) or ""
    assert "last-replica-standing on kafka 4.3.1</h3>" in shown
    assert "<td>lost</td><td>315</td><td>0</td>".replace("<td>", "") in (
        shown.replace('<td class="wide">', "").replace('<td class="fixed">', "")
    )
    assert "1 of 1 (21-100 %)" in shown


@pytest.mark.parametrize(
    ("lost", "acknowledged", "said"),
    [
        (0, 0, "nothing acknowledged"),
        (0, 198_574, "< 19.3 per million"),
        (0, 2_933, "< 1,308.0 per million"),
        (315, 424, "74.3 % (69.9 % to 78.2 %)"),
        (1, 1_000_000, "1.0 per million (0.2 per million to 5.7 per million)"),
    ],
)
def test_shares_have_their_interval(lost: int, acknowledged: int, said: str) -> None:
    assert share_of(lost, acknowledged) == said


@pytest.mark.parametrize(
    ("verdict", "counts_as"), [(Verdict.ERROR, Verdict.ERROR), (Verdict.UNKNOWN, Verdict.UNKNOWN)]
)
def test_a_run_that_is_not_in_the_numbers_is_in_the_verdict(
    verdict: Verdict, counts_as: Verdict
) -> None:
    away = SkippedRun(directory=Path("runs/away"), reason="a flipped byte", verdict=verdict)
    copy = SkippedRun(directory=Path("runs/copy"), reason="a copy of it")
    assert summary_of(ON, skipped=(copy,)).verdict is Verdict.VALID
    summary = summary_of(ON, skipped=(away, copy))
    assert summary.verdict is counts_as
    assert headline(summary).startswith("1 run cannot be read, and may") == (
        verdict is Verdict.ERROR
    )


def test_planted_bugs_are_in_no_number_but_their_own() -> None:
    """Neither those that are hunted, nor a side of a comparison in which one is planted."""
    hunted = run_of("", Verdict.INVALID)
    hunted = replace(hunted, key="hunted", info=replace(hunted.info, mutation="Q-ZOMBIE"))
    side = run_of("bug=on", Verdict.INVALID, Verdict.INVALID)
    side = replace(side, info=replace(side.info, mutation="Q-ZOMBIE"))
    cells = (cell_of(ON, acknowledged=400), cell_of(side, acknowledged=100, lost=4))
    summary = summary_of(ON, hunted, side, cells=cells)
    assert (summary.verdict, hunted.is_planted, side.is_planted) == (Verdict.VALID, True, False)
    told = headline(summary)
    assert told.startswith("0 of 2 runs were not as they should be, and 1 broke a promise as")
    assert "0 of 400 acknowledged records were lost." in told
    assert "Q-ZOMBIE" in planted_table(summary, OUT)
