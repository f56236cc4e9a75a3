"""In calm a cluster serves: undisturbed operations succeed, all the time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.starvation import Suspicion, sort_out
from checkers.history.asked import asked_by_clients
from checkers.history.events import ACCEPTED, REFUSED, UNANSWERED
from checkers.quorum.leadership import bounds_of
from checkers.run.silence import SECOND, main_ends
from checkers.verdict import CheckResult, EventValue, counted

# Shares of operations in calm that have to succeed. Some reads of registers go to any controller,
# and one that does not lead refuses them.
LEAST_SHARE = 0.75
LEAST_SHARE_OF_READS = 0.2
ENOUGH = 50  # of a kind
LONGEST_S = {"sim": 3.0}  # without a success
LONGEST_REAL_S = 10.0
TIMES_THE_PACE = 20  # if clients ask seldom
# After the first success: a client that has just started looks for leaders and coordinators.
COMES_UP_S = {"sim": 1.0}
COMES_UP_REAL_S = 10.0
SETTLES_REAL_S = 30.0  # as Kafka waits by default before it gives up a silent peer
_SHOWN = ("process", "node", "f", "key", "outcome", "error")


class Quiet(NamedTuple):
    """A time in which nothing was wrong, in ns."""

    begin: int
    end: int


@check(
    "serves-in-calm",
    applies=everywhere,
    source="KIP-595: a leader that a majority follows serves; no error code is a state of calm",
    rests_on=(Kind.FAULTS, Kind.OPERATIONS),
)
def serves_in_calm(evidence: Evidence) -> CheckResult:
    """In calm clients' operations succeed: three quarters of each kind that is invoked 50 times, a
    fifth of the reads that any controller may get, and at least one every 3 s.

    In real time, every 10 s; if clients ask seldom, within 20 times their usual interval. Calm is
    from a second after the first success (10 s in real time) to the first fault, and from some time
    after the last cure, in which a leader has to be elected, to the end of the load; not if a
    process ended by itself, or the cluster did not heal, which others judge. Requests that have to
    be refused do not count. If the machine was starved in that time, the run is an error.
    """
    main = _asked(evidence)
    looked_at, found = 0, list[Suspicion]()
    for calm in _calm(evidence, main):
        inside = main.filter(
            pc.and_(
                pc.greater_equal(main["t0"], calm.begin),
                pc.less(pc.coalesce(main["t1"], main["t0"]), calm.end),
            )
        )
        for kind in sorted(inside["f"].unique().to_pylist()):
            of_kind = inside.filter(pc.equal(inside["f"], kind))
            if of_kind.num_rows >= ENOUGH:
                looked_at += of_kind.num_rows
                found += _unserved(evidence, kind, of_kind, calm)
    told = sort_out(evidence.info, found)
    return conclude(
        looked_at=looked_at,
        unit="operations in calm",
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs="operations",
        holds="clients were served all the time",
        algorithm="shares and gaps of successes by kind, away from faults",
        nothing=f"no kind of operation was invoked {ENOUGH} times in calm",
    )


def _asked(evidence: Evidence) -> pa.Table:
    """Operations of the main phase, without those that have to be refused or usually fail."""
    ops = asked_by_clients(evidence.tables["ops"])
    main = ops.filter(pc.equal(ops["phase"], "main"))
    error = pc.fill_null(main["error"], "")
    for beginning in (REFUSED, ACCEPTED, UNANSWERED):
        main = main.filter(pc.invert(pc.starts_with(error, beginning)))
        error = pc.fill_null(main["error"], "")
    return main.filter(pc.not_equal(main["f"], "alter-configs"))


def _calm(evidence: Evidence, main: pa.Table) -> Iterator[Quiet]:
    info, simulated = evidence.info, evidence.info.is_simulated
    done = main.filter(pc.equal(main["outcome"], "ok"))
    if not done.num_rows:
        return
    end = main_ends(evidence)
    for ended in info.unasked_ends:
        end = min(end, int(ended["t_ns"]))
    comes_up = COMES_UP_S.get(info.runtime, COMES_UP_REAL_S)
    begin = int(pc.min(done["t1"]).as_py()) + int(comes_up * SECOND)
    first = min((fault.t_start for fault in evidence.faults), default=end)
    yield Quiet(begin, min(first, end))
    if evidence.faults and not info.stuck and evidence.lost_majority is None:
        last = max(fault.over_ns for fault in evidence.faults)
        settles = bounds_of(evidence).leader_within_s
        settles = settles if simulated else max(settles, SETTLES_REAL_S)
        yield Quiet(max(min(last, end) + int(settles * SECOND), begin), end)


def _unserved(evidence: Evidence, kind: str, ops: pa.Table, calm: Quiet) -> Iterator[Suspicion]:
    tried = ops.num_rows
    ok = ops.filter(pc.equal(ops["outcome"], "ok"))
    least = LEAST_SHARE_OF_READS if kind == "read" else LEAST_SHARE
    failed = ops.filter(pc.not_equal(ops["outcome"], "ok"))
    if ok.num_rows < least * tried:
        text = (
            f"of {counted(tried, kind)} in calm {ok.num_rows:,} succeeded, though nothing was wrong"
        )
        violation = Violation(f"{text}; {_why(failed)}", _rows(failed))
        yield Suspicion(violation, calm.begin, calm.end)
    longest = LONGEST_S.get(evidence.info.runtime, LONGEST_REAL_S) * SECOND
    longest = max(longest, TIMES_THE_PACE * (calm.end - calm.begin) / tried)
    begin, end = _longest_without(ops["t0"].to_numpy(), ok["t1"].to_numpy(), calm)
    if end - begin > longest:
        inside = pc.and_(pc.greater_equal(failed["t0"], begin), pc.less(failed["t0"], end))
        between = failed.filter(inside)
        if between.num_rows:
            text = f"no {kind} succeeded for {(end - begin) / SECOND:.1f} s in calm, though "
            text += f"{counted(between.num_rows, 'was', 'were')} asked for; {_why(between)}"
            yield Suspicion(Violation(text, _rows(between)), begin, end)


def _longest_without(asked: Ints, succeeded: Ints, calm: Quiet) -> tuple[int, int]:
    """The longest time without a success, counted from the first invocation in it."""
    marks = np.concatenate([[calm.begin], np.sort(succeeded), [calm.end]])
    at = np.searchsorted(asked, marks[:-1])
    begins = np.append(asked, calm.end)[at]
    gaps = marks[1:] - np.minimum(begins, marks[1:])
    widest = int(np.argmax(gaps))
    return int(min(begins[widest], marks[widest + 1])), int(marks[widest + 1])


def _why(failed: pa.Table) -> str:
    errors = failed["error"].value_counts().to_pylist()
    if not errors:
        return "the others were not answered"
    most = max(errors, key=lambda row: row["counts"])
    return f"most often the answer was {most['values']}"


def _rows(failed: pa.Table) -> Sequence[dict[str, EventValue]]:
    return [
        {"what": "asked for in calm", "t_ns": row["t0"], "t1_ns": row["t1"]}
        | {name: row[name] for name in _SHOWN}
        for row in failed.slice(0, 20).to_pylist()
    ]
