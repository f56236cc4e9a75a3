"""Is each record processed once, where a group transforms a log in transactions?

What a transaction processed and how far the group has come stand or fall together, so at the end
the committed output tells of each record below what the group has committed, of each once, and of
no other. That is so whatever members did meanwhile: died, fell silent, or were too late.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.promised import topic_of
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult, counted

TRANSFORM, PROCESSED = "transform", "processed"
PROCESSED_END, PROCESSED_UP_TO = "processed-end", "processed-up-to"
CHORE = "transforming"
_INTERNAL = ("__consumer_offsets", "__transaction_state")
_SHOWN = ("op_id", "process", "node", "f", "key", "value", "request", "outcome")

_Operation = dict[str, Any]
_Record = tuple[str, int]  # log and offset


def transforms(info: RunInfo) -> bool:
    """Applies where a group transforms what clients send, in transactions."""
    return CHORE in info.load.get("chores", ())


@check(
    "each-record-is-processed-once",
    applies=transforms,
    source="KIP-98, KIP-447, KIP-890: consume, transform, produce",
    rests_on=(Kind.OPERATIONS, Kind.FAULTS),
)
def each_is_processed_once(evidence: Evidence) -> CheckResult:
    """Each record of a log up to where a group has come in it is processed by exactly one committed
    transaction, and none beyond it by any.

    As readers of committed transactions see it, once every transactional id was initialised anew:
    what a transaction puts out names the record that it processed, and the transaction. One that
    was acknowledged as committed stands whole; of one with an unknown outcome, all or nothing; of
    one that was aborted, or never asked to commit, nothing. Records count from offset 0. Not
    judged after a fault by which acknowledged records may be lost, or where unclean elections were
    asked for. Where the output was not read to its end nothing is said of what is missing in it.
    Needs: ops.
    """
    recorded = _Recorded.of(evidence.tables["ops"])
    why_lost = _may_be_lost(evidence)
    gaps = [*_gaps(recorded)]
    looked_at, violations = 0, list[Violation]()
    if not why_lost:
        violations = [
            *_of_transactions(recorded, whole=not gaps),
            *_of_logs(recorded, whole=not gaps),
        ]
        looked_at = sum(recorded.up_to.values()) if recorded.committed else 0
    result = conclude(
        looked_at=looked_at,
        unit="records that a group has come past",
        violations=violations,
        needs="committed transactions, their output, and how far the group has come",
        holds="each was processed by one committed transaction",
        algorithm="the committed output, read to its end, against transactions and their offsets",
        gaps=gaps,
        nothing=why_lost,
    )
    ended = Counter(rows[0]["outcome"] for rows in recorded.transactions.values())
    return replace(
        result,
        facts={
            **result.facts,
            "committed": ended["ok"],
            "aborted": ended["fail"],
            "in_doubt": ended["info"],
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """What members did, and what was told at the end."""

    transactions: Mapping[int, Sequence[_Operation]]  # by number, an operation for each record
    output: Sequence[_Operation]
    is_read: bool  # to its end
    up_to: Mapping[str, int]  # by log
    read: Sequence[_Operation]  # answers that told how far

    @classmethod
    def of(cls, ops: pa.Table) -> "_Recorded":
        transactions: dict[int, list[_Operation]] = defaultdict(list)
        for row in _of(ops, TRANSFORM):
            transactions[row["request"]].append(row)
        read = [row for row in _of(ops, PROCESSED_UP_TO) if row["outcome"] == "ok"]
        return cls(
            transactions=transactions,
            output=[row for row in _of(ops, PROCESSED) if row["outcome"] == "ok"],
            is_read=any(row["outcome"] == "ok" for row in _of(ops, PROCESSED_END)),
            up_to={row["key"]: row["value"] for row in read},
            read=read,
        )

    @property
    def committed(self) -> int:
        """Transactions that were acknowledged as such."""
        return sum(rows[0]["outcome"] == "ok" for rows in self.transactions.values())

    @property
    def logs(self) -> set[str]:
        return {row["key"] for rows in self.transactions.values() for row in rows}


def _of(ops: pa.Table, f: str) -> list[_Operation]:
    found: list[_Operation] = ops.filter(pc.equal(ops["f"], f)).to_pylist()
    return found


def _may_be_lost(evidence: Evidence) -> str:
    """Why what was acknowledged may be gone; "" where it may not."""
    for fault in evidence.faults:
        if (fault.may_lose or fault.wipes or fault.damages_bytes) and fault.may_have_bitten:
            return f"records may be lost after {fault.kind}"
    output = {topic_of(row["key"]) for row in _of(evidence.tables["ops"], PROCESSED_END)}
    for topic in sorted({*output, *_INTERNAL}):
        if evidence.promised.unclean(topic):
            return f"unclean elections of {topic} were asked for"
    return ""


def _gaps(recorded: _Recorded) -> Iterator[str]:
    if recorded.transactions and not recorded.committed:
        yield "no transaction was acknowledged as committed"
    if not recorded.is_read:
        yield "the committed output was not read to its end"
    for key in sorted(recorded.logs - recorded.up_to.keys()):
        yield f"no answer says how far the group has come in {key}"


def _of_transactions(recorded: _Recorded, *, whole: bool) -> Iterator[Violation]:
    """Each stands as it ended."""
    seen: dict[int, list[_Operation]] = defaultdict(list)
    for row in recorded.output:
        seen[row["request"]].append(row)
    for number, output in sorted(seen.items(), key=lambda one: str(one[0])):
        asked = {_record(row) for row in recorded.transactions.get(number, ())}
        strange = [row for row in output if _record(row) not in asked]
        if strange:
            what = _name(strange[0])
            yield _accused(f"made-up record: transaction {number} never processed {what}", strange)
    for number, rows in sorted(recorded.transactions.items()):
        output = seen.get(number, [])
        missing = [row for row in rows if _record(row) not in set(map(_record, output))]
        name = f"transaction {number}, of {counted(len(rows), 'record')} from {_name(rows[0])} on"
        if rows[0]["outcome"] == "fail" and output:
            text = f"aborted transaction that is read: {name}, was never to be committed"
            yield _accused(text, [*rows[:3], *output])
        elif rows[0]["outcome"] == "ok" and missing and whole:
            text = f"lost transaction: {name}, was acknowledged as committed; the output lacks "
            yield _accused(f"{text}{counted(len(missing), 'record')} of it", [*missing, *output])
        elif rows[0]["outcome"] == "info" and output and missing and whole:
            text = f"torn transaction: {name}; the output has {len(output):,} of them"
            yield _accused(text, [*missing, *output])


def _of_logs(recorded: _Recorded, *, whole: bool) -> Iterator[Violation]:
    """Each record below the committed offset once, and none from there on."""
    by: dict[_Record, list[_Operation]] = defaultdict(list)
    for row in recorded.output:
        by[_record(row)].append(row)
    for (key, offset), rows in sorted(by.items()):
        if len(rows) > 1:
            numbers = " and ".join(str(row["request"]) for row in rows[:2])
            text = f"processed twice: offset {offset:,} of {key}, by transactions {numbers}"
            yield _accused(text, [*_transforming(recorded, key, offset), *rows])
        end = recorded.up_to.get(key)
        if end is not None and offset >= end:
            text = f"processed and not committed: offset {offset:,} of {key}, and the group has "
            yield _accused(f"{text}come to {end:,}", [*rows, *_reads(recorded, key)])
    for key, end in sorted(recorded.up_to.items()) if whole else ():
        found = sorted(offset for each, offset in by if each == key and offset < end)
        skipped = next((at for at, offset in enumerate(found) if at != offset), len(found))
        if skipped < end:
            text = f"skipped: offset {skipped:,} of {key}, and the group has come to {end:,}"
            shown = _transforming(recorded, key, skipped)
            yield _accused(text, [*shown, *_reads(recorded, key)])


def _transforming(recorded: _Recorded, key: str, offset: int) -> list[_Operation]:
    """The attempts to process a record."""
    rows = (row for each in recorded.transactions.values() for row in each)
    return [row for row in rows if _record(row) == (key, offset)]


def _reads(recorded: _Recorded, key: str) -> list[_Operation]:
    return [row for row in recorded.read if row["key"] == key]


def _record(row: _Operation) -> _Record:
    return row["key"], row["value"]


def _name(row: _Operation) -> str:
    return f"{row['key']} at offset {row['value']:,}"


def _accused(text: str, rows: Sequence[_Operation]) -> Violation:
    shown = [
        {"what": row["f"], "t_ns": row["t0"], **{name: row[name] for name in _SHOWN}}
        for row in rows
    ]
    return Violation(text, shown)
