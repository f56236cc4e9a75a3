"""Visible actions of brokers are in their traces: answers to clients, contents of disks, committed
records.

A line is written before its effect is visible to others, so every effect has a line. Otherwise a
broker that goes on without tracing would escape all checks that rest on its traces.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, Kind
from checkers.evidence.image import NO_LEADER, Change, Timeline, epoch_of, node_of
from checkers.evidence.lives import Life, Process, gaps, witness
from checkers.evidence.partition_logs import columns
from checkers.evidence.restarts import may_forget
from checkers.history.events import value_name
from checkers.partitions.leaderless import committed_kinds
from checkers.partitions.leaders import shown
from checkers.partitions.traced_replicas import (
    METADATA,
    CountedActions,
    PartitionId,
    histories,
    ids_by_name,
    traced_partitions,
    traces_replicas,
    untraced_cuts,
    untraced_ends,
)
from checkers.verdict import CheckResult, EventValue

_SECOND = 1_000_000_000
_SETTLES_NS = _SECOND  # a process replays committed records that it knows, and follows them, within
_ALL, _SENT = -1, "sent"
_VOUCHING = "vouching"


@check(
    "brokers-trace-what-they-do",
    applies=traces_replicas,
    source="ours: a line of a trace is written before its effect is visible to others",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.TRACES),
)
def brokers_trace_what_they_do(evidence: Evidence) -> CheckResult:
    """A broker's trace has every action of it that shows in answers to clients, on disks or in the
    committed metadata log.

    That it led before it traced an ISR or a high watermark (p.role, p.isr); a high watermark above
    all that is acknowledged to acks=all, and as high as each in an answer to a consumer, before
    that answer (p.hwm); that it leads, if it replayed that it does; every replica on its disk
    (p.role); each replica that it proposed for an ISR that is committed (p.join); the truncation of
    records that it had acknowledged and no longer has (p.truncate); each registration in which it
    was unfenced, none in which it was not, and its clean-shutdown file (b.life); and each record
    about brokers and partitions up to what it knew to be committed (c.record). Committed records
    are left out if a majority of the controllers may have lost them.
    """
    found = evidence.timeline
    if found is None:
        return unread("actions of brokers", METADATA)
    whole = [life for life in evidence.lives if life.gap is None]
    counted = [
        _of_lines(evidence),
        _of_watermarks(evidence, found),
        _of_replicas(evidence, whole),
        untraced_cuts(evidence, found, whole),
        untraced_ends(evidence, found),
        _of_vouching(evidence, whole),
    ]
    if not may_forget(evidence):
        counted += [
            _of_leaders(evidence, found),
            _of_joins(evidence, found, whole),
            _of_registrations(evidence, found, whole),
            _of_records(evidence, found, whole),
        ]
    return conclude(
        looked_at=sum(each.looked_at for each in counted),
        unit="actions of brokers",
        violations=[violation for each in counted for violation in each.violations],
        needs=METADATA,
        holds="each is in the trace of its broker",
        algorithm="answers to clients, disks and the metadata log, each against the lines of the "
        "broker that acted",
        gaps=gaps(evidence.lives),
    )


def _of_lines(evidence: Evidence) -> CountedActions:
    """An ISR belongs to a leader, and a high watermark moves by an ISR."""
    replicas = evidence.once(traced_partitions)
    wrong = [
        Violation(
            f"node {event.node} traces {event.event} in epoch {event.epoch} of a partition, but "
            f"no {lacks} before",
            [witness(event, "said")],
        )
        for event, lacks in replicas.alone
    ]
    return CountedActions(len(replicas.moves) + len(replicas.isrs) + len(wrong), wrong)


# --- answers to clients ---


def _of_watermarks(evidence: Evidence, found: Timeline) -> CountedActions:
    """Each answer by the time when it had come: a high watermark that was traced by then, by any
    leader, for an unanswered request is sent to the next one."""
    ids = ids_by_name(found)
    marks = _marks(evidence)
    ops, spans = evidence.tables["ops"], evidence.tables["spans"]
    looked_at, violations = 0, list[Violation]()
    if not spans.num_rows:
        return CountedActions(0, violations)
    ended = ops.take(spans["op_id"])
    keep = pc.and_(pc.equal(ended["outcome"], "ok"), pc.is_valid(ended["t1"]))
    acknowledged = pc.and_kleene(pc.equal(spans["acks"], _ALL), pc.is_valid(spans["offset"]))
    polled = pc.and_(pc.invert(spans[_SENT]), pc.is_valid(spans["high_watermark"]))
    keep = pc.fill_null(pc.and_kleene(keep, pc.or_kleene(acknowledged, polled)), False)
    spans, ended = spans.filter(keep), ended.filter(keep)
    sent = spans[_SENT].to_numpy(zero_copy_only=False)
    offset, records = columns(spans, "offset", "records")
    high = spans["high_watermark"].fill_null(0).to_numpy().astype(np.int64)
    (t1,) = columns(ended, "t1")
    told_end = np.where(sent, offset + records, high)
    keys = spans["key"].to_numpy(zero_copy_only=False).astype(str)
    names, which = np.unique(keys, return_inverse=True)
    for number, name in enumerate(names.tolist()):
        partition = ids.get(name)
        if partition is None:
            continue
        rows = np.flatnonzero(which == number)
        looked_at += len(rows)
        t, highest = marks.get(partition, (np.empty(0, np.int64),) * 2)
        at = np.searchsorted(t, t1[rows], side="right") - 1
        reached = np.where(at >= 0, highest[at], -1) if len(t) else np.full(len(rows), -1)
        short = rows[reached < told_end[rows]]
        for row in short[:1].tolist():
            span = spans.slice(row, 1).to_pylist()[0]
            violations.append(_untold(span, int(told_end[row]), int(t1[row]), len(short)))
    return CountedActions(looked_at, violations)


def _marks(evidence: Evidence) -> Mapping[PartitionId, tuple[Ints, Ints]]:
    """By partition: times, and the highest high watermark that any leader had traced by then."""
    rows: dict[PartitionId, list[tuple[int, int]]] = defaultdict(list)
    for at, event in evidence.once(traced_partitions).marks:
        rows[at].append((event.t, event.hwm))
    found = {}
    for at, pairs in rows.items():
        pairs.sort()
        times, marks = (np.array(each, np.int64) for each in zip(*pairs, strict=True))
        found[at] = (times, np.maximum.accumulate(marks))
    return found


def _untold(span: dict[str, Any], end: int, at: int, more: int) -> Violation:
    what = "acknowledged to acks=all" if span[_SENT] else "answered to a consumer as committed"
    text = (
        f"the record below {end} of {span['key']} was {what}, but no leader had traced such a high "
    )
    text += "watermark"
    text += f"; {more:,} times in all" if more > 1 else ""
    fields = {name: span[name] for name in ("op_id", "key", "offset", "records")}
    value = value_name(span["value"])
    return Violation(text, [{"what": "an answer", "t_ns": at, **fields, "value": value}])


# --- committed leaders and ISRs ---


def _of_leaders(evidence: Evidence, found: Timeline) -> CountedActions:
    """A broker that replayed that it leads, and went on for a second, traced that it does. Records
    committed before a process registered are about its node's last one: it leads nothing before."""
    led = evidence.once(traced_partitions).led
    looked_at, violations = 0, []
    elected: dict[int, list[tuple[PartitionId, Change, int]]] = defaultdict(list)
    for at, changes in histories(found).items():
        begun = [change for change in changes if _begins(change)]
        for change, following in pairwise([*begun, None]):
            assert change is not None
            over = FOREVER_NS if following is None else following.offset
            if change.partition.leader != NO_LEADER and change.after is not None:
                elected[change.partition.leader].append((at, change, over))
    offsets = {
        (one.node, one.after.epoch): one.offset
        for batch in found.batches
        for one in batch.registrations
    }
    for process in (process for life in evidence.lives for process in life.processes):
        replayed, registered = _replayed(process), _registered(process, offsets)
        for at, change, over in elected.get(process.node, ()) if process.gap is None else ():
            t = replayed.get(change.offset)
            until = min(replayed.get(over, process.last_ns), process.last_ns)
            if t is None or t + _SETTLES_NS > until or change.offset < registered:
                continue
            looked_at += 1
            epoch = change.partition.leader_epoch
            if (process.begin, at, epoch) not in led:
                text = f"{change.partition.key}: node {process.node} replayed that it leads epoch "
                text += f"{epoch}, but never traced that it does"
                violations.append(Violation(text, [shown(change, "committed")]))
    return CountedActions(looked_at, violations)


def _begins(change: Change) -> bool:
    """Whether it begins a leader epoch, or ends the partition."""
    before, after = change.before, change.after
    return before is None or after is None or after.leader_epoch > before.leader_epoch


def _registered(process: Process, offsets: Mapping[tuple[int, int], int]) -> int:
    """The offset of its registration; beyond all, if neither its trace nor the log has it."""
    epochs = {line.epoch for line in process.events("b.life")}
    known = (offsets.get((process.node, epoch)) for epoch in epochs)
    return min((offset for offset in known if offset is not None), default=FOREVER_NS)


def _replayed(process: Process) -> Mapping[int, int]:
    """When it replayed each record, by offset."""
    rows = process.rows("c.record")
    offset, t = (process.traces.column(name)[rows] for name in ("offset", "t"))
    return dict(zip(offset.tolist(), t.tolist(), strict=True))


def _of_joins(evidence: Evidence, found: Timeline, whole: Collection[Life]) -> CountedActions:
    """A replica that a leader added to the ISR had been proposed by it, with its proof."""
    replicas = evidence.once(traced_partitions)
    proposed = {
        (one.partition, one.event.epoch, one.partition_epoch, one.event.replica)
        for one in replicas.joins
    }
    nodes = {life.node for life in evidence.lives} - {
        life.node for life in evidence.lives if life not in whole
    }
    looked_at, violations = 0, []
    for at, changes in histories(found).items():
        for change in changes:
            before, after = change.before, change.after
            if before is None or after is None or after.leader not in nodes:
                continue
            if before.leader_epoch != after.leader_epoch or change.elected_outside:
                continue
            for node in sorted(set(after.isr) - set(before.isr)):
                looked_at += 1
                known = (at, before.leader_epoch, before.partition_epoch, node)
                if known not in proposed:
                    text = f"{after.key}: node {node} joined the ISR, but node {after.leader}, "
                    text += (
                        f"leader of epoch {after.leader_epoch}, never traced that it proposed it"
                    )
                    violations.append(Violation(text, [shown(change, "committed")]))
    return CountedActions(looked_at, violations)


# --- contents of disks ---


def _of_replicas(evidence: Evidence, whole: Collection[Life]) -> CountedActions:
    """Every replica on a disk was led there, or followed."""
    known = evidence.once(traced_partitions).replicas
    disks = {(life.node, life.directory) for life in whole}
    looked_at, violations = 0, []
    for row in evidence.tables["replicas"].to_pylist():
        if (row["node"], row["directory"]) not in disks or not row["topic_id"]:
            continue
        looked_at += 1
        at = (row["topic_id"], int(row["key"].rpartition("-")[2]))
        if (row["node"], row["directory"], at) not in known:
            text = f"node {row['node']} holds a replica of {row['key']}, but never traced that it "
            fields: dict[str, EventValue] = {n: row[n] for n in ("node", "key", "log_end")}
            violations.append(
                Violation(f"{text}leads or follows it", [{"what": "on its disk", **fields}])
            )
    return CountedActions(looked_at, violations)


# --- committed registrations of brokers ---


def _of_registrations(
    evidence: Evidence, found: Timeline, whole: Collection[Life]
) -> CountedActions:
    """A broker is unfenced by heartbeats in the epoch of its registration, so it knew that epoch.
    Nor does a broker trace that it is unfenced in an epoch with a registration in the log, if it
    never was."""
    nodes = _whole_nodes(evidence, whole)
    told_epochs: dict[int, set[int]] = defaultdict(set)
    looked_at, violations = 0, []
    unfenced = list(_unfenced(found))
    known = {(node, epoch) for node, epoch, _ in unfenced}
    registered = {(o.node, o.after.epoch): o for b in found.batches for o in b.registrations}
    for life in whole:
        for line in life.events("b.life"):
            told_epochs[life.node].add(line.epoch)
            one = registered.get((life.node, line.epoch))
            is_in = one is None or not one.after.fenced or (one.node, one.after.epoch) in known
            if not line.more.get("fenced", 1) and not is_in:
                text = f"node {line.node} traces that it is unfenced in broker epoch {line.epoch}, "
                text += "but the metadata log has never unfenced it"
                violations.append(Violation(text, [witness(line, "said")]))
    for node, epoch, offset in unfenced:
        if node not in nodes:
            continue
        looked_at += 1
        if epoch not in told_epochs[node]:
            text = f"node {node} was unfenced in broker epoch {epoch}, but never traced that it "
            at: dict[str, EventValue] = {"what": "unfenced", "node": node, "offset": offset}
            violations.append(Violation(f"{text}was registered in it", [at | {"epoch": epoch}]))
    return CountedActions(looked_at, violations)


def _of_vouching(evidence: Evidence, whole: Collection[Life]) -> CountedActions:
    """The clean-shutdown file on a disk had been traced by its last process."""
    nodes = _whole_nodes(evidence, whole)
    vouched = {
        (life.node, life.directory): line.epoch
        for life in whole
        for line in life.events("b.life")
        if line.state == _VOUCHING
    }
    forgetful = {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}
    looked_at, violations = 0, []
    for row in evidence.tables["disks"].to_pylist():
        clean, disk = row["clean_shutdown"], (row["node"], row["directory"])
        if clean is None or row["node"] not in nodes or row["node"] in forgetful:
            continue
        looked_at += 1
        if vouched.get(disk) != clean:
            text = (
                f"the disk of node {row['node']} has a clean-shutdown file of broker epoch "
                f"{clean}, "
            )
            text += "but its last process never traced it"
            on_disk: dict[str, EventValue] = {"what": "on its disk", "node": row["node"]}
            violations.append(Violation(text, [on_disk | {"epoch": clean}]))
    return CountedActions(looked_at, violations)


def _whole_nodes(evidence: Evidence, whole: Collection[Life]) -> set[int]:
    """Nodes without missing lines."""
    return {life.node for life in whole} - {
        one.node for one in evidence.lives if one.gap is not None
    }


def _unfenced(found: Timeline) -> Iterator[tuple[int, int, int]]:
    """Node, broker epoch, offset."""
    for batch in found.batches:
        if batch.from_snapshot:
            continue
        for offset, kind, detail in batch.broker_records:
            if kind == "UnfenceBroker" or (
                kind == "BrokerRegistrationChange" and detail.get("fenced", 0) == -1
            ):
                yield node_of(detail), epoch_of(detail), offset


def _of_records(evidence: Evidence, found: Timeline, whole: Collection[Life]) -> CountedActions:
    """Each process begins where the log does, or after a snapshot; and reaches what it knew to be
    committed a second before its end."""
    offsets = sorted(o for o in committed_kinds(evidence, found) if o >= found.start)
    looked_at, violations = 0, []
    for life in whole:
        heads = {0, found.start}
        for process in life.processes:
            heads |= {line.log_end for line in process.events("q.snapshot", "q.loaded")}
            known = _known_below(process)
            due = bisect_left(offsets, known)
            rows = process.rows("c.record")
            replayed = process.traces.column("offset")[rows]
            if not due and not len(replayed):
                continue
            looked_at += 1
            last = int(replayed.max()) if len(replayed) else -1
            first = int(replayed.min()) if len(replayed) else -1
            begins = {offsets[at] for h in heads if (at := bisect_left(offsets, h)) < len(offsets)}
            after = max((head for head in heads if head <= known), default=0)
            if due and offsets[due - 1] > last and offsets[due - 1] >= after:
                violations.append(_unreplayed(process, offsets[due - 1], known, last))
            elif found.start <= first < found.log.end and first not in begins:
                violations.append(_headless(process, first))
    return CountedActions(looked_at, violations)


def _known_below(process: Process) -> int:
    """The offset below which it knew all to be committed a second before its last line."""
    rows = process.rows("q.hwm")
    t, hwm = (process.traces.column(name)[rows] for name in ("t", "hwm"))
    known = hwm[t <= process.last_ns - _SETTLES_NS]
    return int(known.max(initial=0))


def _unreplayed(process: Process, offset: int, known: int, last: int) -> Violation:
    text = f"node {process.node} knew all below {known} to be committed, but did not trace that it "
    text += f"replayed the record at offset {offset}"
    text += f": the last was at {last}" if last >= 0 else ", nor any other"
    row: dict[str, EventValue] = {"what": "its last line", "t_ns": process.last_ns}
    return Violation(text, [row | {"node": process.node}])


def _headless(process: Process, first: int) -> Violation:
    text = f"node {process.node} traced that it replayed the record at offset {first}, but none of "
    text += "those before, though no snapshot ends there"
    row: dict[str, EventValue] = {"what": "its first line", "t_ns": process.first_ns}
    return Violation(text, [row | {"node": process.node, "offset": first}])
