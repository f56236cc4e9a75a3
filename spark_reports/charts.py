"""The charts, as Vega-Lite specifications with their data in them.

Colours are given, not left to the alphabet, so that a word has one colour in all charts; red is
kept for what was lost or proved wrong. Data are sums and bins, never operations.
"""

import json
from collections import Counter
from typing import NewType

import altair as alt

from checkers.page.svg import round_step
from spark_reports.durability import LOST, RECOVERED, SURVIVED, UNDECIDED, UNEXPECTED
from spark_reports.phases import PHASES
from spark_reports.summary import UNJUDGED, VERDICT_WORDS, Election, Summary, verdict_word

Spec = NewType("Spec", str)  # JSON

_WIDTH = 700
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
_FATE_COLOURS = {
    SURVIVED: "#4a7bb0",
    RECOVERED: "#5aa9a0",
    UNDECIDED: "#7f7cc4",
    LOST: "#d0342c",
    UNEXPECTED: "#9c2f6f",
}
_PHASE_COLOURS = dict(zip(PHASES, ("#a5abb3", "#7ea3cc", "#c98a1b", "#2f5d92"), strict=True))


def charts_of(summary: Summary) -> dict[str, Spec]:
    """A specification for each chart that has something to show, by its name."""
    found = {
        "verdicts": verdicts(summary),
        "durability": durability(summary),
        "latency": latency(summary),
        "elections": elections(summary),
    }
    return {name: spec for name, spec in found.items() if spec is not None}


def verdicts(summary: Summary) -> Spec:
    """Runs by verdict, a bar a scenario."""
    counted = Counter((run.info.scenario, verdict_word(run)) for run in summary.archive.runs)
    values = [
        {"scenario": scenario, "verdict": word, "runs": runs, "order": VERDICT_WORDS.index(word)}
        for (scenario, word), runs in sorted(counted.items())
    ]
    chart = (
        alt.Chart(_data(values))
        .mark_bar(height=18)
        .encode(
            x=alt.X("runs:Q", title="runs", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("scenario:N", title=None),
            color=_colour("verdict", _VERDICT_COLOURS, [str(value["verdict"]) for value in values]),
            order=alt.Order("order:Q"),
            tooltip=["scenario:N", "verdict:N", "runs:Q"],
        )
    )
    return _spec(chart)


def durability(summary: Summary) -> Spec | None:
    """Values by fate: a dot each, on a scale on which one lost write is seen beside a million."""
    values = [
        {"scenario": c.scenario, "phase": c.fault_phase, "fate": c.fate, "values": c.values}
        for c in summary.fates
        if c.fate in _FATE_COLOURS
    ]
    if not values:
        return None
    chart = (
        alt.Chart(_data(values))
        .mark_circle(size=110, opacity=0.9)
        .encode(
            x=alt.X(
                "values:Q",
                title="values written (logarithmic)",
                scale=alt.Scale(type="symlog", domainMin=0),
            ),
            y=alt.Y("phase:N", title=None, sort=list(PHASES)),
            row=_row(),
            color=_colour("fate", _FATE_COLOURS, [str(value["fate"]) for value in values]),
            tooltip=["scenario:N", "phase:N", "fate:N", "values:Q"],
        )
    )
    return _spec(chart, width=_WIDTH - 130)


def latency(summary: Summary) -> Spec | None:
    """From the median (dot) to p99 (end of the bar) to the maximum (tick), a row a phase."""
    values = [
        {
            "scenario": row.scenario,
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
        alt.Tooltip("scenario:N"),
        alt.Tooltip("phase:N"),
        *(alt.Tooltip(f"{name}:Q", title=f"{name}, ms", format=",.1f") for name in _POINTS),
    ]
    base = alt.Chart().encode(
        y=alt.Y("phase:N", title=None, sort=list(PHASES)),
        color=_colour("phase", _PHASE_COLOURS, [str(value["phase"]) for value in values]),
        tooltip=told,
    )
    layers = alt.layer(
        base.mark_bar(height=7, opacity=0.55).encode(x=time, x2="p99:Q"),
        base.mark_circle(size=90, opacity=1).encode(x=time),
        base.mark_tick(thickness=2, height=13).encode(x=alt.X("max:Q")),
        data=_data(values),
    )
    layers = layers.properties(width=_WIDTH - 130)
    return _spec(layers.facet(row=_row()))


_POINTS = ("p50", "p99", "max")


def elections(summary: Summary) -> Spec | None:
    """How long the next leader took, faults that hit the leader counted in bins."""
    answered = [election for election in summary.elections if election.elected_ns is not None]
    if not answered:
        return None
    values, step = _binned(answered)
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
            y=alt.Y("faults:Q", title="faults", axis=alt.Axis(tickMinStep=1)),
            color=_colour("kind", colours, kinds),
            tooltip=["kind:N", "from:Q", "to:Q", "faults:Q"],
        )
    )
    return _spec(chart, height=180)


def _binned(answered: list[Election]) -> tuple[list[dict[str, object]], int]:
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


def _row() -> alt.Row:
    header = alt.Header(labelAngle=0, labelAlign="left", labelFontWeight="bold", labelLimit=160)
    return alt.Row("scenario:N", title=None, header=header)


def _colour(field: str, colours: dict[str, str], used: list[str]) -> alt.Color:
    """A colour for each word, always the same one; the legend shows the words that occur."""
    domain = [word for word in colours if word in used]
    return alt.Color(
        f"{field}:N",
        title=None,
        scale=alt.Scale(domain=domain, range=[colours[word] for word in domain]),
        legend=alt.Legend(orient="top"),
    )


def _spec(chart: alt.TopLevelMixin, width: int = _WIDTH, height: int | None = None) -> Spec:
    """The JSON of a chart, without the address of a schema that nobody is to load."""
    if isinstance(chart, alt.Chart):
        chart = chart.properties(width=width, **({} if height is None else {"height": height}))
    chart = chart.configure(background="transparent", font="system-ui, DejaVu Sans, sans-serif")
    chart = (
        chart.configure_facet(spacing=10)
        .configure_view(stroke=None)
        .configure_axis(gridColor="#dcdedc", domain=False)
    )
    spec = chart.to_dict()
    del spec["$schema"]
    return Spec(json.dumps(spec))
