"""Snapshots on disks cover the log below them: Q15 and M2 for any target, after the run.

Disks do not show when a snapshot was taken, nor which node led when a snapshot replaced a log
(Q16): that takes traces.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.replayed_image import (
    ImageEntry,
    RecordFields,
    ReplayedImage,
    StoredSnapshot,
    stored_snapshots,
)
from checkers.evidence.traced_logs import StoredBatch
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.verdict import CheckResult, EventValue

# Metadata logs on disks, replayed up to the ends of snapshots.


Snapshots = Sequence[StoredSnapshot]


@dataclass(frozen=True, slots=True)
class ReplayedLog:
    """The consecutive batches on one disk, and the records in them."""

    node: int
    batches: Sequence[StoredBatch]
    records: Sequence[RecordFields] = ()

    @property
    def start(self) -> int:
        return self.batches[0].base

    def epoch_before(self, end: int) -> int | None:
        """The epoch of the record right below an offset; None if the log has none there."""
        at = bisect_left(self.batches, end, key=lambda batch: batch.last + 1)
        is_there = at < len(self.batches) and self.batches[at].base < end
        return self.batches[at].epoch if is_there else None

    def whole_replays(
        self, wanted: Snapshots, known: Snapshots
    ) -> Iterator[tuple[StoredSnapshot, ReplayedImage]]:
        """The complete contents of a snapshot, for those of `wanted` that the log reaches when it
        is replayed from its beginning, or from the oldest snapshot with which it is contiguous."""
        base = self._base(known)
        if base is None and self.start > 0:
            return
        image = ReplayedImage()
        for row in base.records if base is not None else ():
            image.replay(row)
        yield from self._walk(image, 0 if base is None else base.end, wanted)

    def partial_replays(self, wanted: Snapshots) -> Iterator[tuple[StoredSnapshot, ReplayedImage]]:
        """What the log says by itself, wherever it begins."""
        yield from self._walk(ReplayedImage(is_whole=False), self.start, wanted)

    def _base(self, known: Snapshots) -> StoredSnapshot | None:
        """A log from 0 begins with the snapshot that its disk was formatted with, if that has
        records."""
        if self.start == 0:
            return next((each for each in known if (each.node, each.end) == (self.node, 0)), None)
        reached = [each for each in known if each.end >= self.start and self._goes_on(each)]
        return min(reached, key=lambda each: each.end, default=None)

    def _goes_on(self, snapshot: StoredSnapshot) -> bool:
        is_right_before = snapshot.end == self.start
        return is_right_before or self.epoch_before(snapshot.end) == snapshot.epoch

    def _walk(
        self, image: ReplayedImage, start: int, wanted: Snapshots
    ) -> Iterator[tuple[StoredSnapshot, ReplayedImage]]:
        """Records that another node's log has in place of a snapshot's last one may never have been
        committed; a node's own snapshot is of its own log."""
        at = bisect_left(self.records, start, key=lambda row: int(row["offset"]))
        for snapshot in sorted(wanted, key=lambda each: each.end):
            epoch = self.epoch_before(snapshot.end)
            is_its_log = epoch is not None and snapshot.node == self.node
            if snapshot.end <= start or not (is_its_log or epoch == snapshot.epoch):
                continue
            while at < len(self.records) and self.records[at]["offset"] < snapshot.end:
                image.replay(self.records[at])
                at += 1
            yield snapshot, image


def replayed_logs(evidence: Evidence) -> list[ReplayedLog]:
    """Of all collected disks with a log, except those with bytes that a fault damages."""
    damaged = damaged_disks(evidence)
    rows: dict[int, list[RecordFields]] = {}
    for row in evidence.tables["log_records"].to_pylist():
        rows.setdefault(row["node"], []).append(row)
    return [
        ReplayedLog(node, tuple(_connected(batches)), _of_the_log(rows.get(node, [])))
        for node, batches in sorted(evidence.metadata_logs.items())
        if node not in damaged
    ]


def damaged_disks(evidence: Evidence) -> set[int]:
    """The nodes with disks with bytes that a fault damages."""
    return {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}


def _connected(batches: Sequence[StoredBatch]) -> Iterator[StoredBatch]:
    end = batches[0].base
    for batch in batches:
        if batch.base != end:
            return
        end = batch.last + 1
        yield batch


def _of_the_log(rows: Sequence[RecordFields]) -> Sequence[RecordFields]:
    """Without the snapshot with which they may begin."""
    ends = [at for at, row in enumerate(rows) if row["type"] == "SnapshotFooter"]
    return rows[ends[-1] + 1 :] if ends else rows


_NONE = "no complete snapshot with records is on a disk"
_SHOWN = 5  # entries in which two images differ


def snapshots(evidence: Evidence) -> tuple[StoredSnapshot, ...]:
    """All complete ones, on disks with bytes that no fault damages."""
    damaged = damaged_disks(evidence)
    found = stored_snapshots(evidence.tables["snapshot_records"])
    return tuple(each for each in found if each.node not in damaged)


@check(
    "stored-snapshots-equal-the-log",
    applies=everywhere,
    source="KIP-630; SIM",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def snapshots_equal_the_log(evidence: Evidence) -> CheckResult:
    """A snapshot on a disk holds the image of the metadata log up to its end, as far as a disk
    still has that log, and its name has the epoch of its last record.

    Needs: log_batches, log_records, snapshot_records.

    The log is replayed from its beginning, or from an older snapshot on any disk; if there is
    neither, the snapshot holds at least the latest entries of the log beside it.
    `checkers.evidence.replayed_image` says what is compared. Disks are not judged if a fault
    damages their bytes.
    """
    found = evidence.once(snapshots)
    looked_at = 0
    violations: list[Violation] = []
    for snapshot, image, log in _replays(replayed_logs(evidence), found):
        looked_at += 1
        violations += _unlike(snapshot, image, log)
    return conclude(
        looked_at=looked_at,
        unit="snapshots on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each holds the image of the log up to its end",
        algorithm="records of logs replayed up to each snapshot's end, entry by entry",
        nothing="no disk holds a snapshot together with the log below it",
    )


def _replays(
    logs: Sequence[ReplayedLog], found: Snapshots
) -> Iterator[tuple[StoredSnapshot, ReplayedImage, ReplayedLog]]:
    """Each snapshot once, with its complete expected contents if a log has them, or some of them.

    The image changes as its log is replayed: use it before asking for the next one.
    """
    left = {id(each): each for each in found if each.end > 0}
    for log in logs:
        for snapshot, image in log.whole_replays(list(left.values()), found):
            del left[id(snapshot)]
            yield snapshot, image, log
    for log in logs:
        for snapshot, image in log.partial_replays(list(left.values())):
            del left[id(snapshot)]
            yield snapshot, image, log


def _unlike(
    snapshot: StoredSnapshot, image: ReplayedImage, log: ReplayedLog
) -> Iterator[Violation]:
    text = f"the snapshot of node {snapshot.node} that ends at {snapshot.end} of epoch "
    text += f"{snapshot.epoch} "
    epoch = log.epoch_before(snapshot.end)
    if epoch != snapshot.epoch:
        yield Violation(f"{text}ends with a record that is of epoch {epoch} in its log")
    found = image.differs_from(snapshot.image)
    if found:
        text += f"differs in {found[0]} from the image of the log of node {log.node} up to there"
        yield Violation(
            text,
            _shown(found, snapshot.image.entries, "by the snapshot", image.entries, "by the log"),
        )


def _shown(
    entries: Sequence[ImageEntry],
    one: Mapping[ImageEntry, object],
    by_one: str,
    other: Mapping[ImageEntry, object],
    by_other: str,
) -> list[Mapping[str, EventValue]]:
    return [
        {
            "what": " ".join(map(str, entry)),
            by_one: _told(one, entry),
            by_other: _told(other, entry),
        }
        for entry in entries[:_SHOWN]
    ]


def _told(image: Mapping[ImageEntry, object], entry: ImageEntry) -> str:
    return str(image[entry]) if entry in image else "not there"


@check(
    "stored-snapshots-are-committed",
    applies=everywhere,
    source="KIP-630; SIM",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def snapshots_are_committed(evidence: Evidence) -> CheckResult:
    """A snapshot on a disk ends within the committed log: a majority of the voters has the log or a
    snapshot up to there, or a leader answered a high watermark as high.

    Needs: log_batches, snapshot_records, disks, lost_batches, probes.

    The voters are those at its end, or after any later change. A disk that was not kept may have
    had all, and so may one with bytes that a fault damages.
    """
    found = [each for each in evidence.once(snapshots) if each.end > 0]
    told = evidence.tables["probes"]["high_watermark"].drop_null().to_pylist()
    high_watermark = max(told, default=-1)
    violations = [
        Violation(_uncommitted(each, evidence))
        for each in found
        if each.end > high_watermark and not _may_be_committed(each, evidence)
    ]
    return conclude(
        looked_at=len(found),
        unit="snapshots on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each ends within the committed log",
        algorithm="voters that may have all below each snapshot's end",
        nothing=_NONE,
    )


def _uncommitted(snapshot: StoredSnapshot, evidence: Evidence) -> str:
    voters = ", ".join(f"node {node}" for node in evidence.voters.at(snapshot.end).nodes)
    text = f"node {snapshot.node} has a snapshot that ends at {snapshot.end} of epoch "
    return f"{text}{snapshot.epoch}, but no majority of {voters} has all below that"


def _may_be_committed(snapshot: StoredSnapshot, evidence: Evidence) -> bool:
    lacking = {key for key, has in _disks(snapshot, evidence) if not has}
    having = {key for key, has in _disks(snapshot, evidence) if has}
    history = evidence.voters
    for voters in (history.before(snapshot.end), *history.since(snapshot.end)):
        without = [
            key
            for key in voters.keys
            if any(map(VoterSet(frozenset({key})).includes, lacking))
            and not any(map(VoterSet(frozenset({key})).includes, having))
        ]
        if len(voters.keys) - len(without) >= voters.majority:
            return True
    return False


def _disks(snapshot: StoredSnapshot, evidence: Evidence) -> Iterator[tuple[ReplicaKey, bool]]:
    """Each disk that was read, and whether it has all below the snapshot's end."""
    damaged = damaged_disks(evidence)
    reaching = {each.node for each in evidence.once(snapshots) if each.end >= snapshot.end}
    for node, key in evidence.disks.items():
        batches: Sequence[StoredBatch] = evidence.metadata_logs.get(node, ())
        if node not in damaged:
            yield key, node in reaching or _has(batches, snapshot)
    for key, batches in evidence.lost_logs.items():
        yield key, _has(batches, snapshot)


def _has(batches: Sequence[StoredBatch], snapshot: StoredSnapshot) -> bool:
    """Whether it has the last record that the snapshot covers, or only later ones."""
    if not batches:
        return False
    log = ReplayedLog(-1, batches)
    return log.start >= snapshot.end or log.epoch_before(snapshot.end) == snapshot.epoch


@check(
    "stored-snapshots-agree",
    applies=everywhere,
    source="KIP-630; ours",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def snapshots_agree(evidence: Evidence) -> CheckResult:
    """Snapshots on disks that end at the same offset have the same epoch and the same image.

    Needs: snapshot_records.

    `checkers.evidence.replayed_image` says what is compared; the order of records does not matter.
    Disks are not judged if a fault damages their bytes.
    """
    first: dict[int, StoredSnapshot] = {}
    violations: list[Violation] = []
    found = [each for each in evidence.once(snapshots) if each.end > 0]
    for each in found:
        known = first.setdefault(each.end, each)
        violations += _disagree(known, each)
    return conclude(
        looked_at=len(found) - len(first),
        unit="pairs of snapshots on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="those of one offset hold the same",
        algorithm="end -> the first snapshot, entry by entry",
        nothing="no two snapshots end at the same offset",
    )


def _disagree(one: StoredSnapshot, other: StoredSnapshot) -> Iterator[Violation]:
    text = f"the snapshots of node {one.node} and node {other.node} that end at {one.end} "
    if one.epoch != other.epoch:
        yield Violation(f"{text}are of epochs {one.epoch} and {other.epoch}")
    found = one.image.differs_from(other.image)
    if found:
        by_one, by_other = (f"by node {each.node}" for each in (one, other))
        shown = _shown(found, one.image.entries, by_one, other.image.entries, by_other)
        yield Violation(f"{text}differ in {found[0]}", shown)


# Snapshots on disks have the levels of features: a node that begins with one has no other source.


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
    told = sorted(_stored_level(evidence, found), key=lambda each: each[0])
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


def _stored_level(evidence: Evidence, found: Sequence[StoredSnapshot]) -> Iterator[_Told]:
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
