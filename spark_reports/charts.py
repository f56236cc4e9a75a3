"""The charts, as Vega-Lite specifications with their data in them.

Colours are fixed, so that a word has the same colour in all charts; red is only for losses and
broken promises. Data are sums and bins, never operations.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import NewType

import altair as alt

from checkers.page.svg import round_step
from spark_reports.phases import PHASES
from spark_reports.report_summary import (
    UNJUDGED,
    VERDICT_WORDS,
    LeaderLoss,
    ReportSummary,
    verdict_word,
)

Spec = NewType("Spec", str)  # JSON

_WIDTH = 880
_ROW_HEIGHT = 19
_FONT = "DejaVu Sans, Verdana, sans-serif"  # wide: so that no text is cut with another font
_BINS_LIMIT = 50
_MS = 1_000_000

_VERDICT_COLOURS = {
    "valid": "#3d9970",
    "invalid": "#d0342c",
    "error": "#9c5a1f",
    "void": "#d3a029",
    "unknown": "#7f7cc4",
    UNJUDGED: "#a5abb3",
}
_COUNT_COLOURS = {
    "acknowledged": "#4a7bb0",
    "recovered": "#5aa9a0",
    "allowed": "#d3a029",
    "undecided": "#7f7cc4",
    "lost_undecided": "#b5588a",
    "lost": "#d0342c",
    "polled_lost": "#e58a84",
    "duplicated": "#9c5a1f",
    "unexpected": "#9c2f6f",
}
_PHASE_COLOURS = dict(zip(PHASES, ("#a5abb3", "#7ea3cc", "#c98a1b", "#2f5d92"), strict=True))


def charts_of(summary: ReportSummary) -> dict[str, Spec]:
    """A specification for each chart that has something to show, by its name."""
    found = {
        "verdicts": verdicts(summary),
        "durability": durability(summary),
        "latency": latency(summary),
        "elections": elections(summary),
    }
    return {name: spec for name, spec in found.items() if spec is not None}


def verdicts(summary: ReportSummary) -> Spec | None:
    """Runs by verdict, a bar a scenario."""
    if not summary.archive.runs:
        return None
    counted = Counter((run.scenario, verdict_word(run)) for run in summary.archive.runs)
    per_scenario = Counter(run.scenario for run in summary.archive.runs)
    values = [
        {"scenario": scenario, "verdict": word, "runs": runs, "order": VERDICT_WORDS.index(word)}
        for (scenario, word), runs in sorted(counted.items())
    ]
    chart = (
        alt.Chart(_data(values))
        .mark_bar(height=15)
        .encode(
            x=alt.X("runs:Q", title="runs", axis=_whole(per_scenario.values())),
            y=alt.Y("scenario:N", title=None),
            color=_colour("verdict", _VERDICT_COLOURS, [str(value["verdict"]) for value in values]),
            order=alt.Order("order:Q"),
            tooltip=["scenario:N", "verdict:N", "runs:Q"],
        )
    )
    return _spec(chart.properties(width=_WIDTH, height=_rows()))


def durability(summary: ReportSummary) -> Spec | None:
    """A dot for each count, on a scale that shows a single loss beside a million."""
    summed: Counter[tuple[str, str]] = Counter()
    for cell in summary.cells:
        for name in _COUNT_COLOURS:
            group = _group(cell.scenario, cell.counts.fault_phase)
            summed[group, name] += int(getattr(cell.counts, name))
    values: list[dict[str, object]] = [
        {"group": group, "fate": name, "values": count}
        for (group, name), count in summed.items()
        if count
    ]
    if not values:
        return None
    chart = (
        alt.Chart(_data(values))
        .mark_circle(size=110, opacity=0.9)
        .encode(
            x=alt.X(
                "values:Q",
                title="records and writes (logarithmic)",
                scale=alt.Scale(type="symlog", domainMin=0, nice=False),
                axis=alt.Axis(values=_decades(values), format=",d"),
            ),
            y=_groups(summary),
            color=_colour("fate", _COUNT_COLOURS, [str(value["fate"]) for value in values]),
            tooltip=["group:N", "fate:N", "values:Q"],
        )
    )
    return _spec(chart.properties(width=_WIDTH, height=_rows()))


def latency(summary: ReportSummary) -> Spec | None:
    """From the median (dot) to p99 (end of the bar) to the maximum (tick), a row a phase."""
    values = [
        {
            "group": _group(row.scenario, row.fault_phase),
            "phase": row.fault_phase,
            "p50": row.p50_ns / _MS,
            "p99": row.p99_ns / _MS,
            "max": row.max_ns / _MS,
        }
        for row in summary.latencies
        if row.p50_ns and row.p99_ns and row.max_ns
    ]
    if not values:
        return None
    time = alt.X("p50:Q", title="latency of ok, ms", scale=alt.Scale(type="log"))
    told = [
        alt.Tooltip("group:N"),
        *(alt.Tooltip(f"{name}:Q", title=f"{name}, ms", format=",.1f") for name in _POINTS),
    ]
    base = alt.Chart().encode(
        y=_groups(summary),
        color=_colour("phase", _PHASE_COLOURS, [str(value["phase"]) for value in values]),
        tooltip=told,
    )
    layers = alt.layer(
        base.mark_bar(height=7, opacity=0.55).encode(x=time, x2="p99:Q"),
        base.mark_circle(size=90, opacity=1).encode(x=time),
        base.mark_tick(thickness=2, height=13).encode(x=alt.X("max:Q")),
        data=_data(values),
    )
    return _spec(layers.properties(width=_WIDTH, height=_rows()))


_POINTS = ("p50", "p99", "max")


def elections(summary: ReportSummary) -> Spec | None:
    """A histogram of the times to the next leader, over faults that hit the leader."""
    answered = [election for election in summary.elections if election.elected_ns is not None]
    if not answered:
        return None
    values, step = _binned(answered)
    per_bin: Counter[int] = Counter()
    for value in values:
        per_bin[int(str(value["from"]))] += int(str(value["faults"]))
    kinds = sorted({election.kind for election in answered})
    colours = dict(
        zip(kinds, ("#2f5d92", "#c98a1b", "#5aa9a0", "#7f7cc4", "#9c5a1f"), strict=False)
    )
    chart = (
        alt.Chart(_data(values))
        .mark_bar()
        .encode(
            x=alt.X(
                "from:Q",
                bin=alt.BinParams(binned=True, step=step),
                title="from the fault to the next leader, ms",
                scale=alt.Scale(domainMin=0),
            ),
            x2="to:Q",
            y=alt.Y("faults:Q", title="faults", axis=_whole(per_bin.values())),
            color=_colour("kind", colours, kinds),
            tooltip=["kind:N", "from:Q", "to:Q", "faults:Q"],
        )
    )
    return _spec(chart.properties(width=_WIDTH, height=180))


def _binned(answered: list[LeaderLoss]) -> tuple[list[dict[str, object]], int]:
    """Faults by kind and bin of a round width in ms, and that width."""
    times = [(election.kind, (election.elected_ns or 0) // _MS) for election in answered]
    step = round_step(max(ms for _, ms in times) / _BINS_LIMIT)
    counted = Counter((kind, ms // step * step) for kind, ms in times)
    return [
        {"kind": kind, "from": low, "to": low + step, "faults": faults}
        for (kind, low), faults in sorted(counted.items())
    ], step


def _data(values: list[dict[str, object]]) -> alt.InlineData:
    return alt.InlineData(values=values)


def _group(scenario: str, phase: str) -> str:
    return f"{scenario}, {phase}"


def _groups(summary: ReportSummary) -> alt.Y:
    """A row for each phase of each scenario, in the order of time."""
    order = [_group(scenario, phase) for scenario in summary.scenarios for phase in PHASES]
    return alt.Y("group:N", title=None, sort=order)


def _colour(field: str, colours: dict[str, str], used: list[str]) -> alt.Color:
    """A colour for each word, always the same one; the legend shows the words that occur."""
    domain = [word for word in colours if word in used]
    return alt.Color(
        f"{field}:N",
        title=None,
        scale=alt.Scale(domain=domain, range=[colours[word] for word in domain]),
        legend=alt.Legend(orient="top"),
    )


def _whole(counts: Iterable[int]) -> alt.Axis:
    """An axis of whole numbers up to the greatest count: there are no half runs."""
    most = max(counts)
    return alt.Axis(values=list(range(0, most + 1, round_step(most / 10))), format=",d")


def _rows() -> alt.Step:
    return alt.Step(_ROW_HEIGHT)


def _decades(values: list[dict[str, object]]) -> list[int]:
    """Nothing, one, and the powers of ten up to the greatest count."""
    most = max(int(str(value["values"])) for value in values)
    return [0, *(10**power for power in range(len(str(most))))]


def _spec(chart: alt.TopLevelMixin) -> Spec:
    """The JSON of a chart, without the address of its schema, which must not be loaded."""
    chart = chart.configure(background="transparent", font=_FONT, padding=6)
    chart = chart.configure_axis(
        gridColor="#dcdedc", domain=False, labelFontSize=11, titleFontSize=11, labelLimit=220
    )
    chart = chart.configure_legend(labelFontSize=11).configure_view(stroke=None)
    spec = chart.to_dict()
    del spec["$schema"]
    return Spec(json.dumps(spec))
