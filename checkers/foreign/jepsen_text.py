"""The lines that Jepsen prints for each operation, in `history.txt` and in today's `jepsen.log`.

    4	:invoke	:cas	[0 3]
    2025-01-20 12:08:03,850{GMT}	INFO	[jepsen worker 0] jepsen.util: 0	:ok	:read	3
    INFO [2019-11-08 06:38:56,868] jepsen worker 4-n5 - jepsen.util 4	:fail	:cas	[0 3]	:no

Process, `:type`, `:f`, the value in EDN and perhaps an error, between tabs (jepsen.print's `prn-op`
and `op->str`, which older versions have in jepsen.util); blanks are read too, as texts on the web
have them. EDN escapes tabs and line ends, but an error is printed as it is: the lines after one
continue it. A log has many other lines, which are skipped. Its order is one of real time, though a
looser one than the history's: a worker logs a completion after it has handed it over, and none if
it crashed (jepsen.generator.interpreter).
"""

import re
from collections.abc import Iterator

from checkers.foreign.edn import forms
from checkers.foreign.entries import NEMESIS, HistoryLine
from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.foreign_values import ABSENT, Value
from checkers.history.events import EventType

_TYPES = "invoke|ok|fail|info"
_OPERATION = re.compile(
    rf"""([0-9]{{1,18}}|:{NEMESIS})(\s+):({_TYPES})\s+(:[^\s,()\[\]{{}}";]+|nil)(?:\s+(\S.*))?"""
)
# The logger's prefix before an operation: by the pattern of `jepsen.store`, which on a console has
# no time, and by unilog's own, which older versions had.
_LOGGED = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:,.]+\S*\s+)?INFO\s+\[[^\]]*\]\s+"
    r"(?:[^\t]*?\s-\s)?jepsen\.(?:util|print):?\s"
)
LOG_BEGINS = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:,.]+\S*\s+)?(?:DEBUG|INFO|WARN|ERROR)\s+\["
)
HISTORY_BEGINS = re.compile(rf"(?:[0-9]{{1,18}}|:{NEMESIS})\t:(?:{_TYPES})\t")
_LIKE_ONE = re.compile(rf"(?:[0-9]+|:{NEMESIS})\t:")
_EXPECTED = "'PROCESS :invoke|:ok|:fail|:info :F VALUE' between tabs"


def read_history_txt(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    goes_on = False  # the line before ends with an error, which may have more lines
    for number, line in _lines(text):
        found = _OPERATION.fullmatch(line)
        if found is not None:
            entry, goes_on = _entry(number, line, found)
            yield from entry
        elif line.strip() and not goes_on:
            raise MalformedError(number, _EXPECTED, excerpt(line))


def read_jepsen_log(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    for number, line in _lines(text):
        logged = _LOGGED.match(line)
        if logged is None:
            continue
        found = _OPERATION.fullmatch(line, logged.end())
        if found is not None:
            yield from _entry(number, line, found)[0]
        elif _LIKE_ONE.match(line, logged.end()):
            raise MalformedError(number, _EXPECTED, excerpt(line[logged.end() :]))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Raises MalformedError if the last line is cut: `13` cut to `1` would look complete."""
    lines = text.split("\n")
    if lines[-1]:
        raise MalformedError(len(lines), "a line that ends", f"{excerpt(lines[-1])} (truncated?)")
    for number, line in enumerate(lines[:-1], start=1):
        yield number, line.removesuffix("\r")


def _entry(number: int, line: str, found: re.Match[str]) -> tuple[list[HistoryLine], bool]:
    """None for the nemesis; and whether the line ends with an error."""
    process, blank, kind, f, rest = found.groups()
    if process == f":{NEMESIS}":
        return [], rest is not None and "\t" in rest
    value, error = _value(number, rest, between_tabs="\t" in blank)
    if f == "nil":
        raise MalformedError(number, "an operation with a name", excerpt(line))
    entry = HistoryLine(
        line=number,
        type=EventType(kind),
        process=int(process),
        f=f.removeprefix(":"),
        key=ABSENT,
        value=value,
    )
    return [entry], error


def _value(number: int, rest: str | None, *, between_tabs: bool) -> tuple[Value, bool]:
    """And whether an error follows it."""
    if rest is None:
        return ABSENT, False
    told, tab, _ = rest.partition("\t")
    try:
        found = [value for _line, value in forms(told, unwrap=False)]
    except MalformedError as error:
        error.line = number
        raise
    if not found or (between_tabs and len(found) > 1):
        raise MalformedError(number, "one value in EDN", excerpt(told))
    return found[0], bool(tab) or len(found) > 1
