"""Appends begin where logs end, by hand."""

import pytest

from checkers.quorum.committed_kept import appends_follow_the_log
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, make_run
from tests.support.judged import saw_nothing


def appended(trace: NodeTrace, *bases: int) -> NodeTrace:
    for base in bases:
        trace.emit("q.append", base=base, last=base + 1, epoch=1, crc=base, role="follower")
    return trace


@pytest.mark.parametrize(
    ("bases", "said"),
    [
        ((4, 6, 8), ""),
        ((4, 6, 6), "no line says that it was truncated"),
        ((4, 8), "the records between are missing"),
        ((2,), "no line says that it was truncated"),
    ],
)
def test_where_a_log_ends(bases: tuple[int, ...], said: str) -> None:
    found = appends_follow_the_log(make_run(traces=[appended(NodeTrace(1).start(4), *bases)]))
    assert found.looked_at == len(bases)
    assert (said in found.message) == (found.verdict is Verdict.INVALID) or not said
    assert (found.verdict is Verdict.INVALID) == bool(said)


def test_what_is_cut_off_or_replaced_may_be_written_again() -> None:
    trace = appended(NodeTrace(1).start(4), 4, 6).emit("q.truncate", end=6, hwm=5, role="follower")
    trace = appended(trace, 6).emit("q.loaded", end=30, epoch=2)
    trace = appended(trace, 30).restart(32)
    found = appends_follow_the_log(make_run(traces=[appended(trace, 32)]))
    assert (found.verdict, found.looked_at) == (Verdict.VALID, 5)


def test_without_appends_there_is_nothing_to_judge() -> None:
    assert saw_nothing(appends_follow_the_log(make_run(traces=[NodeTrace(1).start()])))
