"""Who is up and connected gets what the leader appends, within a bounded time."""

import pytest

from checkers.history.sealed_run import Run
from checkers.quorum.log_matching import followers_keep_up
from checkers.verdict import Verdict
from tests.support.histories import MS, NodeTrace, Row, fault, make_run, write
from tests.support.judged import saw_nothing

SECOND = 1000 * MS
BATCH = (10, 12, 1)  # base, last, epoch


def leading() -> NodeTrace:
    trace = NodeTrace(1).start().state("leader", 1, leader=1, at=SECOND)
    trace.clock = 10 * SECOND
    return ended(trace.append(*BATCH))


def following(node: int, at_s: float | None) -> NodeTrace:
    trace = NodeTrace(node).start().state("follower", 1, leader=1, at=SECOND)
    if at_s is not None:
        trace.clock = int(at_s * SECOND)
        trace.append(*BATCH, role="follower")
    return ended(trace)


def ended(trace: NodeTrace) -> NodeTrace:
    return trace.emit("n.stop", 61 * SECOND, code=0, reason="stopped")


def run(late: float | None, *faults: Row, begin_ms: int = 9_500, runtime: str = "sim") -> Run:
    ops = [write(1, 0, 1) | {"t0": begin_ms * MS, "t1": (begin_ms + 1) * MS}]
    traces = [leading(), following(2, 10.1), following(3, late)]
    return make_run(ops=ops, traces=traces, faults=faults, duration_ns=60 * SECOND, runtime=runtime)


@pytest.mark.parametrize(
    ("late", "runtime", "verdict"),
    [
        (10.2, "sim", Verdict.VALID),
        (13.4, "sim", Verdict.VALID),
        (13.6, "sim", Verdict.INVALID),
        (13.6, "docker", Verdict.VALID),  # a busy machine may be the reason
        (None, "sim", Verdict.INVALID),
        (None, "docker", Verdict.INVALID),
    ],
)
def test_a_follower_has_four_seconds(late: float | None, runtime: str, verdict: Verdict) -> None:
    result = followers_keep_up(run(late, runtime=runtime))
    assert (result.verdict, result.looked_at) == (verdict, 2), result.message


def test_who_is_hurt_need_not_keep_up() -> None:
    cut = fault(1, "partition", 9_000, 60_000) | {"nodes": [3]}
    cut |= {"links": ["3->1", "1->3", "3->2", "2->3"]}
    result = followers_keep_up(run(None, cut))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)
    slow = fault(1, "slow-links", 9_000, 60_000)
    assert saw_nothing(followers_keep_up(run(None, slow)))


def test_after_the_cure_it_has_to() -> None:
    cut = fault(1, "kill", 2_000, 9_500) | {"nodes": [2]}
    assert followers_keep_up(run(None, cut)).verdict is Verdict.INVALID


def test_where_leadership_moved_nothing_is_said() -> None:
    found = run(None)
    moved = NodeTrace(2, directory="other").start().state("candidate", 2, voted=2, at=20 * SECOND)
    traces = [leading(), following(2, 10.1), following(3, None), moved]
    assert saw_nothing(followers_keep_up(make_run(ops=found.tables["ops"].to_pylist(),
        traces=traces, duration_ns=60 * SECOND, runtime="sim")))  # fmt: skip
