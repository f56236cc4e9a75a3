"""Replicas on the disks of brokers that have replayed that they no longer have them."""

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change
from checkers.evidence.lives import Process, gaps
from checkers.evidence.planned import Kind
from checkers.partitions.held import ReplicaRow
from checkers.partitions.leaders import shown
from checkers.partitions.traced_replicas import METADATA, histories, told
from checkers.verdict import CheckResult, EventValue

_LEAVING = ("pending-controlled-shutdown", "shutting-down", "vouching")


@check(
    "no-stray-replicas",
    applies=told,
    source="KAFKA-14616; KIP-516",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.TRACES),
)
def no_stray_replicas(evidence: Evidence) -> CheckResult:
    """A broker keeps no replica of a topic that was deleted, or of a partition that was moved to
    other brokers.

    Also if that happened while it was off. Judged are brokers that ran, had replayed it, and were
    stopped in good order later. (KAFKA-14616)
    """
    found, unit = evidence.timeline, "stored replicas"
    if found is None:
        return unread(unit, METADATA)
    newest = {at: changes[-1] for at, changes in histories(found).items()}
    stored = evidence.tables["replicas"].to_pylist()
    last = {life.node: life.processes[-1] for life in evidence.lives if life.processes}
    violations = []
    for row in stored:
        change = newest.get((row["topic_id"], int(row["key"].rpartition("-")[2])))
        if change is None or (change.after is not None and row["node"] in change.after.replicas):
            continue
        if row["node"] in last and _has_followed(last[row["node"]], change.offset):
            violations.append(_stray(row, change))
    return conclude(
        looked_at=len(stored),
        unit=unit,
        violations=violations,
        needs=METADATA,
        holds="each belongs to its broker, or did until just before the end",
        algorithm="replicas on disks against the metadata log, as far as c.record has it",
        gaps=gaps(evidence.lives),
        nothing="no replica is on any disk",
    )


def _has_followed(process: Process, offset: int) -> bool:
    """Whether it ran, and had replayed the record there before it began to leave."""
    is_running, replayed = False, -1
    for event in process.events("b.life", "c.record"):
        if event.event == "c.record":
            replayed = event.offset
        elif event.state in _LEAVING:
            return is_running and replayed >= offset
        else:
            is_running = is_running or event.state == "running"
    return False


def _stray(row: ReplicaRow, change: Change) -> Violation:
    what = "was deleted" if change.after is None else "belongs to other brokers"
    text = f"{row['key']}: node {row['node']} keeps a replica of a partition that {what}, as it "
    text += f"replayed at offset {change.offset}"
    at: dict[str, EventValue] = {
        "what": "on its disk",
        "node": row["node"],
        "key": row["key"],
        "log_end": row["log_end"],
    }
    return Violation(text, [shown(change, "committed"), at])
