"""Acknowledged writes are on the disks; and what became of those that nobody knows about."""

from collections import defaultdict
from dataclasses import dataclass, field

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.evidence.evidence import Evidence
from checkers.evidence.kinds import Kind
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

CHECK = "durability"
ALGORITHM = "join of acknowledged values with records by key and value, copies by offset and epoch"
CLIENT_METRICS = "16"  # the resource type that registers are made of
Written = tuple[str, str]  # key and value, as the record has them


@dataclass(slots=True)
class _Fates:
    """Writes by what the disks say about them, as rows for a witness."""

    acked: int = 0
    lost: list[dict[str, EventValue]] = field(default_factory=list)
    undecided: list[dict[str, EventValue]] = field(default_factory=list)
    failed_found: list[dict[str, EventValue]] = field(default_factory=list)
    recovered: int = 0
    dropped: int = 0  # info writes that did not happen


@check(
    "durability",
    applies=of_registers,
    source="Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def acknowledged_writes_survive(evidence: Evidence) -> CheckResult:
    """Every acknowledged write is in the committed log, on a majority of the nodes' disks.

    Needs: ops, log_records, disks; with traces, committed also means below the highest high
    watermark. An `info` write that is found there is recovered; a failed one is a violation. Where
    disks are missing, damaged or do not begin at offset 0, absence proves nothing: unknown. What
    counts are the disks of voters.
    """
    stored, complete = evidence.once(stored_values), evidence.once(complete_disks)
    voters = len(evidence.voters)
    majority = voters // 2 + 1
    fates = _Fates()
    for row in _writes(evidence):
        copies = stored.get((str(row["key"]), str(row["value"])), 0)
        found = copies >= majority
        possible = copies + voters - complete >= majority
        _sort(row, fates, found=found, possible=possible)
    return _result(evidence, fates, complete)


def _writes(evidence: Evidence) -> list[dict[str, EventValue]]:
    ops = evidence.tables["ops"]
    names = ["op_id", "process", "node", "key", "value", "outcome", "t0", "t1"]
    rows: list[dict[str, EventValue]] = (
        ops.filter(pc.equal(ops["f"], "write")).select(names).to_pylist()
    )
    return rows


def _sort(row: dict[str, EventValue], fates: _Fates, *, found: bool, possible: bool) -> None:
    match row["outcome"]:
        case "ok":
            fates.acked += 1
            if not found:
                (fates.undecided if possible else fates.lost).append(row)
        case "fail":
            if found:
                fates.failed_found.append(row)
        case _:
            fates.recovered += found
            fates.dropped += not possible


def stored_values(evidence: Evidence) -> dict[Written, int]:
    """For each written value, on how many disks its record stands at one and the same offset."""
    highest = _highest_high_watermark(evidence)
    records, voters = evidence.tables["log_records"], set(evidence.voters)
    configs = records.filter(pc.equal(records["type"], "Config"))
    copies: dict[Written, dict[tuple[int, int], set[int]]] = defaultdict(lambda: defaultdict(set))
    names = ("node", "offset", "epoch", "resource_type", "resource", "value")
    for node, offset, epoch, kind, key, value in zip(
        *(configs[name].to_pylist() for name in names), strict=True
    ):
        counts = str(kind) == CLIENT_METRICS and (highest is None or offset < highest)
        if counts and value is not None and node in voters:
            copies[(key, value)][(offset, epoch)].add(node)
    return {written: max(map(len, places.values())) for written, places in copies.items()}


def _highest_high_watermark(evidence: Evidence) -> int | None:
    events = evidence.tables["node_events"]
    highest = pc.max(events.filter(pc.equal(events["event"], "q.hwm"))["hwm"]).as_py()
    assert highest is None or isinstance(highest, int)
    return highest


def complete_disks(evidence: Evidence) -> int:
    """How many disks of voters were read whole, from offset 0 on."""
    batches = evidence.tables["log_batches"]
    starts = batches.group_by("node").aggregate([("base_offset", "min")]).to_pylist()
    begin = {row["node"]: row["base_offset_min"] for row in starts}
    voters = evidence.voters
    disks = [row for row in evidence.tables["disks"].to_pylist() if row["node"] in voters]
    return sum(row["problem"] is None and begin.get(row["node"], 0) == 0 for row in disks)


def _result(evidence: Evidence, fates: _Fates, complete: int) -> CheckResult:
    violations = fates.lost or fates.failed_found
    verdict, message = (
        Verdict.VALID,
        (
            f"{fates.acked:,} acknowledged writes are in the committed log on a majority of disks; "
            f"of unknown ones {fates.recovered:,} happened"
        ),
    )
    if violations:
        row = violations[0]
        what = "acknowledged, is lost" if fates.lost else "refused, happened nevertheless"
        verdict = Verdict.INVALID
        message = f"the write of {row['value']} at {row['key']} by process {row['process']}, {what}"
        others = len(fates.lost) + len(fates.failed_found) - 1
        message += f" (and {others:,} more)" if others else ""
    elif not fates.acked:
        verdict, message = Verdict.UNKNOWN, "no write was acknowledged"
    elif fates.undecided:
        verdict = Verdict.UNKNOWN
        message = (
            f"{len(fates.undecided):,} of {fates.acked:,} acknowledged writes were not found, "
        )
        message += f"and only {complete} of {len(evidence.voters)} disks could be read whole"
    return CheckResult(
        verdict=verdict,
        message=f"{message}{_damage(evidence)}",
        looked_at=fates.acked,
        count=len(fates.lost) + len(fates.failed_found),
        witness=[_shown(row) for row in violations[:WITNESS_LIMIT]],
        algorithm=ALGORITHM,
        facts={
            "acknowledged": fates.acked,
            "lost": len(fates.lost),
            "undecided": len(fates.undecided),
            "recovered": fates.recovered,
            "not_happened": fates.dropped,
            "failed_but_found": len(fates.failed_found),
            "whole_disks": complete,
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


def _shown(row: dict[str, EventValue]) -> dict[str, EventValue]:
    what = (
        "acknowledged, but on no majority of disks"
        if row["outcome"] == "ok"
        else "refused, but found"
    )
    times = {"t_ns": row["t0"], "t1_ns": row["t1"]}
    rest = {name: value for name, value in row.items() if name not in ("t0", "t1")}
    return {"what": what, **times, "f": "write", **rest}
