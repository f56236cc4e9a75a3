"""Foreign histories, judged and explained."""

import json
import sys
from pathlib import Path

from chaos.errors import UsageError
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
from checkers.history.calls import Model, Step
from checkers.verdict import Verdict, counted

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
