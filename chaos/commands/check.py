"""`kraft-chaos check` of runs and of files, and the gathering of runs for `report`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from chaos.commands.arguments import WRONG_USAGE
from chaos.commands.check_files import check_file, refuse
from chaos.commands.show import judgement_json, judgement_text
from chaos.judging import judge_directory
from chaos.operator_errors import OperatorError, UsageError
from chaos.rundir import is_run
from chaos.seal import UnsealableError
from checkers.foreign import Declared
from checkers.history.store import UnreadableRunError
from checkers.verdict import Verdict, worst


def check(paths: Sequence[Path], declared: Declared, *, as_json: bool) -> int:
    """Judge runs again from their files, and histories of others; the worst is the exit code.

    What cannot be read is said, the rest is judged, and the exit code is 254. Raises UsageError.
    """
    verdicts = []
    unreadable = False
    named = _each(paths)
    if declared != Declared() and (runs := [path for path in named if is_run(path)]):
        raise UsageError(
            f"--model and what files leave open are not for runs, such as {runs[0]}\n"
            f"  try: kraft-chaos check {runs[0]}"
        )
    for path in named:
        verdict = (
            _check_run(path, as_json=as_json)
            if is_run(path)
            else check_file(path, declared, as_json=as_json)
        )
        if verdict is None:
            unreadable = True
        else:
            verdicts.append(verdict)
    return WRONG_USAGE if unreadable else worst(verdicts).exit_code


def _each(paths: Sequence[Path]) -> list[Path]:
    """Runs, and whatever else was named, each once."""
    named: list[Path] = []
    for path in paths:
        named += find_runs([path]) if is_run(path) or _runs_inside(path) else [path]
    return list(dict.fromkeys(named))


def _check_run(directory: Path, *, as_json: bool) -> Verdict | None:
    """Judge one run and print its verdict; None if nothing can be made of its files."""
    try:
        judgement = judge_directory(directory)
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
            raise OperatorError(
                f"{path}: neither a run nor a directory of runs (no run.json)\n"
                "  try: kraft-chaos run partition-leader"
            )
        found += [child.resolve() for child in inside if not child.is_symlink()]
    return list(dict.fromkeys(found))


def _runs_inside(directory: Path) -> list[Path]:
    return sorted(child for child in directory.glob("*") if is_run(child))
