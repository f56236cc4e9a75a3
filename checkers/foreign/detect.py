"""Recognises the format of a file by how it begins, and reads its operations."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from checkers.foreign import jepsen, jepsen_file, porcupine
from checkers.foreign.edn import forms
from checkers.foreign.entries import NEMESIS, HistoryLine, Pair, pair
from checkers.foreign.foreign_values import ABSENT, MalformedError, Value, excerpt
from checkers.foreign.source import CasFailures, NilReads, decode
from checkers.history.events import EventType

# The log that older Jepsen tests print, as Porcupine's test data has it: fields between blanks.
#
#     INFO  jepsen.util - 4       :invoke :cas    [0 3]
#
# A process, `:type`, `:f`, the value in EDN and perhaps more, which is not read.


_LOG_BEGINNING = "INFO jepsen.util -"

_LINE = re.compile(
    r"INFO\s+jepsen\.util\s+-\s+([0-9]{1,9}|:nemesis)\s+:(invoke|ok|fail|info)"
    r"\s+:([^\s,()\[\]{}\";]+)(?:\s+(\S.*))?"
)


def read_text_log(text: str) -> Iterator[HistoryLine]:
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
        expected = f"'{_LOG_BEGINNING} PROCESS :invoke|:ok|:fail|:info :F VALUE'"
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


_LOG = re.compile(r"INFO\s+jepsen\.util\s+-")
_JSON = re.compile(r"""\[?\s*\{\s*("|\})|\[\s*\]""")
_EDN = re.compile(r"[\[({;#]")


class Format(Enum):
    """Names as the command prints them."""

    EDN = "Jepsen EDN"
    HISTORY_TXT = "Jepsen history.txt"
    JEPSEN_LOG = "jepsen.log"
    JEPSEN_FILE = "test.jepsen"
    LOG = "Jepsen text log"
    JSON = "JSON"
    PORCUPINE = "Porcupine operations"
    EVENTS = "kraft-chaos events"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReader:
    """How a format is read, and the policies that its files leave open by default."""

    read: Callable[[bytes], list[Pair]]
    cas_failures: CasFailures
    nil_reads: NilReads


def _knossos(read: Callable[[bytes], list[Pair]]) -> FormatReader:
    """Open policies are Knossos', which judges Jepsen's histories."""
    return FormatReader(read=read, cas_failures=CasFailures.DROPPED, nil_reads=NilReads.ANY)


def _porcupine(read: Callable[[bytes], list[Pair]]) -> FormatReader:
    """As Porcupine judges them: nil is a value that was never written, a failed cas is an
    observation."""
    return FormatReader(read=read, cas_failures=CasFailures.OBSERVED, nil_reads=NilReads.VALUE)


def _plain(read: Callable[[bytes], list[Pair]]) -> FormatReader:
    return FormatReader(read=read, cas_failures=CasFailures.DROPPED, nil_reads=NilReads.VALUE)


READERS = {
    Format.EDN: _knossos(lambda data: pair(jepsen.read(decode(data)))),
    Format.HISTORY_TXT: _knossos(lambda data: pair(jepsen_file.read_history_txt(decode(data)))),
    Format.JEPSEN_LOG: _knossos(lambda data: pair(jepsen_file.read_jepsen_log(decode(data)))),
    Format.JEPSEN_FILE: _knossos(lambda data: pair(jepsen_file.read(data))),
    Format.LOG: _porcupine(lambda data: pair(read_text_log(decode(data)))),
    Format.JSON: _plain(lambda data: pair(porcupine.read(decode(data)))),
    Format.PORCUPINE: _porcupine(lambda data: porcupine.read_operations(decode(data))),
    Format.EVENTS: _plain(lambda data: pair(porcupine.read(decode(data)))),
}


def detect(data: bytes) -> Format:
    """Raises MalformedError if the file begins like none of the formats."""
    if data.startswith(jepsen_file.MAGIC):
        return Format.JEPSEN_FILE
    text = decode(data)
    begin = text.lstrip()
    if _LOG.match(begin):
        return Format.LOG
    if jepsen_file.HISTORY_BEGINS.match(begin):
        return Format.HISTORY_TXT
    if jepsen_file.LOG_BEGINS.match(begin):
        return Format.JEPSEN_LOG
    if _JSON.match(begin):
        return _of_json(text)
    if _EDN.match(begin):
        return Format.EDN
    line = text.count("\n", 0, len(text) - len(begin)) + 1
    raise MalformedError(
        line,
        "a history: Jepsen's EDN, JSON objects, history.txt, jepsen.log, or lines of "
        f"'{_LOG_BEGINNING}'",
        excerpt(begin),
    )


def _of_json(text: str) -> Format:
    if any(map(porcupine.is_operation, porcupine.first(text))):
        return Format.PORCUPINE
    return Format.EVENTS if porcupine.is_own(text) else Format.JSON
