"""The log that older Jepsen tests print, as Porcupine's test data has it: fields between blanks.

    INFO  jepsen.util - 4	:invoke	:cas	[0 3]

A process, `:type`, `:f`, the value in EDN and perhaps more, which is not read.
"""

import re
from collections.abc import Iterator

from checkers.foreign.edn import forms
from checkers.foreign.entries import NEMESIS, HistoryLine
from checkers.foreign.foreign_values import ABSENT, MalformedError, Value, excerpt
from checkers.history.events import EventType

BEGINNING = "INFO jepsen.util -"

_LINE = re.compile(
    r"INFO\s+jepsen\.util\s+-\s+([0-9]{1,9}|:nemesis)\s+:(invoke|ok|fail|info)"
    r"\s+:([^\s,()\[\]{}\";]+)(?:\s+(\S.*))?"
)


def read(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if not line.endswith("\n"):
            # `:write 13` cut to `:write 1` would look complete.
            raise MalformedError(number, "a line that ends", f"{excerpt(line)} (truncated?)")
        entry = _entry(number, line.strip())
        if entry is not None:
            yield entry


def _entry(number: int, line: str) -> HistoryLine | None:
    found = _LINE.fullmatch(line)
    if found is None:
        expected = f"'{BEGINNING} PROCESS :invoke|:ok|:fail|:info :F VALUE'"
        raise MalformedError(number, expected, excerpt(line))
    process, kind, f, rest = found.groups()
    if process == f":{NEMESIS}":
        return None
    return HistoryLine(
        line=number,
        type=EventType(kind),
        process=int(process),
        f=f,
        key=ABSENT,
        value=_value(number, rest),
    )


def _value(number: int, rest: str | None) -> Value:
    if rest is None:
        return ABSENT
    if rest.isdecimal() and rest.isascii() and len(rest) < 19:
        return int(rest)
    try:
        return next(iter(forms(rest, unwrap=False)), (0, ABSENT))[1]
    except MalformedError as error:
        error.line = number
        raise
