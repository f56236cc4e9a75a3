"""Foreign histories, judged and explained.

Judges runs and files again, one after the other, and gathers runs.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from chaos.errors import UNREADABLE, UsageError, explained
from chaos.run.foreign_disks import judge_disks, show_disks
from chaos.run.judging import judge_directory
from chaos.run.rundir import is_run
from chaos.run.seal import UnsealableError
from chaos.run.terminal import judgement_json, judgement_text
from checkers.all_checks import as_text, listed
from checkers.disk.read import MixedDisksError, find_disks
from checkers.foreign import (
    CasFailures,
    Declared,
    ForeignHistory,
    Isolation,
    Judged,
    Lists,
    Log,
    NilReads,
    Objects,
    Shown,
    UnreadableHistoryError,
    judge,
    read_history,
    read_one,
)
from checkers.foreign.jepsen_file import history_in
from checkers.history.calls import Model, Step
from checkers.history.store import UnreadableRunError
from checkers.verdict import Verdict, counted, worst

_NIL_READS = {
    NilReads.VALUE: "nothing had been written",
    NilReads.ANY: "nothing, it fits any value",
}
_ISOLATIONS = {
    Isolation.JEPSEN: "transactions may interleave freely, as in Jepsen's Kafka workload",
    Isolation.KAFKA: "sends of transactions interleave, and are visible once committed",
    Isolation.PL_2: "their sends are in one order",
    Isolation.SERIALIZABLE: "all their operations are in one order",
    Isolation.STRICT_SERIALIZABLE: "all their operations are in one order, that of real time",
}
_CAS_FAILURES = {
    CasFailures.OBSERVED: "it saw another value",
    CasFailures.DROPPED: "nothing",
}


def declared(
    *,
    model: str | None,
    cas_failures: str | None,
    nil_reads: str | None,
    initial: str | None,
    isolation: str | None,
) -> Declared:
    """The user's options for the files. Raises UsageError."""
    try:
        there = None if initial is None else read_one(initial)
    except ValueError as error:
        raise UsageError(f"--initial {initial}: {error}\n  try: --initial 0") from error
    return Declared(
        model=Model(model) if model else None,
        cas_failures=CasFailures(cas_failures) if cas_failures else None,
        nil_reads=NilReads(nil_reads) if nil_reads else None,
        initial=there,
        isolation=Isolation(isolation) if isolation else None,
    )


def check_file(path: Path, declared: Declared, *, as_json: bool) -> Verdict | None:
    """Judge one file and print the result; None if there is nothing to judge in it.

    Anything but a regular file is not opened: a pipe without a writer would never end.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        what = "a pipe, a socket or a device"
        message = f"{path}: expected a run or a file, found {what}\n  try: cat it to a file first"
        refuse(path, message, as_json=as_json)
        return None
    try:
        history = read_history(path, declared)
    except UnreadableHistoryError as error:
        refuse(path, str(error), as_json=as_json)
        return None
    judged = judge(history)
    show = _as_json if as_json else _as_text
    sys.stdout.write(show(history, judged) + "\n")
    sys.stdout.flush()
    return judged.verdict


def refuse(path: Path, message: str, *, as_json: bool) -> None:
    """On stderr; for scripts an object without a verdict as well."""
    lines = [printable(line) for line in message.replace(str(path), quoted(path)).splitlines()]
    sys.stderr.write("error: " + "\n".join(lines) + "\n")
    if as_json:
        sys.stdout.write(json.dumps({"file": str(path), "error": message}) + "\n")


def quoted(path: Path) -> str:
    """The name of a file, on one line whatever characters it has."""
    name = str(path)
    return name if name.isprintable() else repr(name)


def printable(text: str) -> str:
    """Safe on a terminal: the contents of files are untrusted."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _as_json(history: ForeignHistory, judged: Judged) -> str:
    content = {
        "file": str(history.path),
        "verdict": judged.verdict.word,
        "message": judged.message,
        "format": history.format.value,
        "model": history.calls.model.value,
        "model_why": history.model_why,
        "left_out": dict(history.left_out),
        "cas_failures": history.policies.cas_failures.value,
        "nil_reads": history.policies.nil_reads.value,
        "isolation": history.policies.isolation.value,
        "algorithm": judged.algorithm,
        "operations": judged.operations,
        "keys": judged.keys,
        "seconds": round(judged.seconds, 6),
        "witness_seconds": round(judged.witness_seconds, 6),
        "witness": [
            {
                "line": shown.line,
                "completed_line": shown.completed_line or None,
                "process": shown.process,
                "key": shown.key,
                "what": shown.what,
                "part": shown.part,
            }
            for shown in judged.witness
        ],
        "witness_context": list(judged.context),
    }
    return json.dumps(content)


def _as_text(history: ForeignHistory, judged: Judged) -> str:
    keys = counted(judged.keys, "key")
    seconds = f"{judged.seconds:.3f} s"
    if judged.witness:
        seconds += f", explained in {judged.witness_seconds:.3f} s"
    rows = [
        f"{quoted(history.path)}: {judged.verdict.word.upper()}: {judged.message}",
        f"  format      {history.format.value}",
        f"  model       {history.calls.model.value}: {history.model_why}",
        *_left_out(history),
        *_policies(history),
        f"  algorithm   {judged.algorithm}",
        f"  operations  {judged.operations:,} on {keys}, judged in {seconds}",
        *_witness(judged),
    ]
    return "\n".join(map(printable, rows))


def _left_out(history: ForeignHistory) -> list[str]:
    if not history.left_out:
        return []
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(history.left_out.items()))
    return [f"  left out    {counts}: judged with the whole run only"]


def _policies(history: ForeignHistory) -> list[str]:
    """The assumptions that may have mattered."""
    calls, policies = history.calls, history.policies
    if isinstance(calls, Log | Lists):
        return [f"  isolation   {policies.isolation}: {_ISOLATIONS[policies.isolation]}"]
    if isinstance(calls, Objects):
        return []
    lines = []
    if (calls.kind == Step.READ).any():
        lines.append(f"  nil reads   tell: {_NIL_READS[policies.nil_reads]}")
    if ((calls.kind == Step.CAS) | (calls.kind == Step.CAS_FAILED)).any():
        lines.append(f"  failed cas  tells: {_CAS_FAILURES[policies.cas_failures]}")
    return lines


def _witness(judged: Judged) -> list[str]:
    if not judged.witness:
        return [f"  {line}" for line in judged.context]
    on = f" on key {judged.witness[0].key}" if judged.witness[0].key else ""
    return [
        f"  witness{on}, by lines of the file:",
        *_table([("line", "process", "operation", ""), *map(_row, judged.witness)]),
        *(f"    {line}" for line in judged.context),
    ]


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["    " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _row(shown: Shown) -> tuple[str, ...]:
    end = str(shown.completed_line) if shown.completed_line else "never"
    return f"{shown.line}..{end}", str(shown.process), shown.what, shown.part


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
