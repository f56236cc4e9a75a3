"""All nodes are of one cluster, and have the same metadata log: Q20 and M1."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest

from checkers.check import check, everywhere, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import witness
from checkers.evidence.metadata_logs import StoredBatch
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult, EventValue


@check(
    "M1-metadata-logs-agree",
    applies=several_nodes,
    source="KIP-966 MetadataLogMatching",
    rests_on=(Kind.METADATA_LOGS,),
)
def metadata_logs_agree(evidence: Evidence) -> CheckResult:
    """M1: The metadata logs of all nodes agree, each as far as it goes.

    Two logs that both hold batches of an epoch are both copies of what its leader wrote, so they
    agree on everything up to where the shorter one ends in the highest such epoch. Above that a log
    may hold uncommitted records. From the disks, of controllers and brokers alike, and lost ones
    included. (KIP-966 MetadataLogMatching)
    """
    looked_at, violations = 0, []
    for one, two in combinations(_logs(evidence), 2):
        end = _common_end(one.batches, two.batches)
        start = max(one.batches[0].base, two.batches[0].base)
        mine, other = (_between(log.batches, start, end) for log in (one, two))
        looked_at += min(len(mine), len(other))
        differ = next((pair for pair in zip_longest(mine, other) if pair[0] != pair[1]), None)
        if differ is not None:
            violations.append(_differ(one, two, *differ))
    return conclude(
        looked_at=looked_at,
        unit="batches of pairs of disks",
        violations=violations,
        needs="the metadata logs of two disks that have an epoch in common",
        holds="all nodes have the same",
        algorithm="pairs of logs, up to the shorter end in their highest common epoch",
    )


@dataclass(frozen=True, slots=True)
class _Log:
    node: int
    name: str
    batches: Sequence[StoredBatch]


def _logs(evidence: Evidence) -> list[_Log]:
    """Of all disks, existing ones and then lost ones; without empty logs."""
    there = [_Log(node, f"node {node}", log) for node, log in evidence.metadata_logs.items()]
    gone = [
        _Log(replica.node, f"a lost disk of node {replica.node}", log)
        for replica, log in evidence.lost_logs.items()
        if log
    ]
    return [*sorted(there, key=lambda log: log.node), *gone]


def _common_end(one: Sequence[StoredBatch], other: Sequence[StoredBatch]) -> int:
    """The offset up to which the leader of the highest epoch in both logs determines both; 0: no
    such epoch."""
    common = {batch.epoch for batch in one} & {batch.epoch for batch in other}
    if not common:
        return 0
    highest = max(common)
    return min(max(b.last for b in log if b.epoch == highest) + 1 for log in (one, other))


def _between(log: Sequence[StoredBatch], start: int, end: int) -> list[StoredBatch]:
    return [batch for batch in log if batch.base >= start and batch.last < end]


def _differ(one: _Log, two: _Log, mine: StoredBatch | None, other: StoredBatch | None) -> Violation:
    pair = ((one.node, mine), (two.node, other))
    offset = min(batch.base for _, batch in pair if batch is not None)
    shown: list[dict[str, EventValue]] = [
        {"what": "on the disk", "node": node, **batch._asdict()}
        if batch is not None
        else {"what": "has no batch there", "node": node}
        for node, batch in pair
    ]
    text = f"the metadata logs of {one.name} and {two.name} differ at offset {offset}, yet hold "
    return Violation(f"{text}batches of the same leader behind it", shown)


@check(
    "Q20-one-cluster",
    applies=everywhere,
    source="KIP-595, INCONSISTENT_CLUSTER_ID",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def one_cluster(evidence: Evidence) -> CheckResult:
    """Q20: All nodes of a run, whatever disks they have had, are of one cluster.

    From n.start of each process, and meta.properties of the disks at the end: the files of two
    clusters must not mix. (KIP-595, INCONSISTENT_CLUSTER_ID)
    """
    told = list(_clusters(evidence))
    violations = [
        Violation(
            f"node {node} is of cluster {cluster}, but node {told[0][0]} of {told[0][1]}", [shown]
        )
        for node, cluster, shown in told
        if cluster != told[0][1]
    ]
    return conclude(
        looked_at=len(told),
        unit="processes and disks",
        violations=violations,
        needs="traces of the nodes, or disks read after the run",
        holds="each named the same cluster",
        algorithm="cluster ids",
        nothing=f"{counted(evidence.info.nodes, 'node')} named none",
    )


def _clusters(evidence: Evidence) -> Iterator[tuple[int, str, Mapping[str, EventValue]]]:
    """Which nodes named which cluster, and where."""
    for event in (event for life in evidence.lives for event in life.events("n.start")):
        cluster = event.more.get("cluster")
        if isinstance(cluster, str):
            yield event.node, cluster, witness(event, f"starts in cluster {cluster}")
    for row in evidence.tables["disks"].to_pylist():
        if row["cluster_id"] is not None:
            where = {"what": "meta.properties", "node": row["node"]}
            yield row["node"], row["cluster_id"], where
