"""Problems of a disk after the run, by the part that they are in, and what may have caused them.

`checkers.disk` notes what it could not read and what contradicts itself. Kafka writes its small
files beside the old ones, syncs them and renames them (Utils.atomicMoveWithFallback), and so does
our node: a power cut leaves the old file or the new one. It may take unsynced bytes of a log, and
leave NULs or half a batch at its end; the next process truncates that before it answers anything.
So only a fault that damages synced bytes leaves an unreadable small file, or a damaged log if its
node went on; if the node did not go on, a power cut may have left the damaged log.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from checkers.evidence.evidence import Evidence

_STOPPED, _RUNS = "stopped", "runs"  # of RunInfo.endings: its last process was well to the end
_NO_LOG = "no __cluster_metadata"  # a disk that was never used, or that was not collected
# The last batch, not complete when its process died or the disk was copied.
_HALF_A_BATCH = ("are no whole batch", " bytes")


class About(Enum):
    """The part of a disk."""

    IDENTITY = "meta.properties"
    ELECTIONS = "quorum-state"
    CHECKPOINTS = "checkpoints"  # of offsets, and the clean-shutdown file
    EPOCHS = "leader-epoch-checkpoint"
    FLUSHED = "flushed"  # a log that ends below its flushed offset
    TOPIC = "partition.metadata"
    HOLES = "holes"  # missing offsets between batches that can be read
    LOG = "log"  # damage within a log and its snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A problem that the reader of disks noted."""

    about: About
    text: str


def notes_of(problem: str | None) -> Iterator[Note]:
    """The notes of a row of DISKS or REPLICAS, except that there is no log."""
    for text in (problem or "").split("; "):
        if text and not text.startswith(_NO_LOG):
            yield Note(about=_about(text), text=text)


def _about(text: str) -> About:
    match text.split(maxsplit=1):
        case ["no", rest] if rest == About.IDENTITY.value:
            return About.IDENTITY
        case [name, *_]:
            name = name.rstrip(":")
            if name in (About.IDENTITY.value, About.ELECTIONS.value, About.EPOCHS.value):
                return About(name)
            if name == About.TOPIC.value:
                return About.TOPIC
            if name.endswith("-checkpoint") or name == ".kafka_cleanshutdown":
                return About.CHECKPOINTS
    if "was flushed up to" in text:
        return About.FLUSHED
    return About.HOLES if "the log ended at" in text else About.LOG


def is_damaged_by_fault(evidence: Evidence, node: int) -> bool:
    """Whether a fault may have damaged synced bytes of a node's disk."""
    return any(
        fault.damages_bytes and node in fault.nodes and fault.may_have_bitten
        for fault in evidence.faults
    )


def may_have_lost(evidence: Evidence, node: int) -> bool:
    """Whether a fault may have taken unsynced bytes from a node's disk."""
    return any(
        fault.may_lose and node in fault.nodes and fault.may_have_bitten
        for fault in evidence.faults
    )


def went_on(evidence: Evidence, node: int) -> bool:
    """Whether its last process ran when its disk was copied, or had stopped in good order: it had
    then repaired at start-up what an earlier process left."""
    return evidence.info.endings.get(str(node)) in (_STOPPED, _RUNS)


def stopped_in_good_order(evidence: Evidence, node: int) -> bool:
    return evidence.info.endings.get(str(node)) == _STOPPED


def may_be_left(evidence: Evidence, node: int, note: Note) -> bool:
    """Whether the faults that hit a node may have left such damage in its log."""
    if is_damaged_by_fault(evidence, node):
        return True
    half = note.text.endswith(_HALF_A_BATCH) and not stopped_in_good_order(evidence, node)
    return half or (not went_on(evidence, node) and may_have_lost(evidence, node))
