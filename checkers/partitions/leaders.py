"""Partitions in the committed metadata log: P1, P2 and P3."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import NO_LEADER, Change, MetadataBatch, Partition, Timeline
from checkers.evidence.partition_logs import codes
from checkers.verdict import CheckResult, EventValue

NEED = "the metadata log on a majority of the controllers' disks"
NO_PARTITIONS = "no partition was ever created or changed"
_RUN = ["node", "directory", "key", "epoch", "base_offset"]


def shown(change: Change, what: str) -> dict[str, EventValue]:
    """A change as a row of a witness."""
    return {"what": what, "offset": change.offset, **state(change.partition)}


def state(partition: Partition) -> dict[str, EventValue]:
    return {
        "key": partition.key,
        "leader": partition.leader,
        "epoch": partition.leader_epoch,
        "isr": names(partition.isr),
        "elr": names(partition.elr),
        "last_known_elr": names(partition.last_known_elr),
        "partition_epoch": partition.partition_epoch,
    }


def names(nodes: Iterable[int]) -> str:
    return ",".join(map(str, nodes))


def both(change: Change) -> list[dict[str, EventValue]]:
    """Before and after, as a witness."""
    after = shown(change, "committed")
    return [{"what": "before", **state(change.before)}, after] if change.before else [after]


# --- P1 ---


@check(
    "P1-one-leader-per-epoch",
    applies=of_brokers,
    source="HS, KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def one_leader_per_partition_epoch(evidence: Evidence) -> CheckResult:
    """P1: A partition has one leader per leader epoch, and its epochs only rise.

    Batches and answers fit the one order of the metadata log: in every replica epochs rise from
    batch to batch, the log has a leader in each of them, and answers name no other leader. (HS,
    KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread("leader epochs of partitions", NEED)
    leaders = _leaders(found)
    looked_at = sum(len(epochs) for epochs in leaders.values())
    violations = [
        *_made_again(found),
        *_epochs_of_replicas(evidence, leaders),
        *_answers(evidence, leaders),
    ]
    return conclude(
        looked_at=looked_at,
        unit="leader epochs of partitions",
        violations=violations,
        needs=NEED,
        holds="each had one leader, and no other led or wrote in it",
        algorithm="leader by partition and epoch, against batches on disks and answers to probes",
        nothing=NO_PARTITIONS,
    )


Leaders = Mapping[tuple[str, str], Mapping[int, int]]  # key, topic id -> epoch -> leader


def _leaders(found: Timeline) -> Leaders:
    leaders: dict[tuple[str, str], dict[int, int]] = {}
    for batch in found.batches:
        for after in (change.after for change in batch.changes):
            if after is not None:
                leaders.setdefault((after.key, after.topic_id), {})[after.leader_epoch] = (
                    after.leader
                )
    return leaders


def _made_again(found: Timeline) -> Iterator[Violation]:
    """Epochs restart only with a new topic."""
    for _, change in found.changes():
        before, after = change.before, change.after
        if before is None or after is None or before.topic_id != after.topic_id:
            continue
        if after.leader_epoch < before.leader_epoch:
            text = f"{after.key} went from leader epoch {before.leader_epoch} back to "
            yield Violation(f"{text}{after.leader_epoch}", both(change))
        elif after.partition_epoch <= before.partition_epoch:
            text = f"{after.key} was changed at partition epoch {before.partition_epoch}, but is "
            yield Violation(f"{text}at {after.partition_epoch}", both(change))


def _epochs_of_replicas(evidence: Evidence, leaders: Leaders) -> Iterator[Violation]:
    topic_ids = {
        (row["node"], row["directory"], row["key"]): row["topic_id"]
        for row in evidence.tables["replicas"].to_pylist()
    }
    before: dict[str, Any] = {}
    for row in _epoch_runs(evidence):
        replica = (row["node"], row["directory"], row["key"])
        epochs = leaders.get((row["key"], topic_ids.get(replica) or ""))
        where = f"the log of {row['key']} on node {row['node']} "
        same = replica == tuple(before.get(name) for name in ("node", "directory", "key"))
        if same and row["epoch"] < before["epoch"]:
            text = f"{where}has epoch {row['epoch']} at offset {row['base_offset']}, behind epoch "
            text += f"{before['epoch']}"
            yield Violation(
                text,
                [{"what": "higher epoch", **before}, {"what": "lower epoch, behind it", **row}],
            )
        before = row
        if epochs is None or row["epoch"] < min(epochs):
            continue
        if epochs.get(row["epoch"], NO_LEADER) == NO_LEADER:
            text = f"{where}holds batches of epoch {row['epoch']}, in which there was no leader"
            last = max(epoch for epoch in epochs if epoch <= row["epoch"])
            of_log: dict[str, EventValue] = {
                "what": "the metadata log",
                "epoch": last,
                "leader": epochs[last],
            }
            yield Violation(text, [{"what": "the first of them", **row}, of_log])


def _epoch_runs(evidence: Evidence) -> list[dict[str, Any]]:
    """The first batch of each run of batches of one epoch, in every replica's log."""
    batches = evidence.tables["replica_batches"]
    whole = batches.filter(batches["crc_ok"]).select(_RUN)
    changed = np.diff(codes(whole, *_RUN[:-1]), prepend=-1) != 0
    found: list[dict[str, Any]] = whole.filter(pa.array(changed)).to_pylist()
    return found


def _answers(evidence: Evidence, leaders: Leaders) -> Iterator[Violation]:
    """Answers to probes. If a topic was created twice, it is unknown which one is meant."""
    by_key: dict[str, list[Mapping[int, int]]] = {}
    for (key, _), epochs in leaders.items():
        by_key.setdefault(key, []).append(epochs)
    for row in evidence.tables["probes"].to_pylist():
        known = by_key.get(row["key"] or "", [])
        if row["kind"] != "partition" or row["epoch"] is None or len(known) != 1:
            continue
        leader = known[0].get(row["epoch"])
        if leader is not None and row["leader"] not in (None, NO_LEADER, leader):
            text = f"{row['key']}, epoch {row['epoch']}: node {row['node']} says that node "
            text += f"{row['leader']} leads, but the metadata log says node {leader}"
            fields = {name: row[name] for name in ("node", "key", "epoch", "leader")}
            yield Violation(text, [{"what": "an answer", "t_ns": row["t0"], **fields}])


# --- P2 ---


@check(
    "P2-leader-in-isr",
    applies=of_brokers,
    source="HS LeaderInIsr, KIP-966 ValidControllerIsrAndElr",
    rests_on=(Kind.METADATA_LOGS,),
)
def leader_in_isr(evidence: Evidence) -> CheckResult:
    """P2: The leader is in the ISR, ISR and ELR are subsets of the replicas, and no list has a node
    twice.

    (HS LeaderInIsr, KIP-966 ValidControllerIsrAndElr)
    """
    found = evidence.timeline
    if found is None:
        return unread("states of partitions", NEED)
    changes = [change for _, change in found.changes() if change.after is not None]
    violations = []
    for change in changes:
        wrong = _ill_formed(change.partition)
        if wrong:
            violations.append(Violation(f"{change.partition.key}: {wrong}", both(change)))
    return conclude(
        looked_at=len(changes),
        unit="states of partitions",
        violations=violations,
        needs=NEED,
        holds="leaders are in the ISR, ISR and ELR among the replicas",
        algorithm="replay of the committed metadata log",
        nothing=NO_PARTITIONS,
    )


def _ill_formed(one: Partition) -> str:
    if one.leader != NO_LEADER and one.leader not in one.isr:
        return f"node {one.leader} leads but is not in the ISR [{names(one.isr)}]"
    for what, nodes in (("ISR", one.isr), ("ELR", one.elr), ("replicas", one.replicas)):
        if len(set(nodes)) < len(nodes):
            return f"the {what} [{names(nodes)}] has a node twice"
        if not set(nodes) <= set(one.replicas):
            return f"the {what} [{names(nodes)}] are not all among [{names(one.replicas)}]"
    return ""


# --- P3 ---


@check(
    "P3-only-active-brokers-lead",
    applies=of_brokers,
    source="KIP-841, KIP-966 ValidControllerState",
    rests_on=(Kind.METADATA_LOGS,),
)
def only_active_brokers_lead(evidence: Evidence) -> CheckResult:
    """P3: A broker that joins an ISR or is elected is registered, unfenced and not shutting down.

    At the end of the batch that does it at the latest. Nor does a fenced broker stay in an ISR; but
    without ELR its last member does, and stays when ELR is enabled until the partition changes. Nor
    does a broker lead on that is shutting down. (KIP-841, KIP-966 ValidControllerState)
    """
    found = evidence.timeline
    if found is None:
        return unread("changes of partitions", NEED)
    looked_at = 0
    violations: list[Violation] = []
    without_elr: dict[str, int] = {}  # by partition, the last partition epoch of before ELR
    for batch, partitions in found.walk():
        judged = partitions if batch.broker_records else _touched(batch, partitions)
        if not batch.elr_on:
            without_elr |= {key: one.partition_epoch for key, one in judged.items()}
        if batch.from_snapshot:
            continue
        for change in batch.changes:
            looked_at += 1
            violations += _joined_inactive(batch, change)
        for partition in judged.values():
            if not _is_last_without_elr(partition, without_elr):
                violations += _stays_fenced(batch, partition)
            violations += _leads_on(batch, partition)
    return conclude(
        looked_at=looked_at,
        unit="changes of partitions",
        violations=violations,
        needs=NEED,
        holds="no broker that was fenced, gone or shutting down joined or stayed in an ISR, or led",
        algorithm="replay of the committed metadata log, brokers where each batch ends",
        nothing=NO_PARTITIONS,
    )


def _touched(batch: MetadataBatch, partitions: Mapping[str, Partition]) -> dict[str, Partition]:
    keys = {change.partition.key for change in batch.changes}
    return {key: partitions[key] for key in sorted(keys) if key in partitions}


def _joined_inactive(batch: MetadataBatch, change: Change) -> Iterator[Violation]:
    if change.after is None:
        return
    before = change.before.isr if change.before else ()
    joined = set(change.after.isr) - set(before)
    elected = {change.elected} - {None}
    for node in sorted(joined | {one for one in elected if one is not None}):
        if not batch.active(change, node, ever=True):
            how = "joined the ISR of" if node in joined else "was elected leader of"
            text = f"node {node} {how} {change.after.key} while it was {_condition(batch, node)}"
            yield Violation(text, both(change))


def _is_last_without_elr(partition: Partition, without_elr: Mapping[str, int]) -> bool:
    """Whether one replica is in the ISR, as it was before there was an ELR to leave it for."""
    is_same = without_elr.get(partition.key) == partition.partition_epoch
    return is_same and len(partition.isr) == 1


def _stays_fenced(batch: MetadataBatch, partition: Partition) -> Iterator[Violation]:
    for node in partition.isr:
        broker = batch.brokers.get(node)
        if broker is None or broker.fenced:
            text = f"node {node} is in the ISR of {partition.key} while it is "
            at: dict[str, EventValue] = {"what": f"after the batch at offset {batch.base}"}
            yield Violation(f"{text}{_condition(batch, node)}", [at | state(partition)])


def _leads_on(batch: MetadataBatch, partition: Partition) -> Iterator[Violation]:
    """A broker hands over its partitions with the batch by which it begins to shut down."""
    leader = batch.brokers.get(partition.leader)
    if leader is not None and leader.stopping:
        text = f"node {leader.node} leads {partition.key} while it is shutting down"
        at: dict[str, EventValue] = {"what": f"after the batch at offset {batch.base}"}
        yield Violation(text, [at | state(partition)])


def _condition(batch: MetadataBatch, node: int) -> str:
    broker = batch.brokers.get(node)
    if broker is None:
        return "not registered"
    return "fenced" if broker.fenced else "shutting down"
