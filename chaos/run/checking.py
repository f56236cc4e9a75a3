"""Judges runs and files again, one after the other, and gathers runs."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from chaos.errors import UNREADABLE, UsageError, explained
from chaos.run.foreign_disks import judge_disks, show_disks
from chaos.run.foreign_files import check_file, refuse
from chaos.run.judging import judge_directory
from chaos.run.rundir import is_run
from chaos.run.seal import UnsealableError
from chaos.run.terminal import judgement_json, judgement_text
from checkers.all_checks import as_text, listed
from checkers.disk.read import MixedDisksError, find_disks
from checkers.foreign import Declared
from checkers.foreign.jepsen_file import history_in
from checkers.history.store import UnreadableRunError
from checkers.verdict import Verdict, worst


def list_checks(*, as_json: bool) -> int:
    """Print what every check promises."""
    text = json.dumps(listed(), indent=2) if as_json else as_text()
    sys.stdout.write(text + "\n")
    return 0


def check(paths: Sequence[Path], declared: Declared, *, as_json: bool, reseal: bool = False) -> int:
    """Judge runs again from their files, and histories of others; the worst is the exit code.
    As JSON one object a path, of several an array.

    With `reseal` the tables of runs are made again from the recorded events, damaged or not.

    Unreadable paths are reported, the rest is judged, and the exit code is 254. A failure of the
    judge itself on one of several is reported too, and is an error. Raises UsageError.
    """
    named = list(dict.fromkeys(each for path in paths for each in _each(path)))
    if declared != Declared() and (runs := [path for path in named if is_run(path)]):
        raise UsageError(
            f"--model and the options for histories do not apply to runs, such as {runs[0]}\n"
            f"  try: kraft-chaos check {runs[0]}"
        )
    if reseal and (files := [path for path in named if not is_run(path)]):
        raise UsageError(
            f"--reseal applies to runs, not to histories such as {files[0]}\n"
            f"  try: kraft-chaos check {files[0]}"
        )
    judge = _check if len(named) == 1 else _check_one_of_several
    verdicts = []
    several = as_json and len(named) > 1
    for number, path in enumerate(named):
        if several:  # one document all the same, of which each part is there as soon as it is known
            sys.stdout.write(",\n" if number else "[\n")
        verdicts.append(judge(path, declared, as_json=as_json, reseal=reseal))
    sys.stdout.write("]\n" if several else "")
    judged = [verdict for verdict in verdicts if verdict is not None]
    return worst(judged).exit_code if len(judged) == len(named) else UNREADABLE


def _check_one_of_several(
    path: Path, declared: Declared, *, as_json: bool, reseal: bool
) -> Verdict | None:
    """The same; a failure of ours ends this one, not the next ones."""
    try:
        return _check(path, declared, as_json=as_json, reseal=reseal)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is: alone the path shows where it came from
        said = f"{path}: {type(error).__name__}: {error}"
        refuse(path, f"{said}\n  try: kraft-chaos --traceback check {path}", as_json=as_json)
        return Verdict.ERROR


def _check(path: Path, declared: Declared, *, as_json: bool, reseal: bool) -> Verdict | None:
    """Print the verdict; None if there is nothing to judge. After an OS error on one file the next
    is judged."""
    try:
        if is_run(path):
            return _check_run(path, as_json=as_json, reseal=reseal)
        history = history_in(path) if path.is_dir() else path
        if history is None:
            return _check_disks(path, declared, as_json=as_json)
        return check_file(history, declared, as_json=as_json)
    except BrokenPipeError:
        raise  # the reader of the verdicts is gone
    except OSError as error:
        refuse(path, f"{path}: {explained(error)}", as_json=as_json)
        return None


def _check_disks(directory: Path, declared: Declared, *, as_json: bool) -> Verdict | None:
    """Judge the disks of nodes; None where there are none, or those of several clusters."""
    try:
        found = find_disks(directory)
    except MixedDisksError as error:
        refuse(directory, f"{directory}: expected {error}", as_json=as_json)
        return None
    if found is None:
        expected = "a run (run.json), Jepsen's (history.edn), log directories of nodes, or a file"
        message = f"{directory}: expected {expected}, found another directory"
        refuse(directory, message, as_json=as_json)
        return None
    if declared != Declared():
        message = (
            f"{directory}: --model and the options for histories do not apply to disks of nodes"
        )
        refuse(directory, message, as_json=as_json)
        return None
    judged = judge_disks(directory, found)
    show_disks(judged, as_json=as_json)
    return judged.verdict


def _each(path: Path) -> list[Path]:
    """The runs in these paths, or the paths themselves."""
    return find_runs([path]) if is_run(path) or _runs_inside(path) else [path]


def _check_run(directory: Path, *, as_json: bool, reseal: bool) -> Verdict | None:
    """Judge one run and print its verdict; None if its files cannot be judged."""
    try:
        judgement = judge_directory(directory, reseal=reseal)
    except (UnsealableError, UnreadableRunError) as error:
        refuse(directory, str(error), as_json=as_json)
        return None
    show = judgement_json if as_json else judgement_text
    sys.stdout.write(show(judgement, directory) + "\n")
    return judgement.verdict


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Run directories; a directory that holds runs stands for all of them, `latest` aside."""
    found: list[Path] = []
    for path in paths:
        if is_run(path):
            found.append(path.resolve())
            continue
        inside = _runs_inside(path)
        if not inside:
            raise UsageError(
                f"{path}: neither a run nor a directory of runs (no run.json)\n"
                "  try: kraft-chaos run partition-leader"
            )
        found += [child.resolve() for child in inside if not child.is_symlink()]
    return list(dict.fromkeys(found))


def _runs_inside(directory: Path) -> list[Path]:
    try:
        return sorted(child for child in directory.glob("*") if is_run(child))
    except OSError:
        return []  # reading it will report the reason
