"""The evidence of a finding in one run: verdict, log lines, metadata records, bytes of files."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from chaos.foreign_files import printable
from chaos.kafka_findings.finding import Finding
from chaos.operator_errors import OperatorError, UsageError
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change, Partition
from checkers.history.store import UnreadableRunError, read_run
from checkers.verdict import Judgement, Verdict
from checkers.verdict_file import read_verdict

_LINES = 5  # of each node's log
_PARTITIONS, _CHANGES = 3, 12
_BYTES = 32  # of the beginning of each file
_FILES = 8


def excerpt(finding: Finding, directory: Path) -> str:
    """For a terminal. UsageError for a run of another scenario, OperatorError for unreadable
    files."""
    try:
        run = read_run(directory)
    except UnreadableRunError as error:
        raise OperatorError(str(error)) from error
    try:
        judgement = read_verdict(directory)
    except (FileNotFoundError, ValueError) as error:
        raise OperatorError(f"{error}\n  try: kraft-chaos check {directory}") from error
    if run.info.scenario not in finding.scenarios:
        raise UsageError(
            f"{directory} is a run of {run.info.scenario}; {finding.name} is shown by runs of "
            f"{' and '.join(finding.scenarios)}"
        )
    parts = [
        [f"{directory}: {judgement.sentence}"],
        _headed("lines of the nodes' logs", _log_lines(finding, directory)),
        _headed("records of the metadata log", _changes(Evidence(run), judgement)),
        _headed("files on the disks at the end", _files(finding, directory)),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _headed(title: str, lines: Iterable[str]) -> list[str]:
    """Empty where there is nothing to show: not every finding has bytes or records."""
    found = list(lines)
    return [f"{title}:", *(f"  {line}" for line in found)] if found else []


def _log_lines(finding: Finding, directory: Path) -> Iterator[str]:
    if not finding.says:
        return
    telling = re.compile("|".join(finding.says))
    logs = sorted((directory / "logs").glob("node-*.log"))
    for log in (each for each in logs if each.is_file()):  # a pipe would never end
        text = log.read_text(encoding="utf-8", errors="replace")
        found = [printable(line) for line in text.splitlines() if telling.search(line)]
        yield from (f"{log.stem}: {line}" for line in found[:_LINES])
        if len(found) > _LINES:
            yield f"{log.stem}: and {len(found) - _LINES} more such lines"


def _changes(evidence: Evidence, judgement: Judgement) -> Iterator[str]:
    """The changes of the partitions that the first witness names."""
    timeline = evidence.timeline
    if timeline is None:
        return
    for key in islice(_partitions(judgement), _PARTITIONS):
        history = timeline.history(key)
        yield from (f"{key}, offset {each.offset}: {_said(each)}" for each in history[:_CHANGES])
        if len(history) > _CHANGES:
            yield f"{key}: and {len(history) - _CHANGES} more"


def _partitions(judgement: Judgement) -> Iterator[str]:
    accused = (row for row in judgement.results if row.verdict is Verdict.INVALID)
    named = (str(event.get("key") or "") for row in accused for event in row.witness)
    return iter(dict.fromkeys(key for key in named if re.search(r"-\d+$", key)))


def _said(change: Change) -> str:
    if change.after is None:
        return "deleted"
    return f"{_state(change.after)}" + ("" if change.before else ", created")


def _state(partition: Partition) -> str:
    return (
        f"leader {partition.leader} in epoch {partition.leader_epoch}, ISR {list(partition.isr)}, "
        f"ELR {list(partition.elr)}, last known {list(partition.last_known_elr)}"
    )


def _files(finding: Finding, directory: Path) -> Iterator[str]:
    for disk in sorted((directory / "disks").glob("node-*")):
        found = sorted({path for pattern in finding.files for path in disk.glob(pattern)})
        for path in [each for each in found if each.is_file()][:_FILES]:
            name = path.relative_to(directory / "disks")
            yield f"{name}: {path.stat().st_size} bytes{_first_bytes(path)}"


def _first_bytes(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(_BYTES)
    return f", {content.hex(' ')} {content.decode('ascii', 'replace')!r}" if content else ""
