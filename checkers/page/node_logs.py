"""Nodes' log lines around a witness: the most informative ones, and the path to all.

A line of Apache Kafka begins with its time by the node's own clock, one of our node's trace has the
machine's. A line without a time belongs to the one before it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from checkers.history.log_lines import time_of
from checkers.history.sealed_run import RunInfo
from checkers.page import units
from checkers.page.fault_windows import FaultWindow
from checkers.page.markup import Markup, clipped, joined, tag
from checkers.verdict import CheckResult

LOGS = "logs"  # the directory of `node-N.log`, beside the page
_LINES_SHOWN = 12  # of a node
_LINE_LENGTH = 320
_AROUND_NS = 1_500_000_000
_MOST_BYTES = 32 << 20

_TRACE_TIME = re.compile(r'"mono":(\d+)')
_LOUD = re.compile(r"\b(WARN|ERROR|FATAL|Exception|panic|assert\w*)\b")
_DIFFERS = re.compile(r"[\w-]*\d[\w-]*")  # a word with a digit in it
_FREQUENT = re.compile(r'"ev":"q\.(append|fsync|fetch|hwm)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    at_ns: int  # of the run
    text: str


def log_excerpts(
    directory: Path, info: RunInfo, result: CheckResult, faults: Sequence[FaultWindow]
) -> Markup | None:
    """For the nodes that a witness names or its faults hit, around its events. None if no log was
    collected."""
    begun = {event.get("t_ns") for event in result.witness}
    nodes = sorted(
        {node for event in result.witness if isinstance(node := event.get("node"), int)}
        | {node for fault in faults if fault.start_ns in begun for node in fault.nodes}
    )
    logs = [(node, directory / LOGS / f"node-{node}.log") for node in nodes]
    shown = [_excerpt(node, path, info, result) for node, path in logs if path.is_file()]
    return joined(tag("h3", "What these nodes wrote then"), *shown) if shown else None


def _excerpt(node: int, path: Path, info: RunInfo, result: CheckResult) -> Markup:
    link = tag("a", f"{LOGS}/{path.name}", href=f"{LOGS}/{path.name}")
    head = tag("p", f"node {node}, all of it in ", link)
    if path.stat().st_size > _MOST_BYTES:
        return joined(head, tag("p", "It is too long to look for lines in.", class_="soft"))
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = most_telling(list(read_lines(text, info)), result)
    words = "\n".join(f"{units.moment(line.at_ns):>11}  {line.text}" for line in lines)
    body = tag("pre", words) if words else tag("p", "Nothing at these times.", class_="soft")
    return joined(head, body)


def read_lines(text: str, info: RunInfo) -> Iterator[LogLine]:
    """Every line with its time, or that of the line before it; in the order of the file."""
    started_ms = datetime.fromisoformat(info.started_utc).timestamp() * 1_000
    at_ns = 0
    for whole in text.splitlines():
        line = whole
        if (timed := time_of(line)) is not None:
            at_ns = round((timed.ms - started_ms) * 1e6)
            line = timed.rest
        elif told := _TRACE_TIME.search(line):
            at_ns = int(told[1]) - info.started_mono_ns
        yield LogLine(at_ns=at_ns, text=clipped(line, _LINE_LENGTH))


def most_telling(lines: Sequence[LogLine], result: CheckResult) -> list[LogLine]:
    """Lines near an event of the witness: those that name its key first, then warnings, then the
    nearest; in order of time. Of lines that differ only in numbers and ids, the first."""
    times = [
        at
        for event in result.witness
        for name in ("t_ns", "t1_ns")
        if isinstance(at := event.get(name), int)
    ]
    keys = {str(event["key"]) for event in result.witness if event.get("key") is not None}
    ranked = []
    said: set[str] = set()
    for number, line in enumerate(lines):
        away = min((abs(line.at_ns - at) for at in times), default=_AROUND_NS + 1)
        shape = _DIFFERS.sub("#", line.text)
        if away <= _AROUND_NS and shape not in said:
            said.add(shape)
            named = any(key in line.text for key in keys)
            loud = _LOUD.search(line.text) is not None
            frequent = _FREQUENT.search(line.text) is not None
            ranked.append((frequent, not named, not loud, away, number))
    chosen = sorted(number for *_, number in sorted(ranked)[:_LINES_SHOWN])
    return [lines[number] for number in chosen]
