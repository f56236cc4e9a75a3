"""Refusals of partition leaders, with the possible states of the partition when they were sent: by
the metadata log, brokers' answers, and times."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Timeline
from checkers.evidence.isr_history import LAG_NS, IsrHistory, isr_histories
from checkers.evidence.partition_logs import columns, split
from checkers.partitions.leaders import names, state
from checkers.partitions.replica_agreement import NEED
from checkers.verdict import CheckResult

_HISTORY = f"{NEED}, the metadata log, and what clients asked for"


class LookedAmong(NamedTuple):
    """The operations among which an error is looked for: of one kind, and their number, which is
    more than were refused."""

    f: str
    number: int
    unit: str


class Refused(NamedTuple):
    """Refusals on one partition, where `node` was asked first."""

    key: str
    node: int
    rows: pa.Table
    t0: Ints
    t1: Ints
    history: IsrHistory


Untrue = Callable[[Evidence, Timeline, Refused], NDArray[np.bool_]]


def judged(
    evidence: Evidence, error: str, untrue: Untrue, *, asked: LookedAmong | None = None, holds: str
) -> CheckResult:
    """Every answer of this error to sends, or to the operations `asked`; `untrue` says which cannot
    have been true. Without `asked`, only these answers are looked at."""
    found = evidence.timeline
    if found is None:
        return unread("refusals", _HISTORY)
    said = 0
    violations: list[Violation] = []
    for refused in _refusals(evidence, error, "send" if asked is None else asked.f):
        said += refused.rows.num_rows
        false = untrue(evidence, found, refused)
        violations += [_told(refused, error, at) for at in np.flatnonzero(false).tolist()]
    return conclude(
        looked_at=said if asked is None else asked.number,
        unit=f"answers of {error}" if asked is None else asked.unit,
        violations=violations,
        needs=_HISTORY,
        holds=holds if asked is None else f"{said:,} were answered {error}, {holds}",
        algorithm="states of a partition that a leader may have known, by metadata log and probes",
        nothing=f"no node answered {error} to a client" if asked is None else f"no {asked.unit}",
    )


def known_states(refused: Refused, nodes: Collection[int]) -> tuple[Ints, Ints]:
    """The first and the last state that any of these may have been based on; the first may be
    HIDDEN."""
    history, before = refused.history, refused.t0 - LAG_NS
    known = [history.known_before(node, before) for node in nodes]
    low: Ints = np.min(known, axis=0) if known else np.full(len(before), history.first)
    return low, np.maximum(history.last_by(refused.t1), np.maximum(low, 0))


def sums(these: NDArray[np.bool_]) -> Ints:
    """Prefix sums."""
    found: Ints = np.concatenate([[0], np.cumsum(these)])
    return found


def _refusals(evidence: Evidence, error: str, of: str) -> Iterator[Refused]:
    ops = evidence.tables["ops"]
    said = ops.filter(pc.and_(pc.equal(ops["f"], of), pc.equal(ops["error"], error)))
    said = said.filter(pc.and_(said["t1"].is_valid(), pc.greater_equal(said["node"], 0)))
    histories = evidence.once(isr_histories)
    for (name, node), rows in sorted(split(said, "key", "node").items()):
        history = histories.get(str(name))
        if history is not None:
            t0, t1 = columns(rows, "t0", "t1")
            yield Refused(str(name), int(node), rows, t0, t1, history)


def _told(refused: Refused, error: str, at: int) -> Violation:
    row = refused.rows.slice(at, 1).to_pylist()[0]
    history = refused.history
    lows, highs = known_states(refused, set(history.answered))
    low, high = max(int(lows[at]), 0), int(highs[at])
    current = history.states[high]
    text = f"{refused.key}: node {refused.node} answered {error}, and node {current.leader} led in "
    text += f"epoch {current.leader_epoch}, with the ISR [{names(current.isr)}]; min ISR is "
    text += f"{int(history.min_isr[high])}"
    asked = {"what": f"answered {error}", "t_ns": row["t0"], "op_id": row["op_id"]}
    known = [
        {
            "what": "state of the ISR",
            "offset": int(history.offsets[place]),
            **state(history.states[place]),
        }
        for place in range(low, high + 1)
    ]
    return Violation(text, [asked, *known])
