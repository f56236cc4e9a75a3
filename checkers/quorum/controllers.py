"""The controller on top of the quorum: M2 and M4; and reads are committed."""

from collections.abc import Iterator
from itertools import pairwise

import pyarrow.compute as pc

from checkers.check import check, everywhere, of_registers, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, gaps, witness
from checkers.evidence.planned import Kind
from checkers.quorum.epochs import leader_changes, led_from
from checkers.registers.asked_for import first_begun
from checkers.registers.stored_values import stored_on, told_whole
from checkers.verdict import CheckResult

_Operation = dict[str, int | str]
_SHOWN = ["op_id", "process", "node", "key", "f", "value", "outcome", "phase", "t0", "t1"]


@check(
    "reads-are-committed",
    applies=of_registers,
    source="KAFKA-20839",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def reads_are_committed(evidence: Evidence) -> CheckResult:
    """A value that a client reads is committed: it is in the log, on a majority of disks.

    A controller that shows effects of uncommitted writes shows a state that no log has. Needs: ops,
    log_records, disks; if disks are missing or damaged, absence proves nothing; nor does it if a
    value may have been overwritten below the snapshots with which logs begin. (KAFKA-20839)
    """
    looked_at, missing, violations = 0, 0, []
    for key, value, row in _values_read(evidence):
        held = stored_on(evidence, (key, value), first_begun(evidence, (key, value)))
        looked_at += not held.overwritten
        if held.times or held.overwritten:
            continue
        if held.possible:
            missing += 1
            continue
        violations.append(_phantom(evidence, row, held.most))
    return conclude(
        looked_at=looked_at,
        unit="values read",
        violations=violations,
        needs="reads that returned a value",
        holds="each is in the committed log on a majority of disks",
        algorithm="join of values read with records by key and value",
        nothing=evidence.below_snapshots,
        gaps=[
            f"{missing:,} were not found, and only {told_whole(evidence)} could be read completely"
        ]
        if missing
        else [],
    )


def _values_read(evidence: Evidence) -> Iterator[tuple[str, str, _Operation]]:
    """Each value once, by the first read that returned it."""
    ops = evidence.tables["ops"]
    reads = ops.filter(pc.and_(pc.equal(ops["f"], "read"), pc.equal(ops["outcome"], "ok")))
    seen = set()
    for row in reads.filter(reads["value"].is_valid()).select(_SHOWN).to_pylist():
        if (row["key"], row["value"]) not in seen:
            seen.add((row["key"], row["value"]))
            yield row["key"], str(row["value"]), row


def _phantom(evidence: Evidence, row: _Operation, found: int) -> Violation:
    on = (
        "no disk has"
        if not found
        else f"only {found} of {len(evidence.voters.newest.keys)} disks have"
    )
    shown = [_shown(row, "read a value that is in no committed log")]
    for write in _writes_of(evidence, row)[:1]:
        shown.insert(0, _shown(write, "asked for that value; it was never committed"))
    return Violation(
        f"node {row['node']} showed {row['value']} at {row['key']} to process {row['process']}, "
        f"but {on} a record of it: it is in no committed log",
        shown,
    )


def _writes_of(evidence: Evidence, row: _Operation) -> list[_Operation]:
    """The operations that asked for the value of a read."""
    ops = evidence.tables["ops"]
    same = pc.and_(pc.equal(ops["key"], row["key"]), pc.equal(ops["value"], row["value"]))
    writes = ops.filter(pc.and_(same, pc.equal(ops["f"], "write")))
    found: list[_Operation] = writes.select(_SHOWN).to_pylist()
    return found


def _shown(row: _Operation, what: str) -> _Operation:
    rest = {name: value for name, value in row.items() if name not in ("t0", "t1")}
    return {"what": what, "t_ns": row["t0"], "t1_ns": row["t1"], **rest}


@check(
    "M2-active-after-replay",
    applies=traced,
    source="KAFKA-17333",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def active_after_replay(evidence: Evidence) -> CheckResult:
    """M2: A controller is active only once it has replayed its epoch's LeaderChange.

    Only then is its image that of the whole log; earlier decisions rest on a stale one. From
    c.active and the offset of the epoch's LeaderChange. (KAFKA-17333)
    """
    found = evidence.lives
    starts = {row["epoch"]: row["offset"] for row in evidence.once(leader_changes)}
    looked_at, violations = 0, []
    for life in found:
        states = life.events("q.state")
        elected = {event.epoch: event for event in states if event.state == "leader"}
        led = led_from(life).items()
        own = {epoch: int(life.traces.column("base")[row]) for epoch, row in led} | starts
        for event in life.events("c.active"):
            if event.epoch in own and event.offset is not None:
                looked_at += 1
                if event.offset <= own[event.epoch]:
                    violations.append(_too_early(event, elected, own[event.epoch]))
    return conclude(
        looked_at=looked_at,
        unit="claims of controllers",
        violations=violations,
        needs=NEED,
        holds="each had replayed all records that were in its log when it was elected",
        algorithm="offset at activation, against the epoch's LeaderChange",
        gaps=gaps(found),
    )


def _too_early(event: NodeEvent, elected: dict[int, NodeEvent], start: int) -> Violation:
    text = f"the controller of node {event.node} became active in epoch {event.epoch} before it "
    text += f"had replayed that epoch's LeaderChange, which is at offset {start}"
    shown = [witness(event, f"active with all replayed below offset {event.offset}")]
    if event.epoch in elected:
        at = elected[event.epoch]
        shown.insert(0, witness(at, f"elected; its log ends at {at.log_end}"))
    return Violation(text, shown)


@check("M4-epochs-rise-in-logs", applies=everywhere, source="Raft")
def epochs_rise_in_logs(evidence: Evidence) -> CheckResult:
    """M4: In no log does a record of an epoch follow one of a higher epoch. (Raft)"""
    looked_at, violations = 0, []
    for node, batches in evidence.metadata_logs.items():
        for before, after in pairwise(batches):
            looked_at += 1
            if after.epoch < before.epoch:
                text = f"the log of node {node} has epoch {after.epoch} at offset {after.base}, "
                text += f"after epoch {before.epoch} at offset {before.base}"
                pair = [(before, "higher epoch"), (after, "lower epoch, after it")]
                shown = [{"what": what, "node": node, **one._asdict()} for one, what in pair]
                violations.append(Violation(text, shown))
    return conclude(
        looked_at=looked_at,
        unit="pairs of batches",
        violations=violations,
        needs="disks read after the run",
        holds="no epoch goes down along a log",
        algorithm="neighbours in each log",
        nothing=evidence.below_snapshots,
    )
