"""A side on two targets: verdicts and the changes of partitions, beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from checkers.evidence.evidence import Evidence
from checkers.history.events import HistoryKind
from checkers.page.comparison import (
    Beside,
    ComparedSide,
    OnTarget,
    SideRun,
    as_lines,
    beside,
    partition_changes,
    render_comparison,
)
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict
from tests.checkers.page.samples import VALID, judgement
from tests.checkers.page.test_partition_lanes import shrinking
from tests.support.histories import MS

WHOLE = "node 1 leads, ISR [1, 2, 3]"
TWO = "node 1 leads, ISR [1, 2]"
OTHER_TWO = "node 1 leads, ISR [1, 3]"
LAST = "node 1 leads, ISR [1], ELR [2]"


def on(target: str, *runs: tuple[str, ...], verdicts: tuple[str, ...] = ("valid",)) -> OnTarget:
    return OnTarget(target=target, verdicts=verdicts, changes=[{"t-0": run} for run in runs])


def changes_until(end_ms: int) -> Mapping[str, Sequence[str]]:
    """The last answer to a client comes then."""
    cluster = shrinking().sent("t-0", 0, 1)
    cluster.rows["ops"][-1]["t1"] = end_ms * MS
    return partition_changes(Evidence(cluster.run(history=HistoryKind.LOG)))


def test_changes_are_those_of_the_partitions_that_clients_used_while_they_did() -> None:
    found = changes_until(60_000)
    assert list(found) == ["t-0"]
    assert list(found["t-0"])[-4:] == [
        "node 1 leads, ISR [1, 2]",
        "node 1 leads, ISR [1], ELR [2]",
        "no node leads, ISR [], ELR [1, 2]",
        "node 2 leads, ISR [2]",
    ]
    led_again_ms = 1_000 * (shrinking().end - 1)
    assert changes_until(led_again_ms)["t-0"] == list(found["t-0"])[:-1]
    unused = shrinking().run(history=HistoryKind.LOG)
    assert partition_changes(Evidence(unused)) == {}


def test_the_same_changes_are_counted_and_no_more() -> None:
    found = Beside(side="elr=on", one=on("kafka", (WHOLE, TWO)), other=on("node", (WHOLE, TWO)))
    assert not found.differs_in_verdict
    assert list(as_lines(found)) == [
        "elr=on, kafka and node beside each other",
        "  verdicts agree: kafka valid; node valid",
        "  t-0: the same 2 states of leader, ISR and ELR",
    ]


def test_what_only_one_of_them_went_through_stands_alone_and_is_marked() -> None:
    found = Beside(
        side="elr=on",
        one=on("kafka", (WHOLE, TWO, LAST), verdicts=("valid",)),
        other=on("node", (WHOLE, OTHER_TWO, LAST, WHOLE), verdicts=("invalid",)),
    )
    assert found.rows("t-0") == [(WHOLE, WHOLE), (TWO, OTHER_TWO), (LAST, LAST), ("", WHOLE)]
    lines = list(as_lines(found))
    assert lines[1:3] == [
        "  verdicts differ: kafka valid; node invalid",
        "  t-0: states of leader, ISR and ELR differ",
    ]
    assert [line[:4] for line in lines[3:]] == ["    ", "  ! ", "    ", "  ! "]


def test_a_run_of_the_other_that_went_the_same_way_is_no_difference() -> None:
    one = on("kafka", (WHOLE, TWO))
    found = Beside(side="x", one=one, other=on("node", (WHOLE, OTHER_TWO), (WHOLE, TWO)))
    assert not found.differs_in("t-0")


def side(target: str, state: str) -> ComparedSide:
    run = SideRun(
        judgement=replace(judgement(VALID), verdict=Verdict.VALID),
        href="r.html",
        command="again",
        took_s=1.0,
        changes={"t-0": (WHOLE, state)},
    )
    return ComparedSide(
        name="elr=on",
        promise="none is lost",
        expected=Expectation(verdict=Verdict.VALID),
        runs=(run,),
        target=target,
    )


def test_the_page_has_a_column_for_each_target_and_their_changes() -> None:
    page = render_comparison("s", "what happens", (side("kafka", TWO), side("node", LAST)), "x")
    assert ">elr=on, kafka</th>" in page
    assert "elr=on: kafka and node" in page
    assert page.count('<tr class="bad">') == 1
    assert beside([side("", TWO)]) == []
