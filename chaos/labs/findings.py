"""Findings in Apache Kafka, as its maintainers need them (`docs/results/findings.md`).

A finding is a value: its section of the page, its script, and its evidence in a run (log lines,
metadata records, bytes of files). The scripts use nothing of this project; their folder also has
their output.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from chaos.errors import OperatorError, UsageError
from chaos.run.foreign_files import printable
from chaos.run.rundir import is_run
from chaos.setup.shell import repository
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change, Partition
from checkers.history.store import UnreadableRunError, read_run
from checkers.verdict import Judgement, Verdict
from checkers.verdict_file import read_verdict

# A finding: its section of `docs/results/findings.md`, its script, its evidence in a run.


_CHECKOUT = "\n  try: again from a full checkout of the repository"
_SCRIPTS = Path(__file__).with_name("finding_scripts")
_HEAD = re.compile(r"\| \| (4\.\d+\.\d+ \| )+command \|")
_ROW = re.compile(r"\| (\d+)\. ")
_SECTION = re.compile(r"^## (\d+)\. (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding, named as the first of its scenarios.

    `says` are regular expressions of log lines that show it, `files` globs below a node's data
    directory for files that show it; `moments` those of the audit that show it.
    """

    section: int  # of docs/results/findings.md
    scenarios: Sequence[str]
    says: Sequence[str] = ()
    files: Sequence[str] = ()
    moments: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.scenarios[0]

    @property
    def title(self) -> str:
        return self.prose().splitlines()[0]

    def prose(self) -> str:
        """Title and text of its section, as the page has them. Raises OperatorError."""
        page = repository() / "docs" / "results" / "findings.md"
        try:
            parts = _SECTION.split(page.read_text(encoding="utf-8"))
        except OSError as error:
            raise OperatorError(
                f"{page}: {error.strerror}\n  try: again from a full checkout of the repository"
            ) from error
        for number, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if int(number) == self.section:
                own, _, _ = text.partition("\n## ")
                return f"{title}\n\n{own.strip()}"
        raise OperatorError(f"{page} has no section {self.section}{_CHECKOUT}")

    def script(self) -> str:
        """A whole shell script that shows it."""
        parts = (_SCRIPTS / "beginning.sh", _SCRIPTS / f"{self.name}.sh")
        return "".join(part.read_text(encoding="utf-8") for part in parts)

    def printed(self) -> str:
        """What the script printed when it was last recorded."""
        return (_SCRIPTS / f"{self.name}.out").read_text(encoding="utf-8").strip()


# Every finding, in the order of `docs/results/findings.md`.


FINDINGS: Mapping[str, Finding] = {
    each.name: each
    for each in (
        Finding(
            section=1,
            scenarios=("observer-power-off",),
            says=(r"Encountered fatal fault", r"IllegalStateException: Expected to be Follower"),
            files=("__cluster_metadata-0/*.log", "__cluster_metadata-0/quorum-state"),
        ),
        Finding(
            section=2,
            scenarios=("format-power-off",),
            says=(r"No FeatureLevelRecord for metadata.version",),
            files=("bootstrap.checkpoint", "meta.properties"),
            moments=("formatted", "first-start"),
        ),
        Finding(section=3, scenarios=("last-replica-standing",)),
        Finding(section=4, scenarios=("silent-controller",)),
        Finding(section=5, scenarios=("unwaited-topics",)),
        Finding(
            section=6,
            scenarios=("clean-stop-power-off", "clean-stop-then-lead"),
            says=(r"Deleting segment",),
            files=("append-0-1/*.log", "append-0-1/*.timeindex"),
            moments=("clean-stop",),
        ),
        Finding(
            section=7,
            scenarios=("fenced-last-leader",),
            says=(r"using an unclean election",),
        ),
        Finding(
            section=8,
            scenarios=("moved-replicas", "moved-replica"),
            says=(
                r"successfully replaced with the future replica",
                r"Recovering unflushed segment",
            ),
            files=("append-0-*/*.log", "kraft.second/append-0-*/*.log"),
            moments=("replica-moved",),
        ),
        Finding(
            section=9,
            scenarios=("lone-controller",),
            files=("__cluster_metadata-0/*.log",),
            moments=("syncs-waiting",),
        ),
        Finding(
            section=10,
            scenarios=("elr-wiped",),
            says=(r"handleBrokerUncleanShutdown",),
        ),
        Finding(
            section=11,
            scenarios=("lost-observer",),
            says=(r"transition to FollowerState",),
        ),
        Finding(
            section=12,
            scenarios=("hanging-transaction",),
            says=(r"0 recovered for __transaction_state",),
            files=("append-0-0/*.log", "__transaction_state-*/*.log"),
            moments=("segment-rolled",),
        ),
        Finding(
            section=13,
            scenarios=("lost-timestamps",),
            files=("append-looked-up-0/*.timeindex",),
        ),
        Finding(
            section=14,
            scenarios=("ghost-topic",),
            says=(r"Error generating new metadata image",),
            files=("__cluster_metadata-0/*.log",),
        ),
        Finding(
            section=15,
            scenarios=("undeleted-records",),
            files=("log-start-offset-checkpoint", "append-shortened-0/*.log"),
        ),
        Finding(
            section=16,
            scenarios=("unreachable-voter",),
            says=(r"Completed transition to (Leader|ProspectiveState)",),
        ),
        Finding(
            section=17,
            scenarios=("unknown-operation",),
            says=(r"Encountered quorum controller fault",),
        ),
        Finding(
            section=18,
            scenarios=("bootstrap-race",),
            says=(r"Performing controller activation", r"Unknown metadata version"),
            files=("__cluster_metadata-0/*.log", "bootstrap.checkpoint"),
        ),
        Finding(
            section=19,
            scenarios=("removed-candidate",),
            says=(r"must be in the set of voters", r"Completed transition to (Candidate|Leader)"),
            files=("__cluster_metadata-0/quorum-state",),
        ),
        Finding(
            section=20,
            scenarios=("removed-leader",),
            says=(r"Completed transition to (UnattachedState|ProspectiveState|Leader)",),
            files=("__cluster_metadata-0/quorum-state",),
        ),
        Finding(
            section=21,
            scenarios=("remembered-commit",),
            files=("append-0-0/*.log", "__transaction_state-*/*.log"),
            moments=("commit-remembered",),
        ),
        Finding(
            section=22,
            scenarios=("voting-broker",),
            says=(r"Received unexpected invalid request error", r"Latest set of voters"),
            files=("__cluster_metadata-0/*.log", "__cluster_metadata-0/quorum-state"),
        ),
        Finding(
            section=23,
            scenarios=("raised-min-isr",),
            says=(r"handleBrokerUncleanShutdown", r"min\.insync\.replicas"),
        ),
        Finding(section=24, scenarios=("elr-upgrade",), says=(r"handleBrokerUncleanShutdown",)),
        Finding(section=25, scenarios=("stranded-partition",), says=(r"min\.insync\.replicas",)),
    )
}


def tried() -> Mapping[str, Sequence[tuple[int, str]]]:
    """By release, which findings were looked for in it, by their numbers, and what was seen: the
    rows of the page's table. A release without a column stands within a cell. Raises
    OperatorError."""
    page = repository() / "docs" / "results" / "findings.md"
    try:
        lines = page.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise OperatorError(f"{page}: {error.strerror}{_CHECKOUT}") from error
    head = next((line for line in lines if _HEAD.match(line)), "")
    columns = _cells(head)[1:-1]
    found: dict[str, dict[int, str]] = {}
    for line in lines:
        if (row := _ROW.match(line)) is None:
            continue
        number = int(row.group(1))
        for release, cell in zip(columns, _cells(line)[1:-1], strict=True):
            own, *others = re.split(r"\b[Oo]n (4\.\d+\.\d+),? ?", cell)
            if not own.startswith("not run"):
                found.setdefault(release, {})[number] = own.rstrip(" ;.:,")
            for other, seen in zip(others[::2], others[1::2], strict=True):
                found.setdefault(other, {})[number] = seen.strip(" ;.:,")
    return {release: sorted(seen.items()) for release, seen in found.items()}


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split(" | ")]


# The evidence of a finding in one run: verdict, log lines, metadata records, bytes of files.


_LINES = 5  # of each node's log
_PARTITIONS, _CHANGES = 3, 12
_BYTES = 32  # of the beginning of each file
_FILES = 8


def excerpt(finding: Finding, directory: Path) -> str:
    """For a terminal. UsageError for what is no run, or one of another scenario; OperatorError for
    unreadable files."""
    if not is_run(directory):
        raise UsageError(
            f"{directory} is no run (no run.json)\n  try: kraft-chaos finding {finding.name}"
        )
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
