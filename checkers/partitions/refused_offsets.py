"""Brokers' refusals of offsets and sequences: OFFSET_OUT_OF_RANGE and OUT_OF_ORDER_SEQUENCE_NUMBER
are true when they are sent.

In virtual time the log is known at the step of the answer. From outside it is known by clients'
earlier answers: every record below a high watermark, or acknowledged by the ISR, is in the log of
each member of the ISR, and of any leader elected from it. A fault that may have taken bytes from a
log, an election outside the ISR and a deletion end that; the answer is then not judged.

Refusals of partition leaders, with the possible states of the partition when they were sent: by
the metadata log, brokers' answers, and times.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import NO_LEADER, Timeline
from checkers.evidence.isr_history import HIDDEN, LAG_NS, IsrHistory, isr_histories
from checkers.evidence.log_starts import AskedStarts
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.promised import topic_of
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


OUT_OF_RANGE, OUT_OF_ORDER = "OFFSET_OUT_OF_RANGE", "OUT_OF_ORDER_SEQUENCE_NUMBER"
_RESTS_ON = (
    Kind.OPERATIONS,
    Kind.FAULTS,
    Kind.METADATA_LOGS,
    Kind.PARTITION_LOGS,
    Kind.PARTITION_PROBES,
)
_NOWHERE = -1

_Flags = NDArray[np.bool_]


@check(
    "out-of-range-is-outside",
    applies=of_partition_logs,
    source="Fetch: LocalLog.read; KAFKA-7897, KIP-207",
    rests_on=_RESTS_ON,
)
def out_of_range_is_outside(evidence: Evidence) -> CheckResult:
    """A broker does not answer OFFSET_OUT_OF_RANGE for an offset at or above its log's start, and
    below which clients had been answered that records are committed.

    They were answered by a high watermark, or an acknowledgement of all in-sync replicas, that came
    before the request was sent. For a broker that is in the ISR in each state that it may have
    known, by its own answers, and in each that may have been committed by the end of the operation:
    it has the committed records, also if it does not lead. Not judged: after a fault that may have
    taken bytes from any log; if unclean elections or a deletion up to there were asked for; if the
    broker's own log, on its disk, begins above the offset or ends before it; polls of clients that
    do not report their offset. Needs: ops, spans, faults, log_records, probes, replicas.
    """
    ops = evidence.tables["ops"]
    polls = _answered(ops.filter(pc.and_(pc.equal(ops["f"], "poll"), pc.is_valid(ops["value"]))))
    asked = LookedAmong("poll", polls.num_rows, "polls at an offset that their client tells")
    return judged(evidence, OUT_OF_RANGE, _is_inside, asked=asked, holds="each as may be true")


@check(
    "out-of-order-does-not-follow",
    applies=of_partition_logs,
    source="KIP-98, KIP-360: ProducerAppendInfo.checkSequence",
    rests_on=_RESTS_ON,
)
def out_of_order_does_not_follow(evidence: Evidence) -> CheckResult:
    """A broker does not answer OUT_OF_ORDER_SEQUENCE_NUMBER to a batch that follows the producer's
    last acknowledged one.

    A producer has one batch in flight, and a new id after each that did not succeed: it sends the
    first of its id, or what follows its last acknowledged one, and its leader has that, for it was
    on the ISR. A leader that knows nothing of a producer takes any sequence (KIP-360), so an
    expired producer is no excuse. If one broker leads in each state that any broker may have known,
    by their own answers, and in each that may have been committed by the end: a leader that was
    deposed may lack what its successor acknowledged. Not judged: after a fault that may have taken
    bytes from any log; if unclean elections were asked for, the log's beginning may have been
    deleted, or producers are forgotten sooner than usual; if the leader's disk lacks the batch that
    was acknowledged before. Needs: ops, spans, faults, log_records, probes, replica_spans.
    """
    idempotent = pa.array(sorted(_idempotent_sends(evidence)), pa.int64())
    ops = evidence.tables["ops"]
    sends = _answered(ops.filter(pc.is_in(ops["op_id"], idempotent)))
    asked = LookedAmong("send", sends.num_rows, "sends of idempotent producers")
    return judged(evidence, OUT_OF_ORDER, _follows, asked=asked, holds="each as may be true")


def _answered(ops: pa.Table) -> pa.Table:
    """Operations with a known broker."""
    return ops.filter(pc.and_(ops["t1"].is_valid(), pc.greater_equal(ops["node"], 0)))


# --- OFFSET_OUT_OF_RANGE ---


def _is_inside(evidence: Evidence, _: Timeline, refused: Refused) -> _Flags:
    none = np.zeros(len(refused.t0), np.bool_)
    if _is_not_promised(evidence, refused.key):
        return none
    asked = refused.rows["value"].fill_null(_NOWHERE).to_numpy().astype(np.int64)
    outside = sums(np.array([refused.node not in one.isr for one in refused.history.states]))
    low, high = known_states(refused, (refused.node,))
    is_member = (outside[high + 1] == outside[low]) & (low != HIDDEN)
    told = evidence.once(_answered_ends).get(refused.key)
    if told is None:
        return none
    first = evidence.once(AskedStarts).at_the_end(refused.key)
    begins, ends = _on_disk(evidence, refused)
    is_there = (asked >= max(first, begins, 0)) & (asked <= np.minimum(told.by(refused.t0), ends))
    inside: _Flags = is_there & is_member & ~_may_lack(evidence, refused)
    return inside


class _AnsweredEnds:
    """For one log: the offset below which clients knew that all is committed, at any time."""

    def __init__(self, t1: Ints, end: Ints) -> None:
        order = np.argsort(t1, kind="stable")
        self._t1 = t1[order]
        self._end = np.maximum.accumulate(end[order])

    def by(self, t0: Ints) -> Ints:
        """The highest such offset in answers before something began; -1 if there was none."""
        before = np.searchsorted(self._t1, t0, side="left")
        found: Ints = np.concatenate([[_NOWHERE], self._end])[before]
        return found


def _answered_ends(evidence: Evidence) -> Mapping[str, _AnsweredEnds]:
    """By partition. By `evidence.once`."""
    spans, sent = evidence.tables["spans"], evidence.acknowledged
    marks = spans.filter(pc.and_(pc.invert(spans["sent"]), pc.is_valid(spans["high_watermark"])))
    ends = pc.add(sent["offset"], pc.cast(sent["records"], pa.int64()))
    told = pa.concat_tables([_ends(marks, marks["high_watermark"]), _ends(sent, ends)])
    ops = evidence.tables["ops"]
    is_ok = pc.equal(ops["outcome"], "ok").to_numpy()[told["op_id"].to_numpy()]
    told = told.filter(pa.array(is_ok))
    t1 = ops["t1"].take(told["op_id"])
    return {
        str(key): _AnsweredEnds(*columns(part, "t1", "end"))
        for (key,), part in split(told.append_column("t1", t1), "key").items()
    }


def _ends(spans: pa.Table, ends: pa.ChunkedArray) -> pa.Table:
    return pa.table({"op_id": spans["op_id"], "key": spans["key"], "end": ends})


def _on_disk(evidence: Evidence, refused: Refused) -> tuple[int, int]:
    """The beginning and end of the broker's log; nowhere, if its disk does not have it."""
    replicas = evidence.tables["replicas"]
    mine = pc.and_(pc.equal(replicas["node"], refused.node), pc.equal(replicas["key"], refused.key))
    rows = replicas.filter(mine).to_pylist()
    if len(rows) != 1 or not rows[0]["whole"]:
        return 0, _NOWHERE
    return int(rows[0]["log_start"]), int(rows[0]["log_end"])


# --- OUT_OF_ORDER_SEQUENCE_NUMBER ---


def _follows(evidence: Evidence, _: Timeline, refused: Refused) -> _Flags:
    none = np.zeros(len(refused.t0), np.bool_)
    may_begin = evidence.once(AskedStarts).at_the_end(refused.key)
    if _is_not_promised(evidence, refused.key) or may_begin > 0 or _forgets_producers(evidence):
        return none
    history = refused.history
    leaders = np.array([one.leader for one in history.states], np.int64)
    low, high = known_states(refused, set(history.answered))
    changes = sums(np.concatenate([[False], leaders[1:] != leaders[:-1]]))
    is_one = (changes[high + 1] == changes[low + 1]) & (leaders[low] != NO_LEADER)
    is_one &= low != HIDDEN
    untrue = is_one & ~_may_lack(evidence, refused)
    idempotent, before = _idempotent_sends(evidence), evidence.once(_sends_before)
    for at in np.flatnonzero(untrue).tolist():
        op_id = refused.rows["op_id"][at].as_py()
        last = before.get(op_id)
        untrue[at] = op_id in idempotent and (
            last is None or _holds(evidence, int(leaders[high[at]]), refused.key, last)
        )
    found: _Flags = untrue
    return found


def _forgets_producers(evidence: Evidence) -> bool:
    return "producer.id.expiration.ms" in evidence.info.settings


def _idempotent_sends(evidence: Evidence) -> set[int]:
    spans = evidence.tables["spans"]
    return set(spans.filter(pc.fill_null(spans["idempotent"], False))["op_id"].to_pylist())


_Sent = tuple[int, int, int]  # offset, value and records of an acknowledged span


def _sends_before(evidence: Evidence) -> Mapping[int, _Sent]:
    """For each refused send, the last acknowledged one of its producer id, in its partition, if
    there is one. By `evidence.once`."""
    ops = evidence.tables["ops"]
    sends = ops.filter(pc.equal(ops["f"], "send")).sort_by("invoke_index")
    sent = {row["op_id"]: row for row in evidence.acknowledged.to_pylist()}
    of_id: dict[int, dict[str, _Sent]] = {}  # by process, then by partition
    found = {}
    for row in sends.select(["op_id", "process", "key", "outcome", "error"]).to_pylist():
        known = of_id.setdefault(row["process"], {})
        if row["error"] == OUT_OF_ORDER and row["key"] in known:
            found[row["op_id"]] = known[row["key"]]
        if row["outcome"] != "ok":
            known.clear()
        elif (span := sent.get(row["op_id"])) is not None:
            known[row["key"]] = (span["offset"], span["value"], span["records"])
    return found


def _holds(evidence: Evidence, node: int, key: str, sent: _Sent) -> bool:
    """Whether the acknowledged batch is on that node's disk."""
    stored = evidence.partition_logs.get((node, key))
    if stored is None:
        return False
    offset, value, records = (np.array([each], np.int64) for each in sent)
    return bool(stored.holds(offset, value, records)[0])


# --- both ---


def _is_not_promised(evidence: Evidence, key: str) -> bool:
    """Whether a log may lose committed records without any fault that takes them."""
    return evidence.promised.unclean(topic_of(key))


def _may_lack(evidence: Evidence, refused: Refused) -> _Flags:
    """Whether a fault may have taken bytes from some log by then."""
    harmed = np.zeros(len(refused.t0), np.bool_)
    for fault in evidence.faults:
        takes = fault.may_lose or fault.wipes or fault.damages_bytes
        if takes and fault.may_have_bitten:
            harmed |= fault.t_start <= refused.t1
    return harmed
