"""Which directories are sealed runs, and why others are not. Needs no Spark.

Runs are found by their manifests, never by a glob: a directory with an interrupted seal has Parquet
files without a manifest. What cannot be used is named, so that no report silently covers fewer runs
than requested.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checkers.history.sealed_run import RunInfo, read_run_info
from checkers.history.store import VERDICT, UnreadableRunError, read_manifest, sealed_bytes
from checkers.run.expectation import Expectation, expectation_of
from checkers.suite import read_verdict
from checkers.verdict import Judgement, Verdict

# In reading order; named here so that pyspark is not imported for the names.
USED_TABLES = (
    *("ops", "faults", "node_events", "log_batches", "log_records", "disks"),
    *("lost_batches", "lost_records", "lost_disks"),
)

# If one of these is undecided, it is also undecided whether the run lost anything.
_OF_DURABILITY = frozenset(
    {
        "durability",
        "log-durability",
        "final-reads",
        "log-final-reads",
        "evidence-complete",
        "record-complete",
        "faults-bit",
        "run",
        "judge",
    }
)
_COUNTS_LOST = ("durability", "log-durability")
_DECIDES_NOTHING = (Verdict.UNKNOWN, Verdict.VOID, Verdict.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRun:
    """A run with files as in its manifest. `verdict` is None if it was not judged yet, or its
    verdict file is damaged or of another run, as `sentence` says.

    `verdict_lost`: the number of losses by its checks of durability; None where it has no such row.

    `undecided` are the checks of durability, and of its premises, that decided nothing.
    """

    directory: Path
    info: RunInfo
    operations: int
    verdict: Verdict | None
    sentence: str
    undecided: tuple[str, ...] = ()
    expected: Expectation | None = None
    mismatch: str = ""  # what is not as expected
    verdict_lost: int | None = None

    @property
    def scenario(self) -> str:
        """With its side in a comparison: sides must not be added up."""
        return ", ".join(filter(None, (self.info.scenario, self.info.side)))

    @property
    def version(self) -> str:
        """The target without the image that it ran from."""
        return self.info.target.partition(" (")[0]

    @property
    def is_surprise(self) -> bool:
        """Whether it is a surprise: invalid without an expectation, or not as expected."""
        return bool(self.mismatch) if self.expected else self.verdict is Verdict.INVALID

    @property
    def is_expected_invalid(self) -> bool:
        return self.verdict is Verdict.INVALID and not self.is_surprise

    def table(self, name: str) -> Path:
        return self.directory / f"{name}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRun:
    """A directory that is not in the report, and why."""

    directory: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """All that a report covers."""

    runs: tuple[SealedRun, ...]
    skipped: tuple[SkippedRun, ...]


class _UnusableError(Exception):
    """Why a directory is not a run to report on."""


def examine(directories: Iterable[Path]) -> Archive:
    """Look at every directory once (`runs/latest` may name one again), in order of their paths."""
    runs: dict[str, SealedRun] = {}
    skipped: list[SkippedRun] = []
    for directory in sorted({directory.resolve() for directory in directories}):
        try:
            run = _sealed_run(directory)
            if run.info.run_id in runs:
                raise _UnusableError(f"its run id is that of {runs[run.info.run_id].directory}")
        except _UnusableError as reason:
            skipped.append(SkippedRun(directory=directory, reason=str(reason)))
        else:
            runs[run.info.run_id] = run
    return Archive(runs=tuple(runs.values()), skipped=tuple(skipped))


def _sealed_run(directory: Path) -> SealedRun:
    operations = _require_intact(directory)
    try:
        info = read_run_info(directory)
        expected = expectation_of(info.expected)
    except (OSError, ValueError) as error:
        raise _UnusableError(f"run.json cannot be read: {error}") from error
    judgement, why = _judgement(directory)
    return SealedRun(
        expected=expected,
        mismatch=expected.mismatch(judgement) if expected and judgement else "",
        directory=directory,
        info=info,
        operations=operations,
        verdict=judgement.verdict if judgement else None,
        sentence=judgement.sentence if judgement else why,
        undecided=_undecided(judgement) if judgement else (),
        verdict_lost=_verdict_lost(judgement) if judgement else None,
    )


def _undecided(judgement: Judgement) -> tuple[str, ...]:
    return tuple(
        result.check
        for result in judgement.results
        if result.check in _OF_DURABILITY and result.verdict in _DECIDES_NOTHING
    )


def _verdict_lost(judgement: Judgement) -> int | None:
    """Without deletes, which are not in tables of values."""
    rows = [row.facts for row in judgement.results if row.check in _COUNTS_LOST]
    lost = [(row.get("lost"), row.get("lost_deletes", 0)) for row in rows]
    counts = [n - of_deletes for n, of_deletes in lost if type(n) is type(of_deletes) is int]
    return sum(counts) if counts else None


def _judgement(directory: Path) -> tuple[Judgement | None, str]:
    """The verdict, or why there is none."""
    if not (directory / VERDICT).exists():
        return None, "not judged yet"
    try:
        return read_verdict(directory), ""
    except (OSError, ValueError) as error:
        why = str(error).removeprefix(f"{directory / VERDICT}: ")
        return None, f"not judged: {VERDICT} cannot be used: {why}"


def _require_intact(directory: Path) -> int:
    """The number of operations in a sealed directory.

    Raises _UnusableError if it is not sealed, or a file was changed.
    """
    try:
        manifest = read_manifest(directory)
        rows = {name: sealed_bytes(directory, name, manifest)[1] for name in USED_TABLES}
    except UnreadableRunError as error:
        reason = str(error).partition("\n")[0]
        raise _UnusableError(reason.removeprefix(str(directory)).lstrip("/ ")) from error
    operations = rows["ops"]
    assert isinstance(operations, int), "the manifest's checksum is right, and it has no such count"
    return operations
