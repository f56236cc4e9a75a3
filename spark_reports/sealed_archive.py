"""Which directories are sealed runs, and why others are not. Needs no Spark.

Runs are judged by their manifests: a directory with an interrupted seal has Parquet files without a
manifest. What cannot be used is named with a verdict of its own, so that no report silently covers
fewer runs than requested.

The seeds of campaigns: each has a line in `rows.jsonl`, most have no directory. Needs no Spark.

A campaign that was killed leaves a cut last line, and a damaged file has lines that are no rows:
what can be read is counted, and how many lines could not be.
"""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from crc32c import crc32c

from checkers.history.sealed_run import (
    INVENTORY,
    RunInfo,
    differences,
    has_any_file,
    read_run_info,
    run_key,
)
from checkers.history.store import (
    EVENTS,
    MANIFEST,
    VERDICT,
    DamagedSealError,
    UnreadableRunError,
    read_manifest,
    sealed_bytes,
)
from checkers.history.tables import TABLES
from checkers.run.expectation import Expectation, expectation_of
from checkers.suite import read_verdict
from checkers.verdict import Judgement, Verdict
from checkers.verdict_file import changed_beside

ROWS = "rows.jsonl"
_BAD = (Verdict.INVALID, Verdict.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedSeed:
    """A seed that was not as it should be, and the command that runs it again."""

    seed: int
    verdict: Verdict
    sentence: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRows:
    """The rows of one campaign. A seed counts as its campaign counts it: an expected loss is good,
    and a missing one is invalid."""

    path: Path
    scenario: str
    mutation: str
    verdicts: Mapping[Verdict, int]
    red: tuple[RedSeed, ...]
    unreadable: int  # lines

    @property
    def seeds(self) -> int:
        return sum(self.verdicts.values())

    @property
    def verdict(self) -> Verdict:
        """Some seeds are void in every campaign; in a sound one the others are decided, and all can
        be read."""
        if self.verdicts.get(Verdict.INVALID):
            return Verdict.INVALID
        if self.unreadable or self.verdicts.get(Verdict.ERROR):
            return Verdict.ERROR
        is_decided = self.verdicts.get(Verdict.VALID) and not self.verdicts.get(Verdict.UNKNOWN)
        return Verdict.VALID if is_decided else Verdict.UNKNOWN


def read_rows(path: Path) -> CampaignRows:
    """Raises OSError."""
    verdicts: Counter[Verdict] = Counter()
    red: list[RedSeed] = []
    named: set[tuple[str, str]] = set()
    unreadable = 0
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
            counts_as = _counts_as(row)
            seed, command = int(row["seed"]), str(row["command"])
            sentence = str(row["sentence"])
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable += 1
            continue
        verdicts[counts_as] += 1
        named.add(_scenario_and_mutation(command))
        if counts_as in _BAD:
            red.append(RedSeed(seed=seed, verdict=counts_as, sentence=sentence, command=command))
    known = sorted(each for each in named if each[0])
    return CampaignRows(
        path=path,
        scenario=", ".join(dict.fromkeys(scenario for scenario, _ in known)),
        mutation=", ".join(dict.fromkeys(mutation for _, mutation in known if mutation)),
        verdicts=verdicts,
        red=tuple(sorted(red, key=lambda each: (-each.verdict.value, each.seed))),
        unreadable=unreadable,
    )


def _counts_as(row: Mapping[str, Any]) -> Verdict:
    """As `chaos.campaign.job.SeedRow.counts_as`; a test holds the two equal."""
    verdict = Verdict[row["verdict"].upper()]
    unlike = row["unlike"]
    if unlike is None:
        return verdict
    if not unlike:
        return Verdict.VALID
    return Verdict.INVALID if verdict is Verdict.VALID else verdict


def _scenario_and_mutation(command: str) -> tuple[str, str]:
    """`kraft-chaos run SCENARIO ... --mutation ID`; a replay names neither."""
    words = shlex.split(command)
    if words[1:2] != ["run"] or len(words) < 3:
        return "", ""
    at = words.index("--mutation") + 1 if "--mutation" in words[:-1] else 0
    return words[2], words[at] if at else ""


_STAMP = re.compile(r"(\d{8}-\d{6})-")  # the moment at which a run began, in its directory's name

_OF_RUNS = {"run.json", MANIFEST, VERDICT}  # a directory with one of these is a run, or was one
_MISSING = ("no such file or directory", Verdict.UNKNOWN)

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

    `undecided` are the checks of durability, and of its premises, that decided nothing. `key`
    identifies it among all runs of all nights; its run id does not, since that of a simulated run
    follows from its seed. `seal` is the checksum of its manifest.
    """

    key: str
    directory: Path
    info: RunInfo
    seal: int
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
    def began(self) -> str:
        """By the wall clock, in UTC, to the second: `2026-11-28T18:24:22`. The clock of a simulated
        run is virtual, so the name of its directory tells."""
        return moment_of(self.directory, self.info)

    @property
    def is_planted(self) -> bool:
        """Whether it shows that the judge finds a planted bug: no run of the nodes as they are, and
        no side of a comparison."""
        return bool(self.info.mutation) and self.expected is None

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


def moment_of(directory: Path, info: RunInfo) -> str:
    """When the run in this directory began, as `SealedRun.began`."""
    stamped = _STAMP.match(directory.name)
    if not (info.is_simulated and stamped):
        return info.started_utc[:19]
    moment = datetime.strptime(stamped[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    return moment.isoformat()[:19]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRun:
    """A directory or file that no number of the report covers, and why.

    `verdict`: error if it is a damaged run; unknown if it is a run that was not sealed, or one of
    another version; None if it is no run, or a copy of one that is in the report.
    """

    directory: Path
    reason: str
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """All that a report covers; in `planted` are the runs with planted bugs."""

    runs: tuple[SealedRun, ...]
    skipped: tuple[SkippedRun, ...] = ()
    planted: tuple[SealedRun, ...] = ()
    campaigns: tuple[CampaignRows, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to report on: no run, damaged or not, and no campaign."""
        told = any(each.verdict is not None for each in self.skipped if each.directory.exists())
        return not (self.runs or self.planted or self.campaigns or told)

    @property
    def damaged(self) -> tuple[SkippedRun, ...]:
        return tuple(each for each in self.skipped if each.verdict is Verdict.ERROR)


def survey(paths: Iterable[Path]) -> Archive:
    """Find all runs and campaigns in these paths and look at each. A directory stands for all that
    is in it, at any depth; links in it are not followed."""
    found = _Found()
    for path in paths:
        _walk(path, found)
    campaigns = [_campaign(path, found) for path in sorted({path.resolve() for path in found.rows})]
    archive = examine(found.runs, found.others)
    return replace(archive, campaigns=tuple(each for each in campaigns if each is not None))


def run_directories(paths: Iterable[Path]) -> list[Path]:
    """The directories in these paths that are runs, or were, each once; none is looked at."""
    found = _Found()
    for path in paths:
        _walk(path, found)
    return sorted({directory.resolve() for directory in found.runs})


@dataclass(slots=True)
class _Found:
    runs: list[Path] = field(default_factory=list)
    rows: list[Path] = field(default_factory=list)
    others: list[SkippedRun] = field(default_factory=list)

    def other(self, path: Path, reason: str, verdict: Verdict | None = None) -> None:
        self.others.append(SkippedRun(directory=path, reason=reason, verdict=verdict))


def _walk(path: Path, found: _Found) -> None:
    """One of the named paths: what holds nothing of ours is told, and no path is left out."""
    try:
        is_directory = path.is_dir()
        if not is_directory and path.name == ROWS and path.is_file():
            found.rows.append(path)
        elif not is_directory:
            missing = not path.exists()
            found.other(path, *(_MISSING if missing else ("a file, and no run", None)))
        else:
            before = len(found.runs) + len(found.rows) + len(found.others)
            _look_into(path, found)
            if before == len(found.runs) + len(found.rows) + len(found.others):
                found.other(path, "no run, and no campaign is in it")
    except OSError as error:
        found.other(path, f"cannot be looked at: {error.strerror}", Verdict.ERROR)


def _look_into(directory: Path, found: _Found) -> None:
    try:
        inside = sorted(directory.iterdir())
    except OSError as error:
        found.other(directory, f"cannot be read: {error.strerror}", Verdict.ERROR)
        return
    names = {child.name for child in inside}
    if names & _OF_RUNS or any(fnmatch(name, EVENTS) for name in names):
        found.runs.append(directory)
        return
    if ROWS in names:
        found.rows.append(directory / ROWS)
    for child in inside:
        if not child.name.startswith(".") and not child.is_symlink() and child.is_dir():
            _look_into(child, found)


def _campaign(path: Path, found: _Found) -> CampaignRows | None:
    try:
        return read_rows(path)
    except OSError as error:
        found.other(path, f"cannot be read: {error.strerror}", Verdict.ERROR)
        return None


class _UnusableError(Exception):
    """Why a directory is not a run to report on, and the verdict of such a run."""

    def __init__(self, reason: str, verdict: Verdict | None) -> None:
        super().__init__(reason)
        self.verdict = verdict


def examine(directories: Iterable[Path], others: Sequence[SkippedRun] = ()) -> Archive:
    """Look at every directory once (`runs/latest` may name one again), in order of their paths.
    `others` are no runs, and are named with those that cannot be used."""
    runs: dict[tuple[str, int], SealedRun] = {}
    skipped = list(others)
    for directory in sorted({directory.resolve() for directory in directories}):
        try:
            run = _sealed_run(directory)
            if (known := runs.get((run.key, run.seal))) is not None:
                raise _UnusableError(f"a copy of {known.directory}", None)
        except _UnusableError as error:
            skipped.append(
                SkippedRun(directory=directory, reason=str(error), verdict=error.verdict)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the next run has its turn
            reason = f"cannot be read: {type(error).__name__}: {error}"
            skipped.append(SkippedRun(directory=directory, reason=reason, verdict=Verdict.ERROR))
        else:
            runs[run.key, run.seal] = run
    found = runs.values()
    return Archive(
        runs=tuple(run for run in found if not run.is_planted),
        skipped=tuple(skipped),
        planted=tuple(run for run in found if run.is_planted),
    )


def _sealed_run(directory: Path) -> SealedRun:
    operations, seal = _require_intact(directory)
    try:
        info = read_run_info(directory)
        expected = expectation_of(info.expected)
    except (OSError, ValueError) as error:
        raise _UnusableError(f"run.json cannot be read: {error}", Verdict.ERROR) from error
    _require_as_collected(directory, info)
    judgement, why = _judgement(directory)
    return SealedRun(
        key=key_of(directory, info),
        seal=seal,
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
        judgement = read_verdict(directory)
    except (OSError, ValueError) as error:
        why = str(error).removeprefix(f"{directory / VERDICT}: ")
        return None, f"not judged: {VERDICT} cannot be used: {why}"
    if changed := changed_beside(directory):
        what = f"{' and '.join(changed)} changed since the run was judged"
        raise _UnusableError(f"{what}; try: kraft-chaos check {directory}", Verdict.ERROR)
    return judgement, ""


def key_of(directory: Path, info: RunInfo) -> str:
    """The key of a run that no night has planned. Simulated runs of one seed differ by the names of
    their directories."""
    own = directory.name if info.is_simulated else f"{info.run_id} {info.started_utc}"
    return run_key(
        plan={"scenario": info.scenario, "seed": info.seed, **info.plan},
        commit=info.made_of.get("commit", ""),
        target=info.target,
        mutation=info.mutation,
        when=own,
    )


def _require_as_collected(directory: Path, info: RunInfo) -> None:
    """Compare events, logs and disks, of which the tables were made, with the inventory.

    Any of them may have been removed from an archive; what differed when the run was sealed is
    known to its verdict. Raises _UnusableError.
    """
    own = info.inventory_crc32c
    if own is None or not has_any_file(directory, own):
        return
    known = read_manifest(directory).get("differs")
    for name, what in differences(directory, own).items():
        is_known = isinstance(known, dict) and name in known
        if not is_known and ((directory / name).exists() or name == INVENTORY):
            raise _UnusableError(f"{name} {what}", Verdict.ERROR)


def _require_intact(directory: Path) -> tuple[int, int]:
    """The number of operations in a sealed directory, and the checksum of its manifest.

    Every table is compared with the manifest, whether a report reads it or not. Raises
    _UnusableError if it is not sealed, or a file was changed.
    """
    try:
        manifest = read_manifest(directory)
        rows = {name: sealed_bytes(directory, name, manifest)[1] for name in TABLES}
    except UnreadableRunError as error:
        is_damaged = isinstance(error, DamagedSealError)
        reason = str(error).partition("\n")[0].removeprefix(str(directory)).lstrip("/ ")
        verdict = Verdict.ERROR if is_damaged else Verdict.UNKNOWN
        raise _UnusableError(reason, verdict) from error
    operations = rows["ops"]
    assert isinstance(operations, int), "the manifest's checksum is right, and it has no such count"
    return operations, crc32c((directory / MANIFEST).read_bytes())
