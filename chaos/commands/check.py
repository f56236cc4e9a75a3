"""`kraft-chaos check` and the gathering of runs for `report`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from chaos.commands.errors import OperatorError
from chaos.commands.show import judgement_json, judgement_text
from chaos.judging import judge_directory
from chaos.rundir import is_run
from checkers.verdict import worst


def check(paths: Sequence[Path], *, as_json: bool) -> int:
    """Judge runs again from their files; the exit code is that of the worst."""
    verdicts = []
    for directory in find_runs(paths):
        judgement = judge_directory(directory)
        verdicts.append(judgement.verdict)
        show = judgement_json if as_json else judgement_text
        sys.stdout.write(show(judgement, directory) + "\n")
    return worst(verdicts).exit_code


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Run directories; a directory that holds runs stands for all of them, `latest` aside."""
    found: list[Path] = []
    for path in paths:
        if is_run(path):
            found.append(path.resolve())
            continue
        inside = sorted(child for child in path.glob("*") if is_run(child))
        if not inside:
            raise OperatorError(
                f"{path}: neither a run nor a directory of runs (no run.json)\n"
                "  try: kraft-chaos run partition-leader"
            )
        found += [child.resolve() for child in inside if not child.is_symlink()]
    return list(dict.fromkeys(found))
