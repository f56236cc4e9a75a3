"""Two sides of one scenario, beside each other, and numbers over all runs of each."""

from collections.abc import Mapping
from dataclasses import replace

from checkers.page.comparison import (
    Compared,
    ComparedSide,
    Gap,
    RecordsLost,
    SideRun,
    gaps,
    records_lost,
    render_comparison,
    render_overview,
)
from checkers.run.expectation import Bound, Expectation
from checkers.run.statistics import Number
from checkers.verdict import Verdict
from tests.checkers.page.samples import VALID, judgement

TOPICS = "longest_without_topic_s"
LOST = replace(
    VALID,
    check="log-durability",
    verdict=Verdict.INVALID,
    count=300,
    witness=({"what": "lost", "t_ns": 1},),
    facts={"lost": 300, "info": 0},
)


def side(
    name: str, *numbers: Mapping[str, Number], expected: Verdict = Verdict.VALID
) -> ComparedSide:
    runs = [
        SideRun(
            judgement=replace(judgement(VALID), statistics=dict(each)),
            href=f"run-{number}/report.html",
            command=f"kraft-chaos run scenario --seed {number}",
            took_s=40.0 + number,
        )
        for number, each in enumerate(numbers)
    ]
    return ComparedSide(
        name=name, promise=f"{name} holds", expected=Expectation(verdict=expected), runs=tuple(runs)
    )


def test_a_number_is_told_over_all_runs_of_a_side() -> None:
    slow = side("slow", {TOPICS: 30.2}, {TOPICS: 31.0}, {TOPICS: 29.9}, {})
    assert gaps(slow, TOPICS) == Gap(median=30.2, least=29.9, most=31.0)
    assert gaps(side("none", {}), TOPICS) is None


def test_the_99th_percentile_is_told_of_a_hundred_runs_and_more() -> None:
    many = side("many", *({TOPICS: float(number)} for number in range(101)))
    found = gaps(many, TOPICS)
    assert found == Gap(median=50.0, least=0.0, most=100.0, p99=99.0)
    assert found is not None
    assert found.in_words() == "50.0 s (0.0-100.0), p99 99.0 s"
    few = side("few", *({TOPICS: float(number)} for number in range(99)))
    found = gaps(few, TOPICS)
    assert found is not None
    assert found.p99 is None


def lossy(*numbers: tuple[int, int, int]) -> ComparedSide:
    """A run for each of lost records, those that may be lost, and undecided ones."""
    made = side("lossy", *({} for _ in numbers))
    runs = []
    for run, (lost, allowed, undecided) in zip(made.runs, numbers, strict=True):
        facts = {"lost": lost, "allowed_loss": allowed, "lost_undecided": undecided, "info": 9}
        told = judgement(replace(VALID, check="log-durability", facts=facts))
        runs.append(replace(run, judgement=told))
    return replace(made, runs=tuple(runs))


def test_lost_records_are_counted_over_all_runs_that_count() -> None:
    found = records_lost(lossy((0, 56, 0), (0, 0, 0), (3, 70, 4)), "log-durability")
    assert found == RecordsLost(records=133, runs=2, of_runs=3)
    assert found.in_words() == "133, in 2 of 3 (21-94 %) runs"
    assert records_lost(side("none", {}), "log-durability") is None
    one = lossy((0, 56, 0), (0, 0, 0))
    aside = replace(one, runs=(replace(one.runs[0], doubt="it is void"), one.runs[1]))
    found = records_lost(aside, "log-durability")
    assert found == RecordsLost(records=0, runs=0, of_runs=1)
    page = render_comparison("which", "strategies", (one,), "log-durability")
    assert "56, in 1 of 2 (9-91 %) runs" in page


def _valid(bound: Bound) -> Expectation:
    return Expectation(verdict=Verdict.VALID, numbers=(bound,))


def test_a_run_that_did_not_stand_still_as_expected_is_not_as_expected() -> None:
    runs: tuple[Mapping[str, Number], ...] = ({TOPICS: 30.2}, {TOPICS: 3.0}, {})
    slow = replace(side("slow", *runs), expected=_valid(Bound(name=TOPICS, least=25.0)))
    quick = replace(side("quick", *runs), expected=_valid(Bound(name=TOPICS, most=10.0)))
    assert [slow.expects(run) for run in slow.runs] == [True, False, False]
    assert [quick.expects(run) for run in quick.runs] == [False, True, False]
    page = render_comparison("silent", "a controller falls silent", (slow,), "log-durability")
    assert "1 of 3" in page
    assert page.count('<tr class="bad">') == 2
    assert "not as expected: longest without topic s is 3.0, expected" in page


def test_the_page_shows_both_sides_with_their_gaps_and_every_run() -> None:
    slow = side("slow", {TOPICS: 30.2}, {TOPICS: 31.0})
    quick = side("quick", {TOPICS: 3.5}, {TOPICS: 3.5})
    page = render_comparison("silent", "a controller falls silent", (slow, quick), "log-durability")
    assert "30.6 s (30.2-31.0)" in page
    assert page.count("40.5 s (40.0-41.0)") == 2
    assert ">longest without topic</td>" in page
    assert ">3.5 s</td>" in page
    assert "2 of 2 (34-100 %)" in page
    assert page.count("run-0/report.html") == page.count("run-1/report.html") == 2


def test_facts_that_are_nothing_on_every_side_are_left_out() -> None:
    lossy = replace(
        side("off", {}, expected=Verdict.INVALID),
        runs=(SideRun(judgement=judgement(LOST), href="r.html", command="again", took_s=40.0),),
    )
    page = render_comparison("scenario", "what happens", (lossy,), "log-durability")
    assert "300" in page
    assert "1 of 1" in page
    assert ">info</td>" not in page


def test_an_overview_shows_every_side_of_every_story_and_the_way_to_its_page() -> None:
    fine = Compared(
        name="fine",
        description="nothing happens",
        sides=(side("on", {}, {}), side("off", {})),
        href="fine.html",
    )
    wrong = Compared(
        name="wrong",
        description="something happens",
        sides=(side("on", {}, expected=Verdict.INVALID),),
        href="wrong.html",
    )
    page = render_overview([fine, wrong])
    assert "3 of 4 runs were as expected" in page
    assert page.count('<tr class="bad">') == 1
    assert page.count('href="fine.html"') == page.count('href="wrong.html"') == 1
    assert [fine.is_as_expected, wrong.is_as_expected] == [True, False]
