"""How each broker process ended before the next one registered: the fault log and the metadata log.

Neither knows the other's clock, so they are matched by count: a node that was ended n times has
registered n + 1 processes. Where the counts differ (a process that died before it registered, a
node that is still down, a snapshot that hides the first ones) nothing is said of that node.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Batch, Registration, Timeline

LOSSY = ("power-off", "wipe", "disk-wipe")  # what was not flushed, or all, is gone
UNCLEAN = ("kill", *LOSSY)
ENDS = ("stop", *UNCLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A process that registered, in which batch, and the fault that ended the one before it."""

    registration: Registration
    batch: Batch
    fault: dict[str, Any]  # a row of FAULTS

    @property
    def unclean(self) -> bool:
        return self.fault["kind"] in UNCLEAN

    @property
    def lossy(self) -> bool:
        return self.fault["kind"] in LOSSY


def restarts(evidence: Evidence, found: Timeline) -> list[Restart]:
    registered: dict[int, list[tuple[Batch, Registration]]] = defaultdict(list)
    for batch in found.batches:
        for registration in batch.registrations:
            registered[registration.node].append((batch, registration))
    ended: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(evidence.tables["faults"].to_pylist(), key=lambda row: row["t_start"] or 0):
        ends = row["kind"] in ENDS and row["bit"] is not False
        for node in set(row["targets"] or ()) if ends else ():
            ended[node].append(row)
    return [
        Restart(registration=registration, batch=batch, fault=fault)
        for node, rows in sorted(ended.items())
        if len(registered[node]) == len(rows) + 1
        for (batch, registration), fault in zip(registered[node][1:], rows, strict=True)
    ]


def lossy_nodes(evidence: Evidence) -> frozenset[int]:
    """Nodes that lost bytes at any time of the run, as far as the fault log knows."""
    rows = evidence.tables["faults"].to_pylist()
    return frozenset(node for row in rows if row["kind"] in LOSSY for node in row["targets"] or ())


def beyond_budget(evidence: Evidence, found: Timeline) -> frozenset[str]:
    """Partitions that lost more than is promised: min ISR members or more, and no recovery between.

    A member counts from its registration after it lost bytes, until the ISR holds all replicas
    again. What was lost of these is allowed (KIP-966: fewer than min ISR may be lost at a time).
    """
    lossy = lossy_nodes(evidence)
    lost: dict[str, set[int]] = defaultdict(set)
    beyond = set()
    for batch, partitions in found.walk():
        for change in batch.changes:
            after = change.after
            if after is not None and set(after.isr) == set(after.replicas):
                lost[after.key].clear()
        again = {one.node for one in batch.registrations if one.before and one.node in lossy}
        for key, partition in partitions.items() if again else ():
            lost[key] |= again & set(partition.replicas)
            if len(lost[key]) >= _min_isr(found, partition.key):
                beyond.add(key)
    return frozenset(beyond)


def _min_isr(found: Timeline, key: str) -> int:
    """The lowest that was ever in force for a partition."""
    return min(change.min_isr for change in found.history(key))
