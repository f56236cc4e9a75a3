"""The page of a run, the most important first: verdict, limits, log lines, what was not judged."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run, RunInfo
from checkers.history.traces import time_of
from checkers.page import units
from checkers.page.closeup import (
    Scene,
    with_witness,
    witness_drawings,
    witness_marks,
    witness_table,
)
from checkers.page.document import Child, Markup, clipped, document, joined, section, tag
from checkers.page.lanes import FaultWindow, fault_windows, lanes_of
from checkers.page.page_tables import check_table, fact_list, fault_table, table, verdict_word
from checkers.page.partition_drawing import partitions_section
from checkers.page.timeline import Course, timeline
from checkers.run.expectation import expectation_of
from checkers.verdict import CheckResult, Judgement, Verdict, counted

# What a run cannot show, beside its verdict.


def limits_of(run: Run, judgement: Judgement, faults: Sequence[FaultWindow]) -> list[str]:
    """Sentences, the ones that weigh most first."""
    return [
        *_broken_off(run),
        *_undecided(judgement),
        *_faults(run, faults),
        *_unseen(run),
        *_operations(run),
        f"It is one run with one seed ({run.info.seed}) and these faults: a verdict about this "
        "history, not about all that the cluster could do.",
    ]


def _broken_off(run: Run) -> Iterable[str]:
    if not run.info.finished:
        yield "The run broke off before its end: what it would have shown later is unknown."
    for what in run.truncated:
        yield f"A record was cut, and judged without its tail: {what}."


def _undecided(judgement: Judgement) -> Iterable[str]:
    for verdict, words in (
        (Verdict.ERROR, "crashed and decided nothing"),
        (Verdict.VOID, "were void"),
        (Verdict.UNKNOWN, "could not be decided"),
    ):
        names = [result.check for result in judgement.results if result.verdict is verdict]
        if names:
            yield f"{len(names)} of {len(judgement.results)} checks {words}: {', '.join(names)}."


def _faults(run: Run, faults: Sequence[FaultWindow]) -> Iterable[str]:
    if not faults:
        yield "No fault was injected: nothing is shown about how the cluster bears one."
        return
    doubtful = [fault for fault in faults if not fault.bit]
    if doubtful:
        yield (
            f"{len(doubtful)} of {len(faults)} faults left no evidence that they had an effect: "
            "what was seen under them proves nothing."
        )
    never = sorted({fault.kind for fault in faults} - {fault.kind for fault in faults if fault.bit})
    if never:
        yield f"These kinds of fault never struck: {', '.join(never)}."
    if not any("may_lose" in fault.harm for fault in faults):
        ends = any(fault.stops_processes for fault in faults)
        killed = " A process that ends leaves its unwritten pages to the kernel." * ends
        yield f"No power was cut: nothing is shown about what survives a missing fsync.{killed}"
    if run.info.runtime == "sim":
        yield "Network, disks and clocks were simulated."


def _unseen(run: Run) -> Iterable[str]:
    if not run.tables["node_events"].num_rows:
        yield "The nodes left no traces: epochs, votes and high watermarks were not judged by them."
    if not run.tables["disks"].num_rows:
        yield (
            "No disk was read after the run: a lost write cannot be distinguished from a late one."
        )
    problems = run.tables["disks"].filter(pc.is_valid(run.tables["disks"]["problem"]))
    for row in problems.to_pylist():
        yield f"The disk of node {row['node']} could not be read in full: {row['problem']}."


def _operations(run: Run) -> Iterable[str]:
    ops = run.tables["ops"]
    open_ended = pc.sum(pc.equal(ops["outcome"], "info")).as_py() or 0
    if not ops.num_rows:
        yield "No operation was recorded."
    if open_ended:
        yield (
            f"{counted(open_ended, 'operation')} ended as info: each may have happened or not, "
            "both are allowed for, and their latency is unknown."
        )


# Nodes' log lines around a witness: the most informative ones, and the path to all.
#
# A line of Apache Kafka begins with its time by the node's own clock, one of our node's trace has
# the machine's. A line without a time belongs to the one before it.


LOGS = "logs"  # the directory of `node-N.log`, beside the page
_LINES_SHOWN = 12  # of a node
_LINE_LENGTH = 320
_AROUND_NS = 1_500_000_000
_AT_NS = 1_000_000  # a client sees an answer later than its node writes of it, in the same moment
_MOST_BYTES = 32 << 20

_TRACE_TIME = re.compile(r'"mono":(\d+)')
_LOUD = re.compile(r"\b(WARN|ERROR|FATAL|Exception|panic|assert\w*)\b")
_DIFFERS = re.compile(r"[\w-]*\d[\w-]*")  # a word with a digit in it
_FREQUENT = re.compile(r'"ev":"q\.(append|fsync|fetch|hwm)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    at_ns: int  # of the run
    text: str
    accused: bool = False  # written at the moment of an event of the witness


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
    words = "\n".join(
        f"{'>' if line.accused else ' '}{units.moment(line.at_ns):>11}  {line.text}"
        for line in lines
    )
    body = tag("pre", words) if words else tag("p", "Nothing at these times.", class_="soft")
    return joined(head, body)


def read_lines(text: str, info: RunInfo, longest: int = _LINE_LENGTH) -> Iterator[LogLine]:
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
        yield LogLine(at_ns=at_ns, text=clipped(line, longest))


def most_telling(lines: Sequence[LogLine], result: CheckResult) -> list[LogLine]:
    """Lines near an event of the witness: for each event the one of its very moment, then those
    that name its key, then warnings, then the nearest; in order of time. Of lines that differ only
    in numbers and ids, the nearest to each event."""
    times = sorted(
        {
            at
            for event in result.witness
            for name in ("t_ns", "t1_ns")
            if isinstance(at := event.get(name), int)
        }
    )
    keys = {str(event["key"]) for event in result.witness if event.get("key") is not None}
    nearest: dict[tuple[int, str], tuple[int, int]] = {}  # by event and kind of line
    for number, line in enumerate(lines):
        away, event = min(
            ((abs(line.at_ns - at), which) for which, at in enumerate(times)),
            default=(_AROUND_NS + 1, 0),
        )
        if away <= _AROUND_NS:
            kind = event, _DIFFERS.sub("#", line.text)
            nearest[kind] = min(nearest.get(kind, (away, number)), (away, number))
    ranked = []
    accused: dict[int, tuple[bool, int, int]] = {}  # by event
    for (event, _), (away, number) in nearest.items():
        text = lines[number].text
        named = any(key in text for key in keys)
        if away <= _AT_NS:
            first = not named, away, number
            accused[event] = min(accused.get(event, first), first)
        loud = _LOUD.search(text) is not None
        frequent = _FREQUENT.search(text) is not None
        ranked.append((frequent, not named, not loud, away, number))
    marked = {number for *_, number in accused.values()}
    others = [number for *_, number in sorted(ranked) if number not in marked]
    chosen = sorted(marked | set(others[: max(0, _LINES_SHOWN - len(marked))]))
    return [replace(lines[number], accused=number in marked) for number in chosen]


# What was not judged, to be read first: a verdict is worth as much as the evidence behind it.


EVIDENCE = "evidence-complete"
_DECIDES_NOTHING = (Verdict.ERROR, Verdict.VOID, Verdict.UNKNOWN)
_COLUMNS = (("verdict", "fixed"), ("check", "fixed"), ("why", "wide"), ("promised", "wide"))


def undecided_section(results: Sequence[CheckResult]) -> Markup | None:
    """Every check that decided nothing, and why; missing evidence first, for it explains others.

    None if all was judged.
    """
    undecided = [result for result in results if result.verdict in _DECIDES_NOTHING]
    if not undecided:
        return None
    undecided.sort(key=lambda result: (result.check != EVIDENCE, -result.verdict.value))
    words = (
        f"{len(undecided):,} of {len(results):,} checks decided nothing. What they promise may be "
        "broken in this run without being seen."
    )
    rows = [
        ("", (verdict_word(each.verdict), each.check, each.message, each.promise))
        for each in undecided
    ]
    return section("Not judged", tag("p", words), table(_COLUMNS, rows))


def evidence_in_short(results: Sequence[CheckResult]) -> Markup | str:
    """For the head of the page: whether all planned evidence is there."""
    found = next((result for result in results if result.check == EVIDENCE), None)
    if found is None:
        return "not counted"
    if found.verdict is Verdict.VALID:
        return "complete"
    return tag("span", found.message, class_=f"word {found.verdict.word}")


def render_page(run: Run | Evidence, judgement: Judgement) -> str:
    """The page of one run as a self-contained HTML document (UTF-8, no scripts, no loads).

    Given the judged evidence, nothing that the checks derived is derived again.
    """
    evidence = run if isinstance(run, Evidence) else Evidence(run)
    run = evidence.run
    faults = fault_windows(run.tables["faults"])
    end_ns = _end_ns(run, faults)
    scene = Scene(
        faults=faults,
        lanes=lanes_of(run, faults, end_ns),
        ops=run.tables["ops"],
        end_ns=end_ns,
    )
    witnesses = with_witness(judgement.results)
    shown = witnesses[0] if witnesses else None
    body = (
        _head(run, judgement, end_ns),
        undecided_section(judgement.results),
        partitions_section(evidence, faults, end_ns),
        _witness(shown, scene, run) if shown else None,
        _course(scene, shown),
        section("Faults and their evidence", fault_table(faults, end_ns)),
        section("Checks", check_table(judgement.results)),
        _other_witnesses(witnesses[1:], scene),
        _statistics(judgement),
        _limits(limits_of(run, judgement, faults)),
        _foot(run.info),
    )
    info = run.info
    return document(f"{judgement.verdict.word}: {info.scenario}, seed {info.seed}", body)


def _end_ns(run: Run, faults: Sequence[FaultWindow]) -> int:
    """The end of the axis: of the run, or of the last event of one that broke off."""
    if run.info.duration_ns > 0:
        return run.info.duration_ns
    ops, events = run.tables["ops"], run.tables["node_events"]
    moments = [_latest(ops["t0"]), _latest(ops["t1"]), _latest(events["t"])]
    moments += [fault.healed_ns or fault.heal_ns or fault.begins_ns for fault in faults]
    return max(*moments, 1_000_000_000)


def _latest(column: pa.ChunkedArray) -> int:
    return pc.max(column).as_py() or 0


def _head(run: Run, judgement: Judgement, end_ns: int) -> Markup:
    info = run.info
    word = tag("span", judgement.verdict.word, class_="word")
    parameters = [f"{name} {value}" for name, value in sorted(info.parameters.items())]
    facts: list[tuple[str, Child]] = [
        ("scenario", info.scenario),
        ("seed", str(info.seed)),
        ("nodes", str(info.nodes)),
        ("target", info.target),
        ("runtime", info.runtime),
        ("lasted", units.duration(end_ns)),
        ("operations", f"{run.tables['ops'].num_rows:,}"),
        ("faults", f"{run.tables['faults'].num_rows:,}"),
        ("started", _started(info.started_utc)),
        ("evidence", evidence_in_short(judgement.results)),
        *_expected(info, judgement),
    ]
    if parameters:
        facts.append(("parameters", ", ".join(parameters)))
    again = tag("pre", tag("code", info.command)) if info.command else None
    return tag(
        "header",
        tag("h1", word, tag("span", f"{info.scenario}, seed {info.seed}", class_="what")),
        tag("p", _said(judgement), class_="sentence"),
        fact_list(facts),
        tag("dl", tag("div", tag("dt", "run it again"), tag("dd", again))) if again else None,
        class_=judgement.verdict.word,
    )


def _expected(info: RunInfo, judgement: Judgement) -> list[tuple[str, Child]]:
    """For a side of a comparison: what was expected, and whether it came true."""
    expected = expectation_of(info.expected)
    if expected is None:
        return []
    mismatch = expected.mismatch(judgement)
    seen = tag("span", mismatch or "yes", class_="word invalid" if mismatch else "word valid")
    side: list[tuple[str, Child]] = [("side", info.side)] if info.side else []
    return [*side, ("expected", str(expected)), ("as expected", seen)]


def _started(text: str) -> str:
    """To the second; a text that is no time is shown as it is."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text


def _said(judgement: Judgement) -> str:
    """The sentence without the verdict's word, which is above it already."""
    word = f"{judgement.verdict.word}: "
    said = judgement.sentence
    return said[len(word) :] if said.lower().startswith(word) else said


def _witness(result: CheckResult, scene: Scene, run: Run) -> Markup:
    drawn = witness_drawings(result, scene)
    caption = (
        "Operations on the keys of the witness, a row per process, under the roles of the nodes; "
        "red lines are the numbered events, red frames the operations they belong to."
    )
    shown = (tag("div", drawing, class_="scroll") for drawing in drawn)
    figure = tag("figure", *shown, tag("figcaption", caption))
    return section(
        f"Witness: {result.check}",
        *_promised_and_seen(result),
        witness_table(result, scene),
        figure if drawn else None,
        log_excerpts(run.directory, run.info, result, scene.faults),
    )


def _promised_and_seen(result: CheckResult) -> list[Child]:
    promise = tag("p", tag("strong", "Promised: "), result.promise) if result.promise else None
    return [promise, tag("p", tag("strong", "Seen: "), result.message)]


def _other_witnesses(results: Sequence[CheckResult], scene: Scene) -> Markup | None:
    """The witnesses of the other checks, without drawings."""
    if not results:
        return None
    parts: list[Child] = []
    for result in results:
        parts += [tag("h3", result.check), *_promised_and_seen(result)]
        parts.append(witness_table(result, scene))
    return section("Other witnesses", *parts)


def _course(scene: Scene, shown: CheckResult | None) -> Markup:
    course = Course(
        faults=scene.faults,
        lanes=scene.lanes,
        ops=scene.ops,
        end_ns=scene.end_ns,
        marks=witness_marks(shown) if shown else (),
    )
    caption = "Shaded: a fault is in force, from injection to the end of its cure. Point at a "
    caption += "fault or a node's row for its times and evidence."
    drawing = tag("div", timeline(course), class_="scroll")
    return section("What happened", tag("figure", drawing, tag("figcaption", caption)))


def _statistics(judgement: Judgement) -> Markup | None:
    if not judgement.statistics:
        return None
    facts = [units.named(name, value) for name, value in judgement.statistics.items()]
    return section("Statistics", fact_list(facts))


def _limits(sentences: Sequence[str]) -> Markup:
    items = tag("ul", *(tag("li", sentence) for sentence in sentences))
    return section("What this run cannot show", items)


def _foot(info: RunInfo) -> Markup:
    words = joined("Run ", info.run_id, ". Times are seconds since the run began, on one clock.")
    return tag("footer", words)
