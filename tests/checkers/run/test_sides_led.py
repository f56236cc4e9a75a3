"""In one quorum of two programs, each of them is to lead."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from chaos.scenarios.releases import MIXED_BROKER, MIXED_QUORUM, MIXED_STATIC
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import Run
from checkers.history.tables import LOG_ERRORS, LOG_RECORDS, PROBES
from checkers.run.sides_led import (
    EACH_SIDE_CREATES,
    EACH_SIDE_LEADS,
    each_side_created_topics,
    each_side_led,
)
from checkers.suite import CHECKS
from checkers.verdict import Verdict
from tests.support.histories import MS, NodeTrace, make_run, run_info

GIVES = (Kind.OPERATIONS, Kind.FAULTS, Kind.METADATA_LOGS, Kind.QUORUM_PROBES, Kind.NODE_LOGS)
LATER = 5_000  # ms; when node 3 began once more


def run_of(
    leaders: Sequence[tuple[int, int, int]],
    *,
    later: str = "Apache Kafka",
    starts: int = 2,
    gives: Sequence[Kind] = GIVES,
) -> Run:
    """`leaders`: when a probe was answered in ms, who led and in which epoch. Nodes 1 and 2 are
    ours, 3 is Apache Kafka's, and what it is `later`; it was seen to start so often."""
    ours = [NodeTrace(node).start() for node in (1, 2)]
    began = [1_000, LATER]
    if later != "Apache Kafka":
        ours.append(NodeTrace(3).start(at=began.pop() * MS))
    kafka = [{"node": 3, "t": t * MS, "level": "INFO", "text": "", "cause": None} for t in began]
    probes = [
        {"t0": t * MS, "t1": t * MS, "node": 1, "kind": "quorum", "leader": node, "epoch": epoch}
        for t, node, epoch in leaders
    ]
    run = make_run(traces=ours, gives=gives, starts={"1": 1, "2": 1, "3": starts})
    tables = {
        "probes": pa.Table.from_pylist(probes, schema=PROBES),
        "log_errors": pa.Table.from_pylist(kafka, schema=LOG_ERRORS),
    }
    return replace(run, tables={**run.tables, **tables})


def test_where_both_led_it_holds() -> None:
    result = each_side_led(run_of([(2_000, 1, 4), (2_500, 1, 4), (3_000, 3, 5), (6_000, 2, 7)]))
    assert result.verdict is Verdict.VALID
    assert result.message == "leaders: our node in 2 epochs, Apache Kafka in 1 epoch"


@pytest.mark.parametrize(
    ("leaders", "who"),
    [
        ([(2_000, 1, 4), (6_000, 2, 5)], "Apache Kafka"),
        ([(2_000, 3, 4), (6_000, 3, 5)], "our node"),
        ([], "our node or Apache Kafka"),
        ([(2_000, -1, 3), (500, 3, 3)], "our node or Apache Kafka"),  # nobody; before it began
    ],
)
def test_a_run_in_which_one_never_led_is_void(
    leaders: list[tuple[int, int, int]], who: str
) -> None:
    result = each_side_led(run_of(leaders))
    assert result.verdict is Verdict.VOID
    assert result.message == f"no answer to a probe says that {who} leads"


@pytest.mark.parametrize(("at", "verdict"), [(3_000, Verdict.VALID), (6_000, Verdict.VOID)])
def test_a_node_that_changed_sides_leads_as_what_it_is_then(at: int, verdict: Verdict) -> None:
    run = run_of([(2_000, 1, 4), (at, 3, 5)], later="our node")
    assert each_side_led(run).verdict is verdict


def test_where_a_log_is_not_there_nobody_knows() -> None:
    lacking = run_of([(2_000, 1, 4)], starts=9)
    assert each_side_led(lacking).verdict is Verdict.UNKNOWN


BOTH_LED = ((2_000, 1, 4), (3_000, 3, 5))


def created(epochs: Sequence[int], *, starts: int = 2) -> Run:
    """A topic in each of these epochs, in the logs of two nodes; ours leads 4, and Kafka's 5."""
    gives = [each for each in GIVES if each is not Kind.METADATA_LOGS]  # of which these are a part
    run = run_of(BOTH_LED, starts=starts, gives=gives)
    rows = [
        {"node": node, "offset": 10 + number, "epoch": epoch, "type": "Topic"}
        for number, epoch in enumerate(epochs)
        for node in (1, 2)
    ]
    rows.append({"node": 1, "offset": 1, "epoch": 5, "type": "NoOp"})
    records = pa.Table.from_pylist(rows, schema=LOG_RECORDS)
    return replace(run, tables={**run.tables, "log_records": records})


def test_topics_are_counted_once_by_who_led_as_they_were_created() -> None:
    result = each_side_created_topics(created([4, 4, 5, 6]))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 4)
    assert result.message == "2 topics by our node, 1 topic by Apache Kafka"


@pytest.mark.parametrize(
    ("epochs", "who"),
    [([4], "Apache Kafka"), ([5], "our node"), ([6], "our node or Apache Kafka")],
)
def test_where_one_served_no_broker_the_run_is_void(epochs: list[int], who: str) -> None:
    result = each_side_created_topics(created(epochs))
    assert result.verdict is Verdict.VOID
    assert result.message == f"no topic was created while {who} was known to lead"
    assert each_side_created_topics(created(epochs, starts=9)).verdict is Verdict.UNKNOWN
    without_logs = replace(created(epochs), info=replace(created(epochs).info, gives=GIVES))
    assert each_side_created_topics(without_logs).verdict is Verdict.UNKNOWN


def test_it_judges_what_is_about_that_and_nothing_else() -> None:
    """No event of a trace is looked for then."""
    rows = {each.id: each for each in CHECKS}
    about, other = run_info(gives=GIVES, to_show=(EACH_SIDE_LEADS,)), run_info(gives=GIVES)
    assert rows["each-side-led"].applies(about)
    assert not rows["each-side-led"].applies(other)
    assert not rows["came-about"].applies(about)
    assert all(each.to_show == (EACH_SIDE_LEADS,) for each in (MIXED_QUORUM, MIXED_STATIC))
    of_brokers = run_info(gives=GIVES, to_show=MIXED_BROKER.to_show)
    assert EACH_SIDE_CREATES in MIXED_BROKER.to_show
    assert rows["each-side-led"].applies(of_brokers)
    assert rows["each-side-created-topics"].applies(of_brokers)
    assert not rows["each-side-created-topics"].applies(about)
    assert not rows["came-about"].applies(of_brokers)
