"""A recorded run: read back as a plan, compared with another run, and written as a narrative."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from chaos.campaign.coverage import label
from chaos.errors import OperatorError, UsageError
from chaos.nemesis.recorded import schedule_from
from chaos.run.plan import RunPlan
from chaos.run.plan_files import plan_from
from chaos.run.rundir import is_run
from checkers.evidence.lives import NodeEvent, TraceColumns
from checkers.history.sealed_run import Run, read_run_info
from checkers.verdict import CheckResult, Judgement, counted

# The narrative of a failing run: leaders, faults and their victims, operations, what was seen.
#
# Only a small run is narrated in full. For a larger one, the operations are those on keys that
# the witness names, up to a limit.


NARRATIVE = "narrative.txt"
_MOST_OPERATIONS = 60
_SECOND = 1e9


class Line(NamedTuple):
    """`order` sorts lines of the same moment: faults, then nodes, then clients, then the judge."""

    at: int
    order: int
    text: str


def write_narrative(run: Run, judgement: Judgement, again: str) -> Path:
    """Put `narrative.txt` into the run's directory."""
    path = run.directory / NARRATIVE
    path.write_text(narrative(run, judgement, again), encoding="utf-8")
    return path


def narrative(run: Run, judgement: Judgement, again: str) -> str:
    """The whole text; `again` is the command that shows the failure once more."""
    blamed = [row for row in judgement.results if row.verdict is judgement.verdict]
    row = blamed[0] if blamed else None
    found = [*_faults(run), *_nodes(run), *_operations(run, row), *_seen(row)]
    lines = sorted(found, key=lambda line: (line.at, line.order))  # otherwise as they came
    told = [f"{line.at / _SECOND:9.4f} s  {line.text}" for line in lines]
    return "\n".join([*_head(run, judgement, row), "", *told, "", *_end(row, again)]) + "\n"


def _head(run: Run, judgement: Judgement, row: CheckResult | None) -> list[str]:
    info = run.info
    planted = f", with {info.mutation} planted in every node" if info.mutation else ""
    lines = [judgement.sentence, "", f"{counted(info.nodes, 'node')}{planted}; seed {info.seed}."]
    if row is not None and row.promise:
        lines.append(f"What was promised: {row.promise}")
    return lines


def _end(row: CheckResult | None, again: str) -> list[str]:
    seen = [f"What was seen instead: {row.message}"] if row is not None else []
    return [*seen, f"To see it again: {again}"]


# --- faults ---


def _faults(run: Run) -> Iterator[Line]:
    for fault in run.tables["faults"].to_pylist():
        what = f"{_named(fault)}{_victims(fault['nodes'], fault['links'])}"
        yield Line(fault["t_start"], 0, f"-- {what} begins")
        if fault["t_healed"] is not None:
            yield Line(fault["t_healed"], 0, f"-- {what} is over: {fault['evidence']}")


def _named(fault: dict[str, object]) -> str:
    return label(str(fault["kind"]), json.loads(str(fault["params"])))


def _victims(nodes: Sequence[int], links: Sequence[str]) -> str:
    hit = " of " + ", ".join(f"node {node}" for node in nodes) if nodes else ""
    return f"{hit} ({', '.join(links)})" if links else hit


# --- nodes ---


def _nodes(run: Run) -> Iterator[Line]:
    started: set[int] = set()
    for life in TraceColumns(run.tables["node_events"]).lives:
        for event in life.events("n.start", "n.stop", "q.state", "q.truncate"):
            text = _of_node(event, again=event.node in started)
            if event.event == "n.start":
                started.add(event.node)
            if text:
                yield Line(event.t, 1, f"node {event.node} {text}")


def _of_node(event: NodeEvent, *, again: bool) -> str:
    match event.event, event.state:
        case "n.start", _:
            more = f", its log ends at {event.log_end}, epoch {event.epoch}" if again else ""
            return f"starts{' again' if again else ''}{more}"
        case "n.stop", _:
            return "ends"
        case "q.state", "leader":
            return f"leads epoch {event.epoch}; its log ends at {event.log_end}"
        case "q.state", "resigned":
            return f"resigns in epoch {event.epoch}"
        case "q.state", "follower":
            return f"follows node {event.leader} in epoch {event.epoch}"
        case "q.state", "prospective":
            return f"knows no leader, and asks for pre-votes after epoch {event.epoch}"
        case "q.state", "candidate":
            return f"stands for epoch {event.epoch}"
        case "q.truncate", _:
            return f"cuts its log back to {event.log_end}"
        case _:
            return ""


# --- clients ---


def _operations(run: Run, row: CheckResult | None) -> Iterator[Line]:
    rows = run.tables["ops"].to_pylist()
    if len(rows) > _MOST_OPERATIONS:
        named = {event.get("key") for event in row.witness} if row is not None else set()
        rows = [each for each in rows if each["key"] in named][:_MOST_OPERATIONS]
    for each in rows:
        client = f"client {each['process']}"
        asked = f"writes {each['value']} to" if each["f"] == "write" else "reads"
        where = f"at node {each['node']}" if each["node"] > 0 else "and finds no leader"
        yield Line(each["t0"], 2, f"{client} {asked} {each['key']} {where}")
        if each["t1"] is not None:
            yield Line(each["t1"], 2, f"{client} {_answer(each)}")


def _answer(each: dict[str, object]) -> str:
    match each["outcome"], each["f"]:
        case "ok", "read":
            return f"reads {'nothing' if each['value'] is None else each['value']}"
        case "ok", _:
            return f"is told that {each['value']} is written"
        case "fail", _:
            return f"is refused: {each['error']}"
        case _:
            return f"never learns whether {each['value']} was written: {each['error']}"


# --- the judge ---


def _seen(row: CheckResult | None) -> Iterator[Line]:
    for event in row.witness if row is not None else ():
        at = event.get("t_ns")
        if isinstance(at, int):
            node = f"node {event['node']}: " if event.get("node") else ""
            yield Line(at, 3, f"   >> {node}{event.get('what', '')}")


def run_directory(named: Path) -> Path:
    """The run that a directory, or the `schedule.json` in it, belongs to. Raises UsageError."""
    directory = named if named.is_dir() else named.parent
    if not is_run(directory):
        raise UsageError(
            f"{named}: neither a run nor the schedule.json of one (no run.json)\n"
            "  try: kraft-chaos replay runs/latest"
        )
    return directory


def plan_of_run(named: Path) -> RunPlan:
    """The plan of a recorded run, from its run.json, to run it again. If a `schedule.json` is
    named, its windows are taken from there, as they may have been edited. Raises UsageError
    for what is no run, and OperatorError naming what cannot be read."""
    directory = run_directory(named)
    try:
        plan = plan_from(read_run_info(directory).plan)
        return _with_windows(plan, named) if named.is_file() and plan.schedule else plan
    except (OSError, ValueError) as error:
        raise OperatorError(
            f"{directory} cannot be replayed: {error}\n  try: {_again_by(directory)}"
        ) from error


def _with_windows(plan: RunPlan, file: Path) -> RunPlan:
    schedule = schedule_from(json.loads(file.read_bytes()))
    return replace(plan, schedule=schedule, duration_s=schedule.duration_s)


def _again_by(directory: Path) -> str:
    """The command by which it was recorded, for a person to judge."""
    try:
        return read_run_info(directory).command or "kraft-chaos list"
    except (OSError, ValueError):
        return "kraft-chaos list"


def differences(one: Path, other: Path) -> list[str]:
    """The files, by path, that differ between two runs' directories.

    The narrative that stands beside a shrunk run is left out.
    """
    names = sorted({*_files(one), *_files(other)} - {NARRATIVE})
    return [name for name in names if _content(one / name) != _content(other / name)]


def _files(directory: Path) -> set[str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)) for path in found}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
