"""Recognises the format of a file by how it begins, and reads its operations."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from checkers.foreign import etcd_log, jepsen, jepsen_file, porcupine
from checkers.foreign.entries import Pair, pair
from checkers.foreign.foreign_values import MalformedError, excerpt
from checkers.foreign.source import CasFailures, NilReads, decode

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
    Format.LOG: _porcupine(lambda data: pair(etcd_log.read(decode(data)))),
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
        f"'{etcd_log.BEGINNING}'",
        excerpt(begin),
    )


def _of_json(text: str) -> Format:
    if any(map(porcupine.is_operation, porcupine.first(text))):
        return Format.PORCUPINE
    return Format.EVENTS if porcupine.is_own(text) else Format.JSON
