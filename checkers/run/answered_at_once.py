"""A request that waits for a commit is answered once that happens, by the traces of the leader.

A waiting request is parked at a leader, and its time-out is a second away or more. Whether the
commit ended the wait shows in a disturbed cluster as well as in calm: it matters only that nothing
happened to this leader between the commit and the answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.lives import NEED, gaps
from checkers.evidence.partition_logs import columns, split
from checkers.history.asked import request_s
from checkers.history.sealed_run import RunInfo
from checkers.partitions.traced_replicas import PartitionId, ids_by_name, traced_partitions
from checkers.registers.stored_values import stored_records
from checkers.run.recovery import LEAST_S, slowest_answer_s
from checkers.verdict import CheckResult

_SECOND = 1_000_000_000
_QUORUM = "__cluster_metadata-0"
_ALL = -1  # acks


def _simulated(info: RunInfo) -> bool:
    """Applies where nodes write traces, in virtual time, where no machine is late."""
    return traced(info) and info.is_simulated


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waits:
    """Operations that waited for a leader to commit; arrays of one length.

    `at` is when the leader of that epoch committed it, `leader` its node, and `until` when another
    leader began, or none led any more.
    """

    key: str
    ops: Ints  # rows of OPS
    end: Ints  # behind the record that had to be committed
    at: Ints
    leader: Ints
    until: Ints


@check(
    "answered-when-committed",
    applies=_simulated,
    source="KAFKA-14694 and its like: a purgatory that is completed by its time-out",
    rests_on=(Kind.FAULTS, Kind.OPERATIONS, Kind.TRACES),
)
def answered_when_committed(evidence: Evidence) -> CheckResult:
    """A request that waits for a commit is answered as soon as that happens, and not when a
    time-out is over: in virtual time, within what an operation may take in calm.

    Also while other nodes are hit. From when its leader committed it (p.hwm, q.hwm): sends with
    acks=all, writes to registers, and polls that no transaction holds back, by the first record
    that they were given. Requests are left out that a later leader answered, or if a fault hit this
    one, or all links, before the answer was due; also if one that is no pause hit it within a
    request's time-out before the commit, as it may have swallowed the request.
    """
    limit = int(max(LEAST_S["sim"], slowest_answer_s(evidence.info)) * _SECOND)
    patience = int(request_s(evidence.info.load) * _SECOND)
    looked_at, violations = 0, list[Violation]()
    ops = evidence.tables["ops"]
    t0, t1 = ops["t0"].to_numpy(), ops["t1"].fill_null(evidence.info.duration_ns).to_numpy()
    for waits in (*_of_partitions(evidence), *_of_polls(evidence), *_of_registers(evidence)):
        since = np.maximum(waits.at, t0[waits.ops])
        waited = (since <= t1[waits.ops]) & (since + limit < waits.until)
        looked_at += int(waited.sum())
        late = np.flatnonzero(waited & (t1[waits.ops] - since > limit))
        for place in late.tolist():
            leader, begin = int(waits.leader[place]), int(since[place])
            asked = max(begin - patience, int(t0[waits.ops[place]]))
            if not _was_hurt(evidence, leader, asked, begin, begin + limit):
                violations.append(_late(ops, waits, place, begin, limit))
    return conclude(
        looked_at=looked_at,
        unit="operations that waited for a commit",
        violations=violations,
        needs=NEED,
        holds=f"each was answered within {limit / _SECOND:.3g} s",
        algorithm="the leader's high watermark above each record, against the time of the answer",
        gaps=gaps(evidence.lives),
        nothing="no operation of a client had to wait" if evidence.lives else "",
    )


def _was_hurt(evidence: Evidence, leader: int, asked: int, begin: int, end: int) -> bool:
    """Whether something happened to a leader: to its process, machine or links. A pause swallows
    no request that came before `begin`."""
    return any(
        fault.overlaps(begin if _is_pause(fault) else asked, end)
        and (leader in fault.nodes or _is_of_all(fault.params))
        for fault in evidence.faults
    )


def _is_pause(fault: FaultFact) -> bool:
    return fault.halts and not fault.ends_process


def _is_of_all(params: Mapping[str, str]) -> bool:
    return params.get("victim") == "all"


# --- sends to partitions ---


def _of_partitions(evidence: Evidence) -> Iterator[_Waits]:
    """By the leader epoch of each batch, from any disk; for a batch that no disk holds any more, it
    is unknown which node was to answer."""
    if evidence.timeline is None:
        return
    reigns = evidence.once(_reigns)
    ids = ids_by_name(evidence.timeline)
    spans = evidence.tables["spans"]
    sent = spans.filter(
        pc.fill_null(pc.and_kleene(spans["sent"], pc.equal(spans["acks"], _ALL)), False)
    )
    once = sent.group_by("op_id").aggregate([("op_id", "count")])
    alone = once.filter(pc.equal(once["op_id_count"], 1))["op_id"]
    sent = sent.filter(pc.is_in(sent["op_id"], value_set=alone.combine_chunks()))
    stored = split(evidence.tables["replica_spans"], "key")
    for (name,), part in sorted(split(sent, "key").items()):
        if (name,) not in stored or str(name) not in ids:
            continue
        ops, value, records = columns(part, "op_id", "value", "records")
        epoch, end = _stood(stored[name,], value, records)
        for (at, number), reign in reigns.items():
            rows = np.flatnonzero(epoch == number) if at == ids[str(name)] else ()
            if len(rows):
                yield reign.waits(str(name), ops[rows], end[rows])


def _stood(stored: pa.Table, value: Ints, records: Ints) -> tuple[Ints, Ints]:
    """For each send, the epoch in which it was written and the offset behind it, by any disk; -1 if
    none has it, or if disks contradict each other."""
    first, held, epochs, offsets = columns(stored, "value", "records", "epoch", "offset")
    order = np.argsort(first, kind="stable")
    first, held, epochs, offsets = (each[order] for each in (first, held, epochs, offsets))
    place = np.searchsorted(first, value, side="right") - 1
    inside = (place >= 0) & (first[place] + held[place] >= value + records)
    epoch = np.where(inside, epochs[place], -1)
    end = np.where(inside, offsets[place] + value - first[place] + records, -1)
    return epoch, end


def _of_polls(evidence: Evidence) -> Iterator[_Waits]:
    """Of polls that asked the leader itself, and first: in the reign in which they were
    answered."""
    if evidence.timeline is None or evidence.info.load.get("transactional", False):
        return
    ids = ids_by_name(evidence.timeline)
    reigns: dict[PartitionId, list[_Reign]] = {}
    for (at, _), reign in evidence.once(_reigns).items():
        reigns.setdefault(at, []).append(reign)
    spans = evidence.tables["spans"]
    firsts = spans.filter(pc.invert(spans["sent"])).group_by(["op_id", "key"])
    polled = firsts.aggregate([("offset", "min")])
    ops = evidence.tables["ops"]
    for (name,), part in sorted(split(polled, "key").items()):
        op, offset = columns(part, "op_id", "offset_min")
        rows = ops.take(pa.array(op)).select(["node", "t0", "t1"])
        succeeded = pc.fill_null(pc.equal(ops.take(pa.array(op))["outcome"], "ok"), False)
        node, t0, t1 = (rows[each].fill_null(-1).to_numpy() for each in ("node", "t0", "t1"))
        ok = succeeded.to_numpy(zero_copy_only=False)
        for reign in reigns.get(ids.get(str(name), ("", -1)), ()):
            inside = ok & (node == reign.leader) & (reign.times[0] <= t0) & (t1 <= reign.until)
            if inside.any():
                yield reign.waits(str(name), op[inside], offset[inside] + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reign:
    """For one leader in one epoch: when it committed what, and until when it led."""

    leader: int
    times: Ints
    marks: Ints
    until: int

    def waits(self, key: str, ops: Ints, end: Ints) -> _Waits:
        """For those that it committed."""
        place = np.searchsorted(self.marks, end)
        done = place < len(self.marks)
        ops, end, place = ops[done], end[done], place[done]
        return _Waits(
            key=key,
            ops=ops,
            end=end,
            at=self.times[place],
            leader=np.full(len(ops), self.leader),
            until=np.full(len(ops), self.until),
        )


def _reigns(evidence: Evidence) -> Mapping[tuple[PartitionId, int], _Reign]:
    """By partition and leader epoch; a leader that led twice in it is left out."""
    replicas = evidence.once(traced_partitions)
    rows: dict[tuple[PartitionId, int], list[tuple[int, int, int]]] = {}
    for at, event in replicas.marks:
        rows.setdefault((at, event.epoch), []).append((event.t, event.hwm, event.node))
    begun: dict[PartitionId, list[tuple[int, int]]] = {}
    for (at, epoch), lines in rows.items():
        begun.setdefault(at, []).append((epoch, min(t for t, _, _ in lines)))
    found = {}
    for (at, epoch), lines in rows.items():
        if len({node for _, _, node in lines}) == 1:
            lines.sort()
            times, marks = (np.array([line[n] for line in lines], np.int64) for n in (0, 1))
            later = [t for number, t in begun[at] if number > epoch]
            found[at, epoch] = _reign(lines[0][2], times, marks, later, evidence)
    return found


def _reign(node: int, times: Ints, marks: Ints, later: Sequence[int], evidence: Evidence) -> _Reign:
    """One process led: it ended then at the latest, or when a later leader began."""
    last = int(times[-1])
    processes = (each for life in evidence.lives for each in life.processes if each.node == node)
    ended = next((p.last_ns for p in processes if p.first_ns <= last <= p.last_ns), last)
    marks = np.maximum.accumulate(marks)
    return _Reign(leader=node, times=times, marks=marks, until=min([ended, *later]))


# --- writes to registers ---


def _of_registers(evidence: Evidence) -> Iterator[_Waits]:
    """By the record of the value in a log, if it is there once. Snapshots do not have its
    offset."""
    stood: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for each in evidence.once(stored_records):
        if each.value is not None and not each.in_snapshot:
            stood.setdefault((each.key, each.value), set()).add((each.epoch, each.offset))
    ops = evidence.tables["ops"]
    writes = ops.filter(pc.equal(ops["f"], "write")).select(["op_id", "key", "value"])
    asked: dict[tuple[str, str], list[int]] = {}
    for row in writes.to_pylist():
        asked.setdefault((row["key"], str(row["value"])), []).append(row["op_id"])
    by_epoch: dict[int, list[tuple[int, int]]] = {}
    for what, found in stood.items():
        if len(found) == 1 and len(asked.get(what, ())) == 1:
            [(epoch, offset)], [op] = found, asked[what]
            by_epoch.setdefault(epoch, []).append((op, offset + 1))
    for epoch, pairs in by_epoch.items():
        reign = _quorum_reign(evidence, epoch)
        if reign is not None:
            op_ids, ends = (np.array(each, np.int64) for each in zip(*pairs, strict=True))
            yield reign.waits(_QUORUM, op_ids, ends)


def _quorum_reign(evidence: Evidence, epoch: int) -> _Reign | None:
    traces = evidence.traces
    rows = traces.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows) & (traces.column("epoch")[rows] == epoch)]
    if len(np.unique(traces.column("node")[rows])) != 1:
        return None
    node = int(traces.column("node")[rows[0]])
    times, marks = traces.column("t")[rows], traces.column("hwm")[rows]
    states = traces.rows("q.state")
    t, of, at = (traces.column(name)[states] for name in ("t", "node", "epoch"))
    gave_up = (of == node) & (at == epoch) & traces.has("state", "resigned", states)
    return _reign(node, times, marks, t[(at > epoch) | gave_up].tolist(), evidence)


def _late(ops: pa.Table, waits: _Waits, place: int, begin: int, limit: int) -> Violation:
    row: Mapping[str, Any] = ops.slice(int(waits.ops[place]), 1).to_pylist()[0]
    waited = (row["t1"] - begin) / _SECOND if row["t1"] is not None else None
    took = f"was answered {waited:.3g} s later" if waited is not None else "was never answered"
    text = f"a {row['f']} of process {row['process']} {took}, though node "
    text += (
        f"{int(waits.leader[place])} had committed all below {int(waits.end[place])} of "
        f"{waits.key} "
    )
    text += f"and nothing had happened to it; {limit / _SECOND:.3g} s are enough"
    shown = {name: row[name] for name in ("process", "node", "f", "key", "outcome", "error")}
    return Violation(
        text,
        [
            {"what": "committed", "t_ns": int(waits.at[place]), "node": int(waits.leader[place])},
            {"what": "answered", "t_ns": row["t1"], **shown},
        ],
    )
