"""Snapshots on disks cover the log below them: Q15 and M2 for any target, after the run.

Disks do not show when a snapshot was taken, nor which node led when a snapshot replaced a log
(Q16): that takes traces.
"""

from collections.abc import Iterator, Mapping, Sequence

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.metadata_logs import StoredBatch
from checkers.evidence.planned import Kind
from checkers.evidence.replayed_image import ImageEntry, ReplayedImage
from checkers.evidence.snapshot_images import StoredSnapshot, stored_snapshots
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.quorum.replayed_logs import ReplayedLog, Snapshots, damaged_disks, replayed_logs
from checkers.verdict import CheckResult, EventValue

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
