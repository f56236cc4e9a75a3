"""P18, for ISRs: replication goes on, so that every ISR is whole again in calm."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.isr_history import FOREVER_NS, IsrHistory, isr_histories
from checkers.evidence.starvation import Suspicion, sort_out
from checkers.partitions.described_partitions import asked_of_partitions
from checkers.partitions.leaders import NEED
from checkers.quorum.leadership import SECOND, Calm, bounds_of, calms
from checkers.verdict import CheckResult, EventValue, counted

_UNIT = "partitions in times of calm"
# Beside an election: a broker is let in within 8 s, then its replicas catch up.
_WHOLE_S = 18.0
# A leader proposes them in many requests, and a busy machine runs the replicas of all brokers.
_EACH_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """Answers about partitions in one time of calm, sorted by partition and time."""

    place: Ints  # of the partition in `keys`
    asked: Ints  # ns since the calm began
    whole: Ints  # when its ISR was last whole by then, in ns since the calm began; 0: never
    lacks: np.ndarray[tuple[int], np.dtype[np.bool_]]
    row: Ints  # in the table of answers


@check(
    "P18-isrs-become-whole",
    applies=asked_of_partitions,
    source="KIP-966 liveness; KIP-227; our own node, whose followers named more than leaders took",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES, Kind.FAULTS),
)
def isrs_become_whole(evidence: Evidence) -> CheckResult:
    """P18: In calm no partition has a leader, and fewer replicas in its ISR than it was given, for
    longer than a bounded time.

    Else replication has stopped, and acks=all means fewer disks than it was asked for. By the
    answers of all brokers to DescribeTopicPartitions; of partitions that no broker was asked about,
    by the metadata log, from when a change was surely committed until the next one may have been.
    The bound is an election, 18 s, and 10 ms for each partition of the cluster. Partitions that are
    reassigned are not judged. If the machine was starved in that time, or just before it, the run
    is an error. (KIP-966 liveness)
    """
    timeline = evidence.timeline
    if timeline is None:
        return unread(_UNIT, NEED)
    sizes = {key: len(one.replicas) for key, one in timeline.partitions.items()}
    moved = {change.partition.key for _, change in timeline.changes() if change.reassigned}
    again = {name for name, made in timeline.topics.items() if len(made) > 1}
    keys = [key for key in sizes if key not in moved and key.rpartition("-")[0] not in again]
    within_s = bounds_of(evidence).leader_within_s + _WHOLE_S + _EACH_S * len(sizes)
    probes = evidence.tables["probes"]
    told = probes.filter(pc.is_in(probes["key"], pa.array(keys, pa.string())))
    told = told.filter(pc.equal(told["kind"], "partition"))
    least = np.array([sizes[key] for key in keys], np.int64)
    judged, asked_about = set(keys), {*told["key"].unique().to_pylist()}
    by_log = {
        key: history
        for key, history in evidence.once(isr_histories).items()
        if key in judged and key not in asked_about
    }
    looked_at, longest = 0, 0
    found: list[Suspicion] = []
    for calm in calms(evidence, since=0):
        if calm.fault is None:
            answers = _answers_in(calm, told, keys, least)
            waits = (answers.asked - answers.whole)[answers.lacks]
            looked_at += len(np.unique(answers.place[~answers.lacks]))
            longest = max(longest, int(waits.max(initial=0)))
            found += _never_whole(evidence, calm, told, answers, within_s)
            for history in by_log.values():
                begin, end, was_whole = _short_by_log(history, calm)
                looked_at += was_whole
                if end - begin > within_s * SECOND:
                    found.append(_short(history, begin, end, within_s))
    told_apart = sort_out(evidence.info, found)
    return conclude(
        looked_at=looked_at,
        unit=_UNIT,
        violations=told_apart.accused,
        starved=told_apart.starved,
        gaps=told_apart.unmeasured,
        needs="answers to DescribeTopicPartitions, and the metadata log",
        holds=f"each had a whole ISR within {longest / SECOND:.3g} s; {within_s:.3g} s are allowed",
        algorithm="each answer with a short ISR, against the last one with a whole ISR before it",
        nothing="in calm no broker told of a partition that had all its replicas in the ISR",
    )


def _short_by_log(history: IsrHistory, calm: Calm) -> tuple[int, int, bool]:
    """The longest time in this calm in which the ISR surely was short, with a leader; and whether
    it was whole in some of it."""
    since = np.clip(history.known_by, calm.begin, calm.end)
    until = np.clip(np.append(history.not_before[1:], FOREVER_NS), calm.begin, calm.end)
    whole, longest, began = history.whole(), (calm.begin, calm.begin), None
    for at, state in enumerate(history.states):
        if whole[at] or state.leader < 0:
            began = None
            continue
        began = int(since[at]) if began is None else began
        longest = max(longest, (began, int(until[at])), key=lambda each: each[1] - each[0])
    return *longest, bool((whole & (since < until)).any())


def _short(history: IsrHistory, begin: int, end: int, within_s: float) -> Suspicion:
    at = max(int(history.last_by(np.array([end], np.int64))[0]), 0)
    last = history.states[at]
    text = f"{history.key}: led by node {last.leader} with ISR {sorted(last.isr)} for "
    text += f"{(end - begin) / SECOND:.1f} s in which nothing was wrong, by the metadata log, and "
    text += f"not whole within {within_s:.3g} s"
    shown: dict[str, EventValue] = {"what": "state of the ISR", "offset": int(history.offsets[at])}
    began: dict[str, EventValue] = {"what": "its ISR was short from then on", "t_ns": begin}
    return Suspicion(Violation(text, [began, {**shown, "key": history.key}]), begin, end)


def _answers_in(calm: Calm, told: pa.Table, keys: list[str], least: Ints) -> _Answers:
    asked = told["t0"].to_numpy()
    rows = np.flatnonzero((asked >= calm.begin) & (told["t1"].to_numpy() <= calm.end))
    some = told.take(rows)
    place = pc.index_in(some["key"], pa.array(keys, pa.string())).to_numpy()
    order = np.lexsort((asked[rows], place))
    rows, place = rows[order], place[order].astype(np.int64)
    some = some.take(order)
    isr = pc.list_value_length(some["isr"]).fill_null(0).to_numpy()
    lacks = (isr < least[place]) & (some["leader"].to_numpy() >= 0)
    span = calm.end - calm.begin + 1
    since = np.where(lacks, 0, some["t1"].to_numpy() - calm.begin)
    whole = np.maximum.accumulate(place * span + since) - place * span
    return _Answers(place=place, asked=asked[rows] - calm.begin, whole=whole, lacks=lacks, row=rows)


def _never_whole(
    evidence: Evidence, calm: Calm, told: pa.Table, answers: _Answers, within_s: float
) -> Iterator[Suspicion]:
    """One for each partition: its last answer of that kind."""
    short = np.flatnonzero(answers.lacks & (answers.asked - answers.whole > within_s * SECOND))
    last = short[np.flatnonzero(np.diff(answers.place[short], append=-1))]
    if not len(last):
        return
    sent = evidence.acknowledged
    sent_keys = sent["key"].to_numpy(zero_copy_only=False)
    done = evidence.tables["ops"]["t1"].to_numpy()[sent["op_id"].to_numpy()]
    for at in last:
        (row,) = told.slice(int(answers.row[at]), 1).to_pylist()
        since, until = calm.begin + int(answers.whole[at]), row["t0"]
        mine = (sent_keys == row["key"]) & (done > since) & (done < until)
        text = f"{row['key']}: led by node {row['leader']} with ISR {sorted(row['isr'])} for "
        text += f"{(until - since) / SECOND:.1f} s in which nothing was wrong, and not whole "
        text += f"within {within_s:.3g} s; "
        text += f"{counted(int(mine.sum()), 'write')} to acks=all acknowledged meanwhile"
        began: dict[str, EventValue] = {"what": "nothing was wrong from then on", "t_ns": since}
        shown: dict[str, EventValue] = {
            "what": "answered",
            "t_ns": until,
            "node": row["node"],
            "key": row["key"],
            "leader": row["leader"],
            "epoch": row["epoch"],
            "isr": str(sorted(row["isr"])),
        }
        yield Suspicion(Violation(text, [began, shown]), since, until)
