"""The page put together, the most important thing first."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run, RunInfo
from checkers.page import units
from checkers.page.closeup import witness_drawings
from checkers.page.document import document, section
from checkers.page.fault_windows import FaultWindow, fault_windows
from checkers.page.lanes import lanes_of
from checkers.page.limits import limits_of
from checkers.page.markup import Child, Markup, joined, tag
from checkers.page.node_logs import log_excerpts
from checkers.page.page_tables import check_table, fact_list, fault_table
from checkers.page.partition_section import partitions_section
from checkers.page.timeline import Course, timeline
from checkers.page.undecided import evidence_in_short, undecided_section
from checkers.page.witness_table import Scene, with_witness, witness_marks, witness_table
from checkers.run.expectation import expectation_of
from checkers.verdict import CheckResult, Judgement


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
    unlike = expected.unlike(judgement)
    seen = tag("span", unlike or "yes", class_="word invalid" if unlike else "word valid")
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
