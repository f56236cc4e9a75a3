"""Did clients go on asking during the faults and after the cures? Without that, a run describes
faults that no client met.

Load is what is invoked, or what comes back: an operation that never returned is none. Clients may
rightly be silent for their `patience`: an operation's time-out, a second of looking for a leader
and one of connecting to it, and the wait of a rate limit. With a load of a fixed number of
operations, and with overlapping faults, a short time may fall between two of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.history.asked import request_s
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import counted

SECOND = 1_000_000_000

# The share of processes that invoke something within a patience, whatever the faults: of 60
# simulated runs the worst had a third.
ALIVE_SHARE = 0.25
# The share of the successes per second before the first fault that must come back after the last
# cure: of 60 simulated runs the worst had 0.35; less if a few clients look for a leader for a long
# time.
AFTER_SHARE = 0.05
_LEAST_QUIET_S = 0.5
_LEAST_AFTER_S = 1.0
_LEAST_TIME_NS = SECOND // 10
_SEARCH_AND_CONNECT_S = 2.0
_BETWEEN_S = 1.0  # from the end of the load to the first of the final reads


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """Operations of the main phase. `t1` is of those that returned, at any time; `end_ns` is when
    clients were asked to stop, at the latest."""

    t0: Ints
    returned_t0: Ints
    t1: Ints
    ok_t1: Ints  # of those that succeeded
    end_ns: int
    patience_s: float
    processes: int
    limited: bool  # all that they had to do was done

    def invoked(self, begin_ns: int, end_ns: int) -> int:
        return _between(self.t0, begin_ns, end_ns)

    def least(self, begin_ns: int, end_ns: int) -> int:
        """How many must be invoked in a time, if clients are alive."""
        rounds = int((end_ns - begin_ns) / SECOND / self.patience_s)
        return max(int(rounds * self.processes * ALIVE_SHARE), int(rounds > 0))

    def under_way(self, begin_ns: int, end_ns: int) -> bool:
        """Whether an operation that returned was under way at some moment of a time; or, if the
        time is very short (a disk is synced), close to it."""
        beside = max(_LEAST_TIME_NS - (end_ns - begin_ns), 0) // 2
        begin_ns, end_ns = begin_ns - beside, end_ns + beside
        return bool(np.any((self.t1 > begin_ns) & (self.returned_t0 < end_ns)))


def silence(evidence: Evidence, main: pa.Table) -> str:
    """When clients were silent, as the end of a sentence; "" if they never were."""
    before = evidence.info.faults_before_load
    faults = tuple(fault for fault in evidence.faults if fault.id >= before)
    load = _load_of(evidence, main)
    if not faults:
        return "" if load.limited else _no_request(load, main_ends(evidence))
    found = next(_silent_times(load, faults, overlap=evidence.info.faults_overlap), "")
    # Without a majority nothing comes back; nor if it never did, which is reported elsewhere.
    if found or evidence.lost_majority is not None or evidence.info.stuck:
        return found
    return _slow_after(load, faults)


def _no_request(load: _Load, end_ns: int) -> str:
    """Whether nothing was invoked for longer than clients may wait, in a run without faults."""
    if not len(load.t0):
        return ""
    marks = np.append(np.sort(load.t0), end_ns)
    longest = int(np.argmax(np.diff(marks)))
    silent_s = float(np.diff(marks)[longest]) / SECOND
    if silent_s <= load.patience_s + _BETWEEN_S:
        return ""
    return (
        f", but nothing was asked for in the {silent_s:.1f} s from {marks[longest] / SECOND:.1f} "
        "s on, without any fault"
    )


def _silent_times(load: _Load, faults: tuple[FaultFact, ...], *, overlap: bool) -> Iterator[str]:
    starts = sorted(fault.t_start for fault in faults)
    for fault in faults:
        name = f"fault {fault.id}, {fault.kind}"
        begin, healed = fault.t_start, _healed(fault, load)
        if not overlap and not load.under_way(begin, healed):
            yield f", but none was tried during {name}"
        if load.limited:
            continue
        if (told := _too_few(load, begin, healed)) is not None:
            yield f", but {told} during {name}"
        until = next((start for start in starts if start >= healed), load.end_ns)
        if (told := _too_few(load, healed, until)) is not None:
            yield f", but {told} after {name} was healed"


def _too_few(load: _Load, begin_ns: int, end_ns: int) -> str | None:
    invoked, least = load.invoked(begin_ns, end_ns), load.least(begin_ns, end_ns)
    if invoked >= least:
        return None
    seconds = (end_ns - begin_ns) / SECOND
    return f"only {invoked:,} were invoked in the {seconds:.1f} s (at least {least:,} have to be)"


def _slow_after(load: _Load, faults: tuple[FaultFact, ...]) -> str:
    """Whether successes came back after the last cure, and from the first of them on in proportion
    to the time before: how long the first may take is judged elsewhere."""
    first = min(fault.t_start for fault in faults)
    last = max(_healed(fault, load) for fault in faults)
    began = int(load.t0.min()) if len(load.t0) else first
    quiet_s = (first - began) / SECOND
    since = int(min(load.ok_t1[load.ok_t1 >= last], default=last))
    after_s = (load.end_ns - since) / SECOND
    if load.limited or quiet_s < _LEAST_QUIET_S or after_s < _LEAST_AFTER_S:
        return ""
    before = _between(load.ok_t1, began, first) / quiet_s
    after = _between(load.ok_t1, since, load.end_ns) / after_s
    if after >= AFTER_SHARE * before:
        return ""
    return (
        f", but only {after:.1f} a second succeeded after the last fault was healed, and "
        f"{before:.1f} before the first"
    )


def _load_of(evidence: Evidence, main: pa.Table) -> _Load:
    info = evidence.info
    t0 = main["t0"].to_numpy()
    returned = main.filter(main["t1"].is_valid())
    patience = _patience_s(info)
    processes = int(info.load.get("concurrency") or info.load.get("producers") or 1)
    return _Load(
        t0=t0,
        returned_t0=returned["t0"].to_numpy(),
        t1=returned["t1"].to_numpy(),
        ok_t1=returned.filter(pc.equal(returned["outcome"], "ok"))["t1"].to_numpy(),
        # They finish what they have begun before the final reads.
        end_ns=main_ends(evidence) - int(patience * SECOND),
        patience_s=patience,
        processes=processes,
        limited=is_limited(evidence, main),
    )


def is_limited(evidence: Evidence, main: pa.Table) -> bool:
    """Whether clients had a fixed number of operations to do, and have done all."""
    load = evidence.info.load
    processes = int(load.get("concurrency") or load.get("producers") or 1)
    most = int(load.get("most_operations", 0))
    return 0 < most <= int(main.num_rows) + processes


def _patience_s(info: RunInfo) -> float:
    load = info.load
    one = float(load.get("delivery_s") or request_s(load))
    processes = load.get("concurrency") or load.get("producers") or 0
    rate = float(load.get("rate") or 0.0)
    return one + _SEARCH_AND_CONNECT_S + (processes / rate if rate else 0.0)


def main_ends(evidence: Evidence) -> int:
    """When the final reads began, or the run ended without them."""
    ops = evidence.tables["ops"]
    final = ops.filter(pc.equal(ops["phase"], "final"))
    if final.num_rows:
        return int(pc.min(final["t0"]).as_py())
    last = pc.max(ops["t1"]).as_py() or 0
    return max(evidence.info.duration_ns, last)


def _healed(fault: FaultFact, load: _Load) -> int:
    return fault.t_healed if fault.t_healed is not None else max(load.end_ns, fault.t_start)


def _between(times: Ints, begin_ns: int, end_ns: int) -> int:
    return int(np.count_nonzero((times >= begin_ns) & (times < end_ns)))


# Whether clients did what they were to do, and each kind of it succeeded before and after the
# faults: what is never requested cannot go wrong.


ENOUGH = 10
# The operations of a chore, by its name: each kind has to succeed once.
_CHORES: Mapping[str, Sequence[str]] = {
    "asking-epochs": ("epoch-end",),
    "committing-offsets": ("commit-offset", "committed-offset"),
    "deleting-records": ("delete-records", "log-start"),
    "deleting-topics": ("create-topic", "delete-topic", "describe-topic"),
    "joining-groups": ("group-heartbeat",),
    "known-operations": ("quorum-epoch",),
    "looking-up": ("look-up",),
    "reshaping-topics": ("reassign",),
    "transforming": ("transform", "processed", "processed-up-to"),
    "unknown-operations": ("quorum-epoch",),
}
_CHANGES = {HistoryKind.REGISTERS: ("write", "delete"), HistoryKind.LOG: ("send",)}
_ALL = -1  # of acks


def undone(evidence: Evidence, main: pa.Table) -> str:
    """What of the plan was not done, or did not succeed, as the end of a sentence; "" if all was.
    `main` are operations of the main phase, without those that only set the stage."""
    return next(_undone(evidence, main), "")


def _undone(evidence: Evidence, main: pa.Table) -> Iterator[str]:
    if evidence.info.history == HistoryKind.REGISTERS:
        yield from _of_registers(evidence.info, main)
    else:
        yield from _of_logs(evidence, main)
    yield from _of_chores(evidence)
    if evidence.info.finished and evidence.lost_majority is None:
        yield from _by_phase(evidence, main)


def _of_registers(info: RunInfo, main: pa.Table) -> Iterator[str]:
    share = info.load.get("read_share")
    if share is not None:
        wanted = ["read"] * (share > 0) + ["write"] * (share < 1)
        for kind in wanted:
            if not _rows(main, f=kind).num_rows:
                yield f", but there was no {kind}"
    yield from _of_one(main, int(info.load.get("live_keys", 1)))


def _of_one(main: pa.Table, planned: int) -> Iterator[str]:
    keys = [key for key in _rows(main, outcome="ok")["key"].unique().to_pylist() if key]
    if planned > 1 and len(keys) == 1:
        yield f", but all on {keys[0]} alone"


def _of_logs(evidence: Evidence, main: pa.Table) -> Iterator[str]:
    load = evidence.info.load
    for kind, of in (("send", "producers"), ("poll", "consumers")):
        if load.get(of) and not _rows(main, f=kind).num_rows:
            yield f", but there was no {kind}"
    sends = _rows(main, f="send", outcome="ok")
    yield from _of_one(sends, int(load.get("topics", 1)) * int(load.get("partitions", 1)))
    spans = evidence.tables["spans"]
    if (
        load.get("producers")
        and load.get("acks_none_share", 1) + load.get("acks_leader_share", 0) < 1
    ):
        sent = spans.filter(pc.and_(spans["sent"], pc.equal(spans["acks"], _ALL)))
        of_all = pc.sum(pc.is_in(sends["op_id"], sent["op_id"].combine_chunks())).as_py() or 0
        if of_all < ENOUGH:
            waited = counted(of_all, "send")
            yield f", but only {waited} of those that wait for all in-sync replicas succeeded"
    if load.get("consumers") and not load.get("transactional"):
        polled = spans.filter(pc.invert(spans["sent"]))
        polls = _rows(main, f="poll", outcome="ok")
        given = pc.sum(pc.is_in(polled["op_id"], polls["op_id"].combine_chunks())).as_py() or 0
        if not given:
            yield ", but consumers were given nothing before the final reads"


def _of_chores(evidence: Evidence) -> Iterator[str]:
    ops = evidence.tables["ops"]
    for chore in evidence.info.load.get("chores", ()):
        for kind in _CHORES.get(chore, ()):
            if not _rows(ops, f=kind, outcome="ok").num_rows:
                yield f", but of its {chore.replace('-', ' ')} no {kind} succeeded"


def _by_phase(evidence: Evidence, main: pa.Table) -> Iterator[str]:
    """Before the first fault and after the last cure."""
    faults = [f for f in evidence.faults if f.id >= evidence.info.faults_before_load]
    if not faults or is_limited(evidence, main):
        return
    first = min(fault.t_start for fault in faults)
    last, ends = max(fault.over_ns for fault in faults), main_ends(evidence)
    before = main.filter(pc.less(pc.fill_null(main["t1"], ends), first))
    after = main.filter(pc.greater_equal(main["t0"], last))
    for phase, rows in (("before the first fault", before), ("after the last cure", after)):
        for kind, tried in _kinds(rows).items():
            if tried >= ENOUGH and not _rows(rows, f=kind, outcome="ok").num_rows:
                yield f", but none of {counted(tried, kind)} {phase} succeeded"
    changes = pa.array(_CHANGES[HistoryKind(evidence.info.history)])
    done = main.filter(pc.and_(pc.is_in(main["f"], changes), pc.equal(main["outcome"], "ok")))
    if last < ends and not pc.any(pc.greater_equal(done["t1"], last)).as_py():
        yield ", but no operation that changes anything succeeded after the last cure"
    if not evidence.info.load.get("commit_after") and before.num_rows:
        # Until then all may wait for answers that the last fault swallowed.
        free_ns = ends - last - int(request_s(evidence.info.load) * SECOND)
        yield from _never_again(before, after, first, max(free_ns, 0), ends - last)


def _never_again(
    before: pa.Table, after: pa.Table, first: int, free_ns: int, after_ns: int
) -> Iterator[str]:
    """Operations that clients did at a steady pace, and do no more."""
    took = first - pc.min(before["t0"]).as_py()
    asked = _kinds(after)
    for kind, tried in _kinds(before).items():
        due = tried * free_ns / took if took > 0 else 0.0
        if tried >= ENOUGH <= due and kind not in asked:
            yield (
                f", but there was no {kind} in the {after_ns / SECOND:.1f} s after the last cure, "
                f"and {tried:,} before the first fault"
            )


def _kinds(ops: pa.Table) -> dict[str, int]:
    found = ops["f"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in sorted(found, key=lambda row: row["values"])}


def _rows(table: pa.Table, **equal: str) -> pa.Table:
    for name, value in equal.items():
        table = table.filter(pc.equal(table[name], value))
    return table
