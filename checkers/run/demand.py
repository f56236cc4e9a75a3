"""Did clients do what they were to do, and did each kind of it succeed before and after the faults?
What is never requested cannot go wrong."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.history.history_kinds import HistoryKind
from checkers.history.sealed_run import RunInfo
from checkers.run.silence import SECOND, is_limited, main_ends

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
        yield from _never_again(before, after, first, ends - last)


def _never_again(before: pa.Table, after: pa.Table, first: int, after_ns: int) -> Iterator[str]:
    """Operations that clients did at a steady pace, and do no more."""
    took = first - pc.min(before["t0"]).as_py()
    asked = _kinds(after)
    for kind, tried in _kinds(before).items():
        due = tried * after_ns / took if took > 0 else 0.0
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
