"""Acknowledged writes are on the disks; and what became of those that nobody knows about."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.registers.stored_records import stored_records
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

CHECK = "durability"
ALGORITHM = "join of acknowledged values with records by key and value, copies by offset and epoch"
NEWEST = (1 << 63) - 1  # an offset behind all records
Written = tuple[str, str]  # key and value, as the record has them


class Fate(StrEnum):
    """What the disks say of one write. `OPEN`: it timed out, and they do not tell."""

    SURVIVED = "survived"
    LOST = "lost"
    UNDECIDED = "undecided"
    RECOVERED = "recovered"
    NOT_HAPPENED = "not happened"
    OPEN = "open"
    UNEXPECTED = "unexpected"
    REFUSED = "refused"


_Row = dict[str, EventValue]
_Fates = Mapping[Fate, Sequence[_Row]]


@check(
    "durability",
    applies=of_registers,
    source="Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.TRACES),
)
def acknowledged_writes_survive(evidence: Evidence) -> CheckResult:
    """Every acknowledged write is in the committed log, on a majority of the nodes' disks.

    Needs: ops, log_records, disks; with traces, committed also means below the highest high
    watermark. An `info` write that is found there is recovered; a failed one is a violation. Where
    disks are missing, damaged or do not begin at offset 0, absence proves nothing: unknown. What
    counts are the disks of voters. A write that is sent again has the value of the first: a failed
    one happened if the value stands more often than all the others can have put it there.
    """
    fates: dict[Fate, list[_Row]] = {fate: [] for fate in Fate}
    for row, fate in fates_of_writes(evidence):
        fates[fate].append(row)
    return _result(evidence, fates)


def fates_of_writes(evidence: Evidence) -> Iterator[tuple[_Row, Fate]]:
    """Every write as a row of `OPS`, in their order, and what became of it."""
    stored, nowhere = evidence.once(stored_values), evidence.once(nowhere_stored)
    writes = _writes(evidence)
    others = Counter(_written(row) for row in writes if row["outcome"] != "fail")
    for row in writes:
        held = stored.get(_written(row), nowhere)
        least = others[_written(row)] if row["outcome"] == "fail" else 0
        yield row, _fate(row["outcome"], found=held.times > least, possible=held.possible)


def _written(row: _Row) -> Written:
    return str(row["key"]), str(row["value"])


def _writes(evidence: Evidence) -> list[_Row]:
    ops = evidence.tables["ops"]
    names = ["op_id", "process", "node", "key", "value", "outcome", "t0", "t1"]
    rows: list[_Row] = ops.filter(pc.equal(ops["f"], "write")).select(names).to_pylist()
    return rows


def _fate(outcome: EventValue, *, found: bool, possible: bool) -> Fate:
    match outcome:
        case "ok":
            return Fate.SURVIVED if found else Fate.UNDECIDED if possible else Fate.LOST
        case "fail":
            return Fate.UNEXPECTED if found else Fate.REFUSED
    return Fate.RECOVERED if found else Fate.OPEN if possible else Fate.NOT_HAPPENED


@dataclass(frozen=True, slots=True)
class StoredOn:
    """What the disks have of one value. `possible`: those that were not read may have the rest."""

    times: int  # the offsets at which a majority of the voters has it
    most: int  # the most voters that have it at one offset
    possible: bool


def stored_values(evidence: Evidence) -> dict[Written, StoredOn]:
    """For each value that stands on a disk, whether a majority of the voters has it."""
    highest, disks = _highest_high_watermark(evidence), evidence.disks
    copies: dict[Written, dict[tuple[int, int], set[ReplicaKey]]]
    copies = defaultdict(lambda: defaultdict(set))
    summed_up: dict[Written, dict[ReplicaKey, int]] = defaultdict(dict)
    for record in evidence.once(stored_records):
        written, disk = (record.key, record.value), disks.get(record.node, ReplicaKey(record.node))
        if record.in_snapshot:
            summed_up[written][disk] = record.offset
        elif highest is None or record.offset < highest:
            copies[written][(record.offset, record.epoch)].add(disk)
    for written, ends in summed_up.items():
        # It lies below each of these snapshots' ends: where the others' logs have it, or nowhere.
        places = copies[written] or {(min(ends.values()), 0): set()}
        copies[written] = {
            place: {*having, *(disk for disk, end in ends.items() if place[0] <= end)}
            for place, having in places.items()
        }
    return {written: _held(evidence, places) for written, places in copies.items()}


def nowhere_stored(evidence: Evidence) -> StoredOn:
    """Of a value that no disk has."""
    return _held(evidence, {})


def _held(evidence: Evidence, places: Mapping[tuple[int, int], set[ReplicaKey]]) -> StoredOn:
    whole = evidence.once(whole_disks)
    times, most, possible = 0, 0, False
    for (offset, _), having in (places or {(NEWEST, 0): set()}).items():
        has_majority = False
        for voters in _deciding(evidence, offset):
            count = voters.count(having)
            most = max(most, count)
            possible |= count + len(voters.keys) - voters.count(whole) >= voters.majority
            has_majority |= count >= voters.majority
        times += has_majority
    return StoredOn(times, most, possible)


def _deciding(evidence: Evidence, offset: int) -> Sequence[VoterSet]:
    """The sets of voters of which a majority has to have what is committed there: the last that is
    committed itself, and any behind it. One of them is enough, for it held when the record was."""
    log = evidence.committed_log
    return evidence.voters.since(max(offset, log.end - 1 if log else 0))


def _highest_high_watermark(evidence: Evidence) -> int | None:
    events = evidence.tables["node_events"]
    highest = pc.max(events.filter(pc.equal(events["event"], "q.hwm"))["hwm"]).as_py()
    assert highest is None or isinstance(highest, int)
    return highest


def whole_disks(evidence: Evidence) -> frozenset[ReplicaKey]:
    """The disks that were read whole, from offset 0 on."""
    batches = evidence.tables["log_batches"]
    starts = batches.group_by("node").aggregate([("base_offset", "min")]).to_pylist()
    begin = {row["node"]: row["base_offset_min"] for row in starts}
    return frozenset(
        evidence.disks[row["node"]]
        for row in evidence.tables["disks"].to_pylist()
        if row["problem"] is None and begin.get(row["node"], 0) == 0
    )


def told_whole(evidence: Evidence) -> str:
    """How many disks of the voters could be read whole, in words."""
    voters = evidence.voters.newest
    return f"{voters.count(evidence.once(whole_disks))} of {len(voters.keys)} disks"


def _result(evidence: Evidence, fates: _Fates) -> CheckResult:
    lost, unexpected, undecided = (
        fates[fate] for fate in (Fate.LOST, Fate.UNEXPECTED, Fate.UNDECIDED)
    )
    acknowledged = len(fates[Fate.SURVIVED]) + len(lost) + len(undecided)
    recovered = len(fates[Fate.RECOVERED])
    violations = lost or unexpected
    verdict, message = (
        Verdict.VALID,
        (
            f"{counted(acknowledged, 'acknowledged write is', 'acknowledged writes are')} in the "
            f"committed log on a majority of disks; of unknown ones {recovered:,} happened"
        ),
    )
    if violations:
        row = violations[0]
        what = "acknowledged, is lost" if lost else "refused, happened nevertheless"
        verdict = Verdict.INVALID
        message = f"the write of {row['value']} at {row['key']} by process {row['process']}, {what}"
        others = len(lost) + len(unexpected) - 1
        message += f" (and {others:,} more)" if others else ""
    elif not acknowledged:
        verdict, message = Verdict.UNKNOWN, "no write was acknowledged"
    elif undecided:
        verdict = Verdict.UNKNOWN
        message = f"{len(undecided):,} of {acknowledged:,} acknowledged writes were not found, "
        message += f"and only {told_whole(evidence)} could be read whole"
    return CheckResult(
        verdict=verdict,
        message=f"{message}{_damage(evidence)}",
        looked_at=acknowledged,
        count=len(lost) + len(unexpected),
        witness=[_shown(row) for row in violations[:WITNESS_LIMIT]],
        algorithm=ALGORITHM,
        facts={
            "acknowledged": acknowledged,
            "lost": len(lost),
            "undecided": len(undecided),
            "recovered": recovered,
            "not_happened": len(fates[Fate.NOT_HAPPENED]),
            "failed_but_found": len(unexpected),
            "whole_disks": evidence.voters.newest.count(evidence.once(whole_disks)),
        },
    )


def _damage(evidence: Evidence) -> str:
    """What could not be read, so that it is never hidden behind a verdict."""
    problems = [
        f"node {row['node']}: {row['problem']}"
        for row in evidence.tables["disks"].to_pylist()
        if row["problem"] is not None
    ]
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"; damaged disks: {problems[0]}{more}" if problems else ""


def _shown(row: _Row) -> _Row:
    what = (
        "acknowledged, but on no majority of disks"
        if row["outcome"] == "ok"
        else "refused, but found"
    )
    times = {"t_ns": row["t0"], "t1_ns": row["t1"]}
    rest = {name: value for name, value in row.items() if name not in ("t0", "t1")}
    return {"what": what, **times, "f": "write", **rest}
