"""Answers to clients, against the brokers' disks: P10, P13, and P18 for acknowledged records."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Timeline
from checkers.evidence.log_starts import AskedStarts
from checkers.evidence.partition_logs import (
    Stretches,
    columns,
    split,
)
from checkers.evidence.planned import Kind
from checkers.history.payload import value_name
from checkers.partitions.held import NEED, Breach, ReplicaRow, replicas_by_key, sorted_out
from checkers.verdict import CheckResult

_HISTORY = f"{NEED}, and what clients sent and polled"


@check(
    "P10-leaders-hold-acknowledged",
    applies=of_partition_logs,
    source="KIP-966 LeaderCompleteness",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def leaders_hold_acknowledged(evidence: Evidence) -> CheckResult:
    """P10: The last leader of a partition holds every record that was acknowledged to acks=all.

    At its offset, value for value, except for records that were asked to be deleted
    (`evidence.log_starts`). After an unclean election that was asked for, or more losses than the
    ISR can bear, breaches are allowed. Records below a log's start are given to no consumer.
    (KIP-966 LeaderCompleteness)
    """
    return _against_disks(
        evidence,
        evidence.acknowledged,
        _LEADERS,
        unit="acknowledged records",
        what="acknowledged",
        holds="each is where it was acknowledged, on the last leader",
    )


@check(
    "P18-acknowledged-everywhere",
    applies=of_partition_logs,
    source="KIP-966 liveness",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def acknowledged_everywhere(evidence: Evidence) -> CheckResult:
    """P18: Once the cluster is healed, every replica holds the records that were acknowledged to
    acks=all.

    At their offsets, value for value, except for records that were asked to be deleted.
    `recovers-when-healed` judges whether the cluster heals. Breaches are allowed as those of P10.
    (KIP-966 liveness)
    """
    is_whole = evidence.info.finished and not evidence.info.stuck
    return _against_disks(
        evidence,
        evidence.acknowledged if is_whole else evidence.acknowledged.slice(0, 0),
        _REPLICAS,
        unit="copies of acknowledged records" if is_whole else "replicas that were whole again",
        what="acknowledged",
        holds="each is where it was acknowledged, on every replica",
    )


@check(
    "P13-reads-are-stored",
    applies=of_partition_logs,
    source="KIP-966 ConsistentRead",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def reads_are_stored(evidence: Evidence) -> CheckResult:
    """P13: A record that a consumer was given is on the disk of the last leader, at the same
    offset.

    It neither changes nor vanishes unless an unclean election was asked for. (KIP-966
    ConsistentRead)
    """
    return _against_disks(
        evidence,
        evidence.polled,
        _LEADERS,
        unit="records that were read",
        what="read",
        holds="each is where it was read, on the last leader",
    )


class _Keepers(NamedTuple):
    """The nodes with the disks to look at: their name in messages, and their ids at the end."""

    name: str
    nodes: Callable[[Timeline, str], Sequence[int]]


_LEADERS = _Keepers("the last leader", lambda found, key: (found.last_leader(key),))
_REPLICAS = _Keepers("a replica", lambda found, key: found.partitions[key].replicas)


def _against_disks(
    evidence: Evidence, spans: pa.Table, keepers: _Keepers, *, unit: str, what: str, holds: str
) -> CheckResult:
    found = evidence.timeline
    if found is None:
        return unread(unit, _HISTORY)
    logs, replicas = evidence.partition_logs, evidence.once(replicas_by_key)
    asked = evidence.once(AskedStarts)
    looked_at, gaps = 0, []
    breaches: list[Breach] = []
    began = evidence.tables["ops"]["t0"].to_numpy()
    for (name,), part in sorted(split(spans, "key").items()):
        key = str(name)
        if len(found.topics.get(key.rpartition("-")[0], ())) > 1 or key not in found.partitions:
            # deleted, and perhaps created again: it is unknown which of the two an offset belongs
            # to
            continue
        offset, value, records = columns(part, "offset", "value", "records")
        for node in keepers.nodes(found, key):
            row = next((one for one in replicas.get(key, ()) if one["node"] == node), None)
            if row is None or not row["whole"]:
                why = row["problem"] if row else "its disk does not have it"
                gaps.append(f"{key} cannot be read at {keepers.name}, node {node}: {why}")
                continue
            start = min(row["log_start"], asked.at_the_end(key))
            # for each span, how many records may be gone
            before = np.clip(start - offset, 0, records)
            left = records - before
            looked_at += int(left.sum())
            log = logs.get((row["node"], key), _NOTHING)
            held = log.holds(offset + before, value + before, left)
            missing = (left > 0) & ~(held & (offset + before >= row["log_start"]))
            for at in np.flatnonzero(missing).tolist():
                span = part.slice(at, 1).to_pylist()[0]
                absent = _absent(span, row, what, keepers)
                breaches.append(Breach(key, int(began[span["op_id"]]), absent))
    sorted_breaches = sorted_out(evidence, breaches)
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=sorted_breaches.accused,
        needs=_HISTORY,
        holds=holds,
        algorithm=f"spans of the history against spans on the disk of {keepers.name}",
        nothing=f"there are no {unit}" if not spans.num_rows else "",
        gaps=[*gaps, *sorted_breaches.untold],
        allowed=sorted_breaches.allowed,
    )


_NOTHING = Stretches(
    offset=np.empty(0, np.int64), records=np.empty(0, np.int64), shift=np.empty(0, np.int64)
)


def _absent(span: dict[str, Any], row: ReplicaRow, what: str, keepers: _Keepers) -> Violation:
    value = value_name(span["value"])
    text = f"{span['key']}, offset {span['offset']}: {value} was {what} and is missing on "
    disk = {name: row[name] for name in ("node", "log_start", "log_end", "high_watermark")}
    names = ("op_id", "key", "offset", "records")
    return Violation(
        f"{text}the disk of node {row['node']}, {keepers.name}",
        [
            {"what": what, **{name: span[name] for name in names}, "value": value},
            {"what": f"the log of {keepers.name}", **disk},
        ],
    )
