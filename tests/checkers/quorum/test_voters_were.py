"""What leaders tell of the voters, against the sets of the logs, by hand."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.history.tables import PROBES
from checkers.quorum.voters_were import described_voters_were
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, NodeTrace, Row, disk, make_run, op
from tests.support.voter_logs import FIRST, control, key, log, told, whole

VALID, INVALID = Verdict.VALID, Verdict.INVALID
ONE, TWO, THREE, FOUR = (f"{node}:dir-{node}" for node in (1, 2, 3, 4))
NODES = (1, 2, 3)


def answer(at: int, *voters: str, node: int = 1, epoch: int = 1) -> Row:
    head = {"t0": at * MS, "t1": at * MS + MS, "node": node, "kind": "quorum"}
    named = {"detail": json.dumps({"voters": list(voters)})}
    return {**head, "key": "__cluster_metadata-0", "leader": node, "epoch": epoch, **named}


def change(f: str, invoke: int, complete: int | None, replica: str, **rest: object) -> Row:
    return op(f"{f}-voter", None, invoke, complete, key=replica, **rest)  # type: ignore[arg-type]  # typed in `op`


def judged(answers: list[Row], *ops: Row, traces: list[NodeTrace] | None = None) -> CheckResult:
    """Epoch 1 begins with nodes 1, 2, 3, of which 3 is removed at 50; epoch 3 begins at 60."""
    records = whole(NODES, 1, FIRST)
    records += control(NODES, 50, "RemoveVoter", told(key(3)))
    for epoch, at, leader in ((1, 0, 1), (3, 60, 2)):
        changed = control(NODES, at, "LeaderChange", {}, epoch)
        records += [{**row, "leader": leader} for row in changed]
    run = make_run(
        batches=log(NODES, (0, 59, 1), (60, 99, 3)),
        records=records,
        disks=[disk(node, log_end=100) for node in NODES],
        ops=list(ops),
        traces=traces or (),
        target="node test" if traces else "kafka 4.3.1",
    )
    probes = pa.Table.from_pylist(answers, schema=PROBES)
    return described_voters_were(replace(run, tables={**run.tables, "probes": probes}))


FITTING = {
    "one set after the other": [answer(1, ONE, TWO, THREE), answer(9, ONE, TWO)],
    "the next leader": [answer(1, ONE, TWO, node=2, epoch=3)],
    "who leads an epoch of which nothing is left": [answer(1, ONE, TWO, node=3, epoch=2)],
    "and may have lacked the last change": [answer(1, ONE, TWO, THREE, node=3, epoch=2)],
    "at one time": [answer(1, ONE, TWO), {**answer(1, ONE, TWO, THREE), "t1": 3 * MS}],
}


@pytest.mark.parametrize("answers", FITTING.values(), ids=FITTING.keys())
def test_sets_that_were_in_force(answers: list[Row]) -> None:
    assert judged(answers).verdict is VALID


BROKEN = {
    "nobody asked for it": [answer(1, ONE)],
    "one that never voted": [answer(1, ONE, TWO, THREE, FOUR)],
    "with another disk": [answer(1, ONE, "2:other", node=2, epoch=3)],
    "of an earlier epoch": [answer(1, ONE, TWO, THREE, node=2, epoch=3)],
    "it goes back": [answer(1, ONE, TWO), answer(9, ONE, TWO, THREE)],
    "another node led": [answer(1, ONE, TWO, THREE, node=2)],
}


@pytest.mark.parametrize("answers", BROKEN.values(), ids=BROKEN.keys())
def test_sets_that_were_not(answers: list[Row]) -> None:
    assert judged(answers).verdict is INVALID


def test_a_change_that_did_not_stay() -> None:
    asked = change("add", 2, 8, FOUR, outcome="info")
    assert judged([answer(5, ONE, TWO, FOUR)], asked).verdict is VALID
    assert judged([answer(5, ONE, TWO, THREE, FOUR)], asked).verdict is INVALID  # not on the last
    assert judged([answer(0, ONE, TWO, FOUR)], asked).verdict is INVALID  # not asked for yet
    refused = change("add", 2, 8, FOUR, outcome="fail")
    assert judged([answer(5, ONE, TWO, FOUR)], refused).verdict is INVALID


def test_what_was_over_before_it_led_is_in_its_log_or_nowhere() -> None:
    asked = change("add", 2, 8, FOUR)
    leads = NodeTrace(2).start().state("leader", 3, leader=2, at=20 * MS)
    late = [answer(30, ONE, TWO, FOUR, node=2, epoch=3)]
    assert judged(late, asked, traces=[leads]).verdict is INVALID
    assert judged(late, change("add", 22, 28, FOUR), traces=[leads]).verdict is VALID


def test_who_tells_had_traced_that_it_leads() -> None:
    leads = NodeTrace(2).start().state("leader", 3, leader=2, at=20 * MS)
    assert judged([answer(30, ONE, TWO, node=2, epoch=3)], traces=[leads]).verdict is VALID
    early = judged([answer(10, ONE, TWO, node=2, epoch=3)], traces=[leads])
    assert early.verdict is INVALID
    assert early.message.endswith("had not traced that it leads")


def test_epochs_of_one_node_never_go_back() -> None:
    later = [answer(1, ONE, TWO, epoch=2), answer(9, ONE, TWO, THREE)]
    result = judged(later)
    assert result.verdict is INVALID
    assert result.message == (
        "node 1 answers that it leads epoch 1, but had answered epoch 2 before"
    )
    assert (
        judged([answer(1, ONE, TWO, node=3, epoch=2), answer(9, ONE, TWO, THREE)]).verdict is VALID
    )


@pytest.mark.parametrize(("told_mark", "verdict"), [(61, VALID), (62, INVALID)])
def test_a_high_watermark_is_traced_before_it_is_told(told_mark: int, verdict: Verdict) -> None:
    leads = NodeTrace(2).start().state("leader", 3, leader=2, at=20 * MS).hwm(61, 3)
    leads.emit("q.hwm", 90 * MS, hwm=70, epoch=3, role="leader")
    row = answer(30, ONE, TWO, node=2, epoch=3) | {"high_watermark": told_mark}
    assert judged([row], traces=[leads]).verdict is verdict
