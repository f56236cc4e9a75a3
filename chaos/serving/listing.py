"""The runs below some directories, as reports see them: each is intact, or says why not."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.verdict import Verdict
from spark_reports.sealed_archive import SealedRun, examine, moment_of, run_directories

_Stamp = tuple[tuple[str, int, int], ...]  # name, time and size of each file


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run, or what is left of one. `name` is its path below what is served, and unique."""

    name: str
    directory: Path
    run: SealedRun | None
    sentence: str  # the verdict's, or why there is none
    verdict: Verdict | None
    is_as_expected: bool  # of a side of a comparison, which may expect losses

    @property
    def scenario(self) -> str:
        return self.run.scenario if self.run is not None else ""

    @property
    def target(self) -> str:
        return self.run.version if self.run is not None else ""

    @property
    def began(self) -> str:
        """`2026-11-28T18:24:22`; "" if nobody can tell."""
        return moment_of(self.directory, self.run.info) if self.run is not None else ""

    @property
    def word(self) -> str:
        """Its verdict as a word of a query."""
        return self.verdict.word if self.verdict is not None else "unjudged"


class Listing:
    """The runs in `paths`, at any depth. A run is looked at again when one of its files changed; of
    those in its folders (logs, disks) only by a report."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path.resolve() for path in paths]
        self._known: dict[Path, tuple[_Stamp, ListedRun]] = {}

    def runs(self) -> list[ListedRun]:
        """All of them, the newest first; of the same moment, in order of their names."""
        found: dict[Path, tuple[_Stamp, ListedRun]] = {}
        for directory in run_directories(self._paths):
            stamp, known = _stamp(directory), self._known.get(directory)
            is_same = known is not None and known[0] == stamp
            found[directory] = known if known and is_same else (stamp, self._look(directory))
        self._known = found
        runs = sorted((run for _, run in found.values()), key=lambda run: run.name)
        return sorted(runs, key=lambda run: run.began, reverse=True)

    def _look(self, directory: Path) -> ListedRun:
        archive = examine([directory])
        for run in (*archive.runs, *archive.planted):
            return ListedRun(
                name=self._name(directory),
                directory=directory,
                run=run,
                sentence=run.sentence,
                verdict=run.verdict,
                is_as_expected=run.expected is not None and not run.mismatch,
            )
        skipped = archive.skipped[0]
        return ListedRun(
            name=self._name(directory),
            directory=directory,
            run=None,
            sentence=skipped.reason,
            verdict=skipped.verdict,
            is_as_expected=False,
        )

    def _name(self, directory: Path) -> str:
        """With the name of the served directory; where two have one name, with its whole path."""
        are_unlike = len({path.name for path in self._paths}) == len(self._paths)
        for path in self._paths:
            if directory.is_relative_to(path) and are_unlike:
                return directory.relative_to(path.parent).as_posix()
        return directory.as_posix().lstrip("/")


def _stamp(directory: Path) -> _Stamp:
    try:
        with os.scandir(directory) as inside:
            files = [(each.name, each.stat(follow_symlinks=False)) for each in inside]
    except OSError:  # it goes just now; what is left of it will be looked at again
        return ()
    return tuple(sorted((name, told.st_mtime_ns, told.st_size) for name, told in files))
