"""Which format a text is in, told by its beginning."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from checkers.foreign import etcd_log, jepsen, json_lines
from checkers.foreign.entries import HistoryLine
from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.policies import CasFailures, NilReads

_LOG = re.compile(r"INFO\s+jepsen\.util\s+-")
_JSON = re.compile(r"""\[?\s*\{\s*("|\})|\[\s*\]""")
_EDN = re.compile(r"[\[({;#]")


class Format(Enum):
    """Names as the command prints them."""

    EDN = "Jepsen EDN"
    LOG = "Jepsen text log"
    JSON = "JSON"
    EVENTS = "kraft-chaos events"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReader:
    """How a format is read, and what its files leave open unless told otherwise."""

    read: Callable[[str], Iterator[HistoryLine]]
    cas_failures: CasFailures
    nil_reads: NilReads


READERS = {
    # As Knossos judges them.
    Format.EDN: FormatReader(
        read=jepsen.read, cas_failures=CasFailures.DROPPED, nil_reads=NilReads.ANY
    ),
    # As Porcupine judges them: nil is what nobody has written, a failed cas has looked.
    Format.LOG: FormatReader(
        read=etcd_log.read, cas_failures=CasFailures.OBSERVED, nil_reads=NilReads.VALUE
    ),
    Format.JSON: FormatReader(
        read=json_lines.read, cas_failures=CasFailures.DROPPED, nil_reads=NilReads.VALUE
    ),
    Format.EVENTS: FormatReader(
        read=json_lines.read, cas_failures=CasFailures.DROPPED, nil_reads=NilReads.VALUE
    ),
}


def detect(text: str) -> Format:
    """Raises MalformedError for a text that begins like none of the formats."""
    begin = text.lstrip()
    if _LOG.match(begin):
        return Format.LOG
    if _JSON.match(begin):
        return Format.EVENTS if json_lines.is_own(text) else Format.JSON
    if _EDN.match(begin):
        return Format.EDN
    line = text.count("\n", 0, len(text) - len(begin)) + 1
    raise MalformedError(
        line,
        f"a history: Jepsen's EDN, JSON objects, or lines of '{etcd_log.BEGINNING}'",
        excerpt(begin),
    )
