"""Do look-ups by time find the existing records, and do read-committed consumers pass ended
transactions?"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.partition_logs import split
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

# Ended transactions: do read-committed consumers still wait for one?


INIT, END, SEND = "init-transactions", "committed-end", "send"
IS_COMMITTED = "is-committed"
STANDS_FOR_S = 3.0  # how long an end has to stand still
_SECOND = 1_000_000_000

_Operation = dict[str, Any]


def of_transactions(info: RunInfo) -> bool:
    """Applies where producers are transactional."""
    return bool(info.load.get("transactional", False))


@check(
    "ended-transactions-are-over",
    applies=of_transactions,
    source="KIP-98: initTransactions completes or aborts what its transactional id had open",
    rests_on=(Kind.OPERATIONS,),
)
def ended_transactions_are_over(evidence: Evidence) -> CheckResult:
    """Once every transactional id was initialised again and all sends are over, read-committed
    consumers read as far as read-uncommitted ones.

    The measure is what the final reads were given: a lost record holds up no consumer. The last
    stable offset that a leader answers has to stay below it for 3 s. If every coordinator said
    before that the last transaction was committed, the message says so. Needs: ops, spans.
    """
    ops = evidence.tables["ops"]
    inits, told = (_operations(ops, f) for f in (INIT, END))
    over, gaps = _all_over(inits, ops)
    committed = _all_committed(inits, ops)
    read = _read_at_the_end(evidence)
    violations: list[Violation] = []
    keys = sorted({row["key"] for row in told})
    for key in keys if over is not None else ():
        answers = [row for row in told if row["key"] == key and row["t0"] >= over]
        answers = [row for row in answers if row["outcome"] == "ok"]
        if not answers:
            gaps.append(f"no answer says how far committed transactions can be read in {key}")
        elif answers[-1]["value"] >= read.get(key, 0):
            continue
        elif answers[-1]["t0"] - answers[0]["t0"] < STANDS_FOR_S * _SECOND:
            gaps.append(f"{key} was not asked for {STANDS_FOR_S:g} s")
        else:
            violations.append(_standstill(inits, answers, read[key], committed))
    return conclude(
        looked_at=len(keys),
        unit="logs that transactions were sent to",
        violations=violations,
        needs="operations on transactions",
        holds="committed transactions can be read to the end, once all were ended",
        algorithm="the end of committed transactions against the final reads",
        gaps=gaps,
    )


def _operations(ops: pa.Table, f: str) -> list[_Operation]:
    found: list[_Operation] = ops.filter(pc.equal(ops["f"], f)).to_pylist()
    return found


def _all_over(inits: Sequence[_Operation], ops: pa.Table) -> tuple[int | None, list[str]]:
    """From when on no transaction may be open; None, with the reason, if that never came about."""
    if not inits:
        return None, []
    over: int = 0
    for owner in sorted({row["key"] for row in inits}):
        done = [row["t1"] for row in inits if row["key"] == owner and row["outcome"] == "ok"]
        if not done:
            return None, [f"the transactional id {owner} was never initialised again"]
        over = max(over, done[-1])
    if any(row["t0"] >= over for row in _operations(ops, SEND)):
        return None, ["a client sent something afterwards"]
    return over, []


def _all_committed(inits: Sequence[_Operation], ops: pa.Table) -> Sequence[_Operation]:
    """What coordinators answered about the transactional ids at the end; empty, unless all of them
    said of each that its last transaction is committed."""
    told = [row for row in _operations(ops, IS_COMMITTED) if row["phase"] == "final"]
    by_owner = {row["key"]: row for row in told if row["outcome"] == "ok"}
    owners = {row["key"] for row in inits}
    all_are = owners <= by_owner.keys() and all(row["value"] for row in by_owner.values())
    return [by_owner[owner] for owner in sorted(owners)] if all_are else []


def _read_at_the_end(evidence: Evidence) -> Mapping[str, int]:
    """By log, the offset behind the last record that the final reads were given."""
    ops = evidence.tables["ops"]
    final = ops.filter(pc.equal(ops["phase"], "final"))["op_id"].combine_chunks()
    polled = evidence.polled.filter(pc.is_in(evidence.polled["op_id"], value_set=final))
    return {
        str(key): int(pc.max(pc.add(part["offset"], part["records"])).as_py())
        for (key,), part in split(polled, "key").items()
    }


def _standstill(
    inits: Sequence[_Operation],
    answers: Sequence[_Operation],
    read: int,
    committed: Sequence[_Operation],
) -> Violation:
    first, last = answers[0], answers[-1]
    seconds = (last["t0"] - first["t0"]) / _SECOND
    shown = [*committed[-3:], *inits[-3:], first, last]
    known = ", each of which its coordinator had called committed before" if committed else ""
    return Violation(
        f"hanging transaction in {last['key']}: committed transactions can be read up to offset "
        f"{last['value']:,} of {read:,}, {seconds:.0f} s after every transactional id was "
        f"initialised again{known}",
        [
            {name: row[name] for name in ("op_id", "f", "key", "value", "node", "outcome")}
            | {"what": row["f"], "t_ns": row["t0"]}
            for row in shown
        ],
    )


PUT, LOOK_UP = "put", "look-up"
NONE = -1  # the offset where there is no such record
_SHOWN = ("op_id", "process", "node", "f", "key", "value")


def looks_up(info: RunInfo) -> bool:
    """Applies where a client looks up offsets by time."""
    return "looking-up" in info.load.get("chores", ())


@check(
    "look-ups-find-records",
    applies=looks_up,
    source="KIP-79: the first offset with the timestamp that is asked for or a later one",
    rests_on=(Kind.FAULTS,),
)
def look_ups_find_records(evidence: Evidence) -> CheckResult:
    """Once a record was acknowledged, a look-up of a time before every record returns an offset:
    the newest record of a log is neither compacted away nor too old to be kept.

    After a fault by which records may be lost nothing is judged, nor if the run set a retention
    time. Needs: ops.
    """
    ops = evidence.tables["ops"]
    first = _first_puts(ops)
    until = min((f.t_start for f in evidence.faults if f.may_lose or f.wipes), default=None)
    told = [row for row in _succeeded(ops, LOOK_UP) if _comes_after(first.get(row["key"]), row)]
    sure = [row for row in told if until is None or row["t1"] < until]
    if any(name.startswith("log.retention.") for name in evidence.info.settings):
        sure = []
    return conclude(
        looked_at=len(sure),
        unit="look-ups by time",
        violations=[_blind(row, first[row["key"]]) for row in sure if row["value"] == NONE],
        needs="look-ups after a record was acknowledged",
        holds="each returned an offset",
        algorithm="look-ups after the first acknowledged record of a log",
    )


def _succeeded(ops: pa.Table, f: str) -> list[_Operation]:
    ok = pc.and_(pc.equal(ops["f"], f), pc.equal(ops["outcome"], "ok"))
    found: list[_Operation] = ops.filter(ok).to_pylist()
    return found


def _first_puts(ops: pa.Table) -> Mapping[str, _Operation]:
    """By log, the record that was acknowledged first."""
    found: dict[str, _Operation] = {}
    for row in sorted(_succeeded(ops, PUT), key=lambda row: row["complete_index"]):
        found.setdefault(row["key"], row)
    return found


def _comes_after(put: _Operation | None, row: _Operation) -> bool:
    return put is not None and bool(row["invoke_index"] > put["complete_index"])


def _blind(row: _Operation, put: _Operation) -> Violation:
    seconds = (row["t0"] - put["t1"]) / 1e9
    return Violation(
        f"lost timestamps in {row['key']}: node {row['node']} finds no record that is younger "
        f"than 1970, {seconds:.1f} s after one was acknowledged",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (put, row)
        ],
    )
