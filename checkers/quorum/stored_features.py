"""Snapshots on disks have the levels of features: a node that begins with one has no other
source."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.snapshot_images import StoredSnapshot
from checkers.quorum.stored_snapshots import snapshots
from checkers.verdict import CheckResult, EventValue

_LEVEL, _METADATA = "FeatureLevel", "metadata.version"
_GONE = "0"  # the level that removes a feature


@check(
    "stored-snapshots-name-features",
    applies=everywhere,
    source="KIP-584; FeaturesImage.write",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def snapshots_name_features(evidence: Evidence) -> CheckResult:
    """A snapshot on a disk has a level of metadata.version, and of each feature that had one in an
    older snapshot or a log up to its end.

    Needs: snapshot_records, log_records.

    It replaces the records that set them, and the logs that had those may all be gone. Disks are
    not judged if a fault damages their bytes.
    """
    found = [each for each in evidence.once(snapshots) if each.end > 0]
    told = sorted(_told(evidence, found), key=lambda each: each[0])
    violations: list[Violation] = []
    for snapshot in found:
        named = {row["name"] for row in snapshot.records if row["type"] == _LEVEL}
        for name, level in sorted(_levels(told, snapshot.end).items()):
            if name not in named and level != _GONE:
                violations.append(_forgotten(snapshot, name))
    return conclude(
        looked_at=len(found),
        unit="snapshots on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each has the levels that were set by then",
        algorithm="levels by offset in logs and snapshots, against those in each snapshot",
        nothing="no complete snapshot with records is on a disk",
    )


_Told = tuple[int, str, str]  # the offset behind the record, the feature, its level


def _told(evidence: Evidence, found: Sequence[StoredSnapshot]) -> Iterator[_Told]:
    records = evidence.tables["log_records"]
    levels = records.filter(pc.equal(records["type"], _LEVEL)).select(["offset", "name", "value"])
    unique = levels.group_by(levels.column_names).aggregate([])
    first = pc.min(levels.filter(pc.equal(levels["name"], _METADATA))["offset"]).as_py()
    starts_at_0 = not evidence.first_snapshots and first is not None
    yield first + 1 if starts_at_0 else 0, _METADATA, "set when the quorum began"
    yield from ((row["offset"] + 1, row["name"], row["value"]) for row in unique.to_pylist())
    for snapshot in found:
        for row in snapshot.records:
            if row["type"] == _LEVEL:
                yield snapshot.end, row["name"], row["value"]


def _levels(told: Sequence[_Told], end: int) -> Mapping[str, str]:
    return {name: level for at, name, level in told if at <= end}


def _forgotten(snapshot: StoredSnapshot, name: str) -> Violation:
    text = f"the snapshot of node {snapshot.node} that ends at {snapshot.end} has no level of "
    shown: dict[str, EventValue] = {"what": "snapshot", "node": snapshot.node}
    shown |= {"end": snapshot.end, "epoch": snapshot.epoch}
    return Violation(f"{text}{name}", [shown])
