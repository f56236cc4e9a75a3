"""The order of the committed log is that of real time, and reads match it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Flags, Ints
from checkers.check import check, of_registers
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import LINEARIZABLE_READS
from checkers.registers.log_times import BEFORE_ALL, LogTimes, RegisterState, log_times, may_be_of
from checkers.registers.stored_values import NEVER, complete_disks
from checkers.verdict import CheckResult, EventValue

_SHOWN = ["op_id", "process", "node", "key", "f", "value", "outcome", "phase", "t0", "t1"]
_NEEDS = "the metadata log on a majority of the voters' disks"
_LATER = 1 << 40  # more than there are events


@check(
    "written-in-order",
    applies=of_registers,
    source="Raft, Leader Completeness; KIP-595: a leader appends behind all that is committed",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def written_in_order(evidence: Evidence) -> CheckResult:
    """A write that was asked for after another one was acknowledged is behind it in the committed
    log, whatever their registers.

    Judged are values that were asked for once and are there once: for others it is unknown which
    attempt a record belongs to. From the committed log and the operations.
    """
    times = evidence.once(log_times)
    if times is None:
        return conclude(
            looked_at=0, unit="records", violations=[], needs=_NEEDS, holds="", algorithm=""
        )
    before = (
        np.concatenate([[BEFORE_ALL], times.earliest[:-1]]) if len(times.earliest) else times.begun
    )
    wrong = np.flatnonzero(before > times.done)
    judged = int(np.count_nonzero(times.done != NEVER))
    return conclude(
        looked_at=judged,
        unit="acknowledged records of the committed log",
        violations=[_out_of_order(evidence, times, int(row)) for row in wrong],
        needs=_NEEDS,
        holds="none is behind a record that was asked for after it was acknowledged",
        algorithm="the latest invocation of all before a record, against its acknowledgement",
        nothing=evidence.below_snapshots,
    )


def _out_of_order(evidence: Evidence, times: LogTimes, row: int) -> Violation:
    first = int(np.argmax(times.begun[:row]))
    early, late = times.records[first], times.records[row]
    text = f"{late.value} of {late.key} is at offset {late.offset} of the committed log, behind "
    text += f"{early.value} of {early.key} at {early.offset}, which was asked for only after the "
    text += "first had been acknowledged"
    return Violation(
        text,
        [
            *_write_of(evidence, (late.key, late.value), f"acknowledged, at offset {late.offset}"),
            *_write_of(evidence, (early.key, early.value), f"began then, at offset {early.offset}"),
        ],
    )


def _write_of(evidence: Evidence, state: RegisterState, what: str) -> list[dict[str, EventValue]]:
    ops, (key, value) = evidence.tables["ops"], state
    writes = ops.filter(pc.and_(pc.equal(ops["f"], "write"), pc.equal(ops["key"], key)))
    same = writes.filter(pc.equal(pc.cast(writes["value"], pa.string()), value))
    return [_shown(row, what) for row in same.select(_SHOWN).to_pylist()[:1]]


def _shown(row: Mapping[str, Any], what: str) -> dict[str, EventValue]:
    rest = {name: value for name, value in row.items() if name not in ("t0", "t1")}
    return {"what": what, "t_ns": row["t0"], "t1_ns": row["t1"], **rest}


@check(
    "reads-match-the-log",
    applies=of_registers,
    source="Herlihy and Wing, 1990: the log is the order that explains what was read",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def reads_match_the_log(evidence: Evidence) -> CheckResult:
    """A read returns the value that its register had in the committed log at a moment during the
    read; a final read, the value at the log's end.

    The operations with records before and after a value bound when the register had it. A target
    that does not promise linearizable reads may return an earlier value, in the final reads one of
    a few seconds ago, but never a later one. Below a snapshot with which the log begins, and if
    disks that may hold more cannot be read, values are unknown. From the committed log and the
    operations.
    """
    times = evidence.once(log_times)
    ops = evidence.tables["ops"]
    reads = ops.filter(pc.and_(pc.equal(ops["f"], "read"), pc.equal(ops["outcome"], "ok")))
    if times is None:
        return conclude(
            looked_at=0, unit="reads", violations=[], needs=_NEEDS, holds="", algorithm=""
        )
    wrong = np.flatnonzero(_unexplained(evidence, times, reads))
    found = [_unlike(times, reads.slice(int(row), 1)) for row in wrong]
    whole = times.complete
    return conclude(
        looked_at=reads.num_rows,
        unit="reads",
        violations=found if whole else [],
        needs=f"{_NEEDS}, and reads that were answered",
        holds="each returned what the committed log had then",
        algorithm="when registers had which value by the log, against when they were read",
        gaps=[f"{found[0].message}; but only {complete_disks(evidence)} could be read completely"]
        if found and not whole
        else [],
    )


def _unexplained(evidence: Evidence, times: LogTimes, reads: pa.Table) -> Flags:
    begun, done = reads["invoke_index"].to_numpy(), reads["complete_index"].to_numpy()
    code, state = _coded(reads, times)
    if LINEARIZABLE_READS not in evidence.info.promises:
        # At the end, when all is healed, no node leads that was deposed long ago.
        final = pc.equal(reads["phase"], "final").to_numpy()
        rows = reads.filter(pa.array(final)).select(["invoke_index", "t0"]).to_pylist()
        begun = np.zeros(len(begun), np.int64)
        begun[final] = [may_be_of(evidence, row) for row in rows]
    order = np.argsort(state.code, kind="stable")
    codes, earliest, latest = state.code[order], state.earliest[order], state.latest[order]
    # For each state, the first stretch that had not ended when the read began.
    at = np.searchsorted(codes * _LATER + np.minimum(latest, _LATER - 1), code * _LATER + begun)
    inside = at < len(codes)
    at = np.minimum(at, max(len(codes) - 1, 0))
    explained = inside & (codes[at] == code) & (earliest[at] <= done) if len(codes) else inside
    unknown = np.array([times.unknown_until.get(key, BEFORE_ALL) for key in _keys(reads)], np.int64)
    which = reads["key"].combine_chunks().dictionary_encode().indices.to_numpy()
    may_be_below = unknown[which] >= begun if len(unknown) else np.zeros(len(begun), np.bool_)
    flags: Flags = ~(explained | may_be_below)
    return flags


def _keys(reads: pa.Table) -> Sequence[str]:
    keys: list[str] = reads["key"].combine_chunks().dictionary_encode().dictionary.to_pylist()
    return keys


class _States:
    """The stretches of the log, each with the number of its state."""

    def __init__(self, times: LogTimes) -> None:
        self.numbers: dict[RegisterState, int] = {}
        numbers = self.numbers
        self.code = _column(
            [numbers.setdefault(each.state, len(numbers)) for each in times.stretches]
        )
        self.earliest = _column([each.earliest for each in times.stretches])
        self.latest = _column([each.latest for each in times.stretches])


def _column(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)


def _coded(reads: pa.Table, times: LogTimes) -> tuple[Ints, _States]:
    """For each read the number of the state that it returned; of no stretch, if there is none."""
    states = _States(times)
    keys = reads["key"].combine_chunks().dictionary_encode()
    valued = reads["value"].is_valid().to_numpy()
    pairs = np.stack(
        [
            keys.indices.to_numpy().astype(np.int64),
            valued.astype(np.int64),
            reads["value"].fill_null(0).to_numpy(),
        ],
        axis=1,
    )
    different, which = np.unique(pairs, axis=0, return_inverse=True)
    names = keys.dictionary.to_pylist()
    none = len(states.numbers)
    numbers = [
        states.numbers.get((names[key], str(value) if has_value else None), none)
        for key, has_value, value in different.tolist()
    ]
    return _column(numbers)[which.reshape(-1)], states


def _unlike(times: LogTimes, read: pa.Table) -> Violation:
    row = read.to_pylist()[0]
    key, value = row["key"], row["value"]
    stands = [each.offset for each in times.records if (each.key, each.value) == (key, str(value))]
    last = next((each for each in reversed(times.records) if each.key == key), None)
    told = "nothing" if value is None else str(value)
    text = f"process {row['process']} read {told} at {key}"
    text += f" in the {row['phase']} phase from node {row['node']}, "
    if value is not None and not stands:
        text += "which the committed log does not have"
    elif row["phase"] == "final" and last is not None:
        text += f"but the last that the committed log has is {last.value} at offset {last.offset}"
    else:
        text += "but the committed log had another one at that time"
    shown = [
        _shown({name: row[name] for name in _SHOWN}, "read a value that the log does not have")
    ]
    if last is not None:
        shown.append(
            {"what": "the last of it in the committed log", "key": key, "value": last.value}
            | {"offset": last.offset, "node": last.node}
        )
    return Violation(text, shown)
