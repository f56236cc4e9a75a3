"""Lines of Apache Kafka's log, in the layout of its image: `[time] LEVEL text (logger)`.

Lines without a time belong to the line before them: an exception, and its stack. A node that ran
our own program for a while has trace lines in the same file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

LONGEST = 600  # characters of a text that are kept
_TIME = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] ")
_ERROR = re.compile(r"(ERROR|FATAL) ")
# A controller or broker logs this once per process, before it replays anything.
_BEGAN = "Reading KRaft snapshot and log as part of the initialization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A line with its time, in ms since 1970, and the text behind it."""

    ms: float
    rest: str


def time_of(line: str) -> Timed | None:
    """None for a line without a time."""
    told = _TIME.match(line)
    if told is None:
        return None
    second = datetime.fromisoformat(told[1]).replace(tzinfo=UTC).timestamp()
    return Timed(ms=second * 1_000 + int(told[2]), rest=line[told.end() :])


def error_rows(lines: Iterable[str], started_ms: float) -> Iterator[Mapping[str, int | str | None]]:
    """Rows of `tables.LOG_ERRORS`, without their node; `started_ms` becomes the zero of `t`."""
    row: dict[str, int | str | None] | None = None
    for line in lines:
        timed = time_of(line)
        if timed is None:
            if row is not None and row["cause"] is None and _is_prose(line):
                row["cause"] = line.strip()[:LONGEST]
            continue
        if row is not None:
            yield row
        row = _row(timed, started_ms)
    if row is not None:
        yield row


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("{")


def _row(timed: Timed, started_ms: float) -> dict[str, int | str | None] | None:
    """None for a line that is neither an error nor the start of a process."""
    error = _ERROR.match(timed.rest)
    if error is None and _BEGAN not in timed.rest:
        return None
    level, _, text = timed.rest.partition(" ")
    t = round((timed.ms - started_ms) * 1e6)
    return {"t": t, "level": level, "text": text.strip()[:LONGEST], "cause": None}
