"""What a node did with a difference when it started from the disk that had it.

Bytes alone do not decide: indexes are made anew, and an unchanged file may be trusted wrongly. The
answers decide. A difference is blamed for a changed answer if the answer is read from the file's
log; a file that is derived from its log only if the log itself is whole.

Two copies of one disk, compared: what its files said while the power was on, and what it holds.

What a file says comes out of the page cache; what the disk holds is read after the power was cut.
Bytes decide, not sizes: an index is a hole of megabytes, and zeros at a file's end say nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from chaos.labs.audit.moment import ComparedAnswer

BLOCK = 4096  # of the file system


class Status(StrEnum):
    """The disk's content of a file, compared with the file as it was read before the cut."""

    SAME = "same"
    SHORTER = "shorter"  # it ends earlier than the file
    ZEROS = "zeros"  # zeros in place of the file's bytes
    OLDER = "older"  # other bytes than the file had, or a file that was already deleted
    MISSING = "missing"  # no such file


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """Bytes `start` up to `end` of a file, in which the two copies differ."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFile:
    """One file of a disk, by its path below the disk's top."""

    path: str
    status: Status
    said: int  # bytes, without zeros at the end
    held: int
    ranges: tuple[ByteRange, ...] = ()  # rising; none if a whole file is missing

    @property
    def differs(self) -> bool:
        return self.status is not Status.SAME


def compare_copies(said: Path, held: Path) -> list[ComparedFile]:
    """Every file of either copy, by path."""
    paths = sorted({*_files(said), *_files(held)})
    return [_compare(path, said / path, held / path) for path in paths]


def compare_bytes(path: str, said: bytes | None, held: bytes | None) -> ComparedFile:
    """Two contents of one file; None: the file does not exist. At least one of them exists."""
    assert said is not None or held is not None
    told, kept = len((said or b"").rstrip(b"\0")), len((held or b"").rstrip(b"\0"))
    if said is None or held is None:
        status = Status.MISSING if held is None else Status.OLDER
        return ComparedFile(path=path, status=status, said=told, held=kept)
    one, other = (_padded(content, max(told, kept)) for content in (said, held))
    differing = np.flatnonzero(one != other)
    return ComparedFile(
        path=path,
        status=_status(other[differing], held_to=len(held), said_to=told),
        said=told,
        held=kept,
        ranges=tuple(_ranges(differing)),
    )


def _compare(path: str, said: Path, held: Path) -> ComparedFile:
    contents = [each.read_bytes() if each.is_file() else None for each in (said, held)]
    return compare_bytes(path, *contents)


def _files(copy: Path) -> Iterator[str]:
    for path in copy.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(copy))


def _padded(content: bytes, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(content[:size].ljust(size, b"\0"), dtype=np.uint8)


def _status(held: npt.NDArray[np.uint8], *, held_to: int, said_to: int) -> Status:
    """`held`: the bytes of the disk that differ from the file's."""
    if not held.size:
        return Status.SAME
    if held.any():
        return Status.OLDER
    return Status.SHORTER if held_to < said_to else Status.ZEROS


def _ranges(differing: npt.NDArray[np.intp]) -> Iterator[ByteRange]:
    """Positions less than a block apart belong to one range."""
    if differing.size:
        for part in np.split(differing, np.flatnonzero(np.diff(differing) >= BLOCK) + 1):
            yield ByteRange(start=int(part[0]), end=int(part[-1]) + 1)


# The kinds of files of a node, as data: one table for each program that writes them.
#
# Both keep Kafka's layout: files of the node at the top of a log directory, and one directory for
# each log. A kind says whether a node can make the file anew from the log beside it (`derived`).


METADATA_LOG = "__cluster_metadata"
NODE_FILES = ""  # the log of a file that belongs to no log
_LOG = re.compile(r"(?P<topic>[A-Za-z0-9._-]+?)-(?P<partition>\d+)(?P<rest>\.[0-9a-f]+-[a-z]+)?")
_INTERNAL = {
    METADATA_LOG: "metadata",
    "__consumer_offsets": "offsets",
    "__transaction_state": "transactions",
}
# Suffixes of directories: to be deleted, incomplete, belonging to no replica.
_BECAME = {"delete": "deleted", "future": "future", "stray": "stray"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """Files with one purpose. `blamed_by`: the words of a node that refuses to start because of
    one."""

    name: str
    pattern: re.Pattern[str]
    derived: bool = False  # from the log
    blamed_by: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfFile:
    """The meaning of a path: its kind, its log, and the family of logs."""

    kind: FileKind
    log: str  # as "orders-0"; NODE_FILES
    family: str  # data, metadata, offsets, transactions; with the state of the directory

    @property
    def name(self) -> str:
        return f"{self.family} {self.kind.name}".strip()


def _kind(name: str, pattern: str, *, derived: bool = False, blamed: str = "") -> FileKind:
    words = re.compile(blamed) if blamed else None
    return FileKind(name=name, pattern=re.compile(pattern), derived=derived, blamed_by=words)


_SHARED = (
    _kind("log segment", r"\d{20}\.log"),
    _kind("offset index", r"\d{20}\.index", derived=True),
    _kind("time index", r"\d{20}\.timeindex", derived=True),
    _kind("leader-epoch-checkpoint", r"leader-epoch-checkpoint", derived=True),
    _kind("partition.metadata", r"partition\.metadata"),
    _kind("quorum-state", r"quorum-state"),
    _kind("meta.properties", r"meta\.properties", blamed=r"meta\.properties"),
    _kind("snapshot", r"\d{20}-\d{10}\.checkpoint"),
    _kind("clean-shutdown marker", r"\.kafka_cleanshutdown"),
    _kind("high watermarks", r"replication-offset-checkpoint"),
    _kind("log starts", r"log-start-offset-checkpoint"),
    _kind("lock", r"\.lock"),
    _kind("file on its way", r".*\.tmp", derived=True),  # to another name
    # Kafka does not name the file, but what it lacks.
    _kind("bootstrap.checkpoint", r"bootstrap\.checkpoint", blamed=r"bootstrap"),
)
_KAFKA = (
    *_SHARED,
    _kind("transaction index", r"\d{20}\.txnindex", derived=True),
    _kind("producer snapshot", r"\d{20}\.snapshot", derived=True),
    _kind("recovery points", r"recovery-point-offset-checkpoint"),
    _kind("cleaner's progress", r"cleaner-offset-checkpoint"),
)
_NODE = (
    *_SHARED,
    _kind("flush mark", r"flushed-\d{20}"),
    _kind("index checksums", r"index-checksums"),
)
KINDS: dict[str, Sequence[FileKind]] = {"node": _NODE, "kafka": _KAFKA}
OTHER = _kind("other file", r".*")
# Files of the harness and the file system: no files of a node.
_NO_FILES_OF_NODES = re.compile(r"(?:\.kraft-chaos-canary|lost\+found)(?:/|$)")


def is_of_the_node(path: str) -> bool:
    return _NO_FILES_OF_NODES.match(path) is None


def kind_of(path: str, target: str) -> KindOfFile:
    """The meaning of a path below a disk's top, by a key of `KINDS`."""
    place = PurePosixPath(path)
    found = next((k for k in KINDS[target] if k.pattern.fullmatch(place.name)), OTHER)
    log, family = _log_of(place.parent.name)
    return KindOfFile(kind=found, log=log, family=family)


def _log_of(directory: str) -> tuple[str, str]:
    """`orders-0.0123abcd-delete` was the directory of a log to be deleted."""
    match = _LOG.fullmatch(directory)
    if match is None:
        return NODE_FILES, ""
    family = _INTERNAL.get(match["topic"], "data")
    became = _BECAME.get((match["rest"] or "").rpartition("-")[2], "")
    return f"{match['topic']}-{match['partition']}", f"{became} {family}".strip()


class NextStart(StrEnum):
    REBUILT = "rebuilt"  # the file is there again, and all answers are right
    IGNORED = "ignored"  # all answers are right, and the file is as the cut left it, or gone
    LOST = "lost, as allowed"  # an answer changed that was never promised beyond the page cache
    REFUSES = "refuses to start"
    UNDECIDED = "not read"  # the node refused to start for another file
    TRUSTED = "trusted"  # an answer changed that was promised


SUSPECT = (NextStart.TRUSTED, NextStart.REFUSES)
# The worst first: that is what to look at.
WORST = (
    NextStart.TRUSTED,
    NextStart.REFUSES,
    NextStart.LOST,
    NextStart.UNDECIDED,
    NextStart.IGNORED,
    NextStart.REBUILT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file that differs on the disk from what was read of it before the cut.

    `now_as_held`: after the start the file is as the cut left it, or does not exist.
    """

    node: int
    file: ComparedFile
    kind: KindOfFile
    now_as_held: bool


def outcomes(
    differences: Sequence[Difference], answers: Sequence[ComparedAnswer], refusal: str
) -> Mapping[tuple[int, str], NextStart]:
    """For all nodes of a cut, by node and path: an answer about a log rests on each of its
    replicas. `refusal`: the last words of a node that did not start; "" if all did."""
    if refusal:
        blamed = {_key(each) for each in _blamed(differences, refusal)}
        return {
            _key(each): NextStart.REFUSES if _key(each) in blamed else NextStart.UNDECIDED
            for each in differences
        }
    damaged = {each.kind.log for each in differences if not each.kind.kind.derived}
    return {_key(each): _outcome(each, answers, damaged) for each in differences}


def _key(each: Difference) -> tuple[int, str]:
    return each.node, each.file.path


def _blamed(differences: Sequence[Difference], refusal: str) -> Sequence[Difference]:
    """The differences that the node names; all of them if it names none."""
    named = [
        each
        for each in differences
        if each.kind.kind.blamed_by is not None and each.kind.kind.blamed_by.search(refusal)
    ]
    return named or differences


def _outcome(each: Difference, answers: Sequence[ComparedAnswer], damaged: set[str]) -> NextStart:
    innocent = each.kind.kind.derived and each.kind.log in damaged
    blamed = [] if innocent else [a for a in answers if a.changed and _rests_on(a, each.kind.log)]
    if any(answer.broken for answer in blamed):
        return NextStart.TRUSTED
    if blamed:
        return NextStart.LOST
    return NextStart.IGNORED if each.now_as_held else NextStart.REBUILT


def _rests_on(answer: ComparedAnswer, log: str) -> bool:
    return any(log == name or log.rpartition("-")[0] == name for name in answer.rests_on)
