"""The numbers beside a verdict (how much was done, how fast, and the longest gaps), and failures of
the harness's own parts."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.history.asked import asked_by_clients
from checkers.history.sealed_run import Run
from checkers.verdict import EventValue

# Failures of the harness's own parts in a run: no node is accused of their effects.


_TIMES = ("t_ns", "t1_ns")


def why_machinery(
    failed: Mapping[str, str | int], witness: Sequence[Mapping[str, EventValue]]
) -> str:
    """Why these events may come from a part of the harness that had failed by then; "" if none had,
    or if all of them came before.

    An event that did not end did not come before, and one without a time counts as if it had not.
    """
    if not failed:
        return ""
    since = int(failed["t_ns"])
    times = [event[name] for event in witness for name in _TIMES if name in event]
    known = [time for time in times if isinstance(time, int)]
    if known and len(known) == len(times) and max(known) < since:
        return ""
    return f"since {failed['part']} {failed['what']} after {since / 1e9:.1f} s"


Number = EventValue | float
SECOND = 1_000_000_000
_KINDS = {"send": ["send"], "poll": ["poll"], "topic": ["create-topic", "delete-topic"]}
PHASES = ("before", "during", "after")


def statistics(run: Run) -> dict[str, Number]:
    """Names end in their unit; a number without data is None.

    operations, operations_{ok,fail,info}; duration_s; ok_per_s; longest_without_success_s, and the
    same for sends, polls, and topics created or deleted, if clients did such; elections; faults,
    faults_bit; latency_{p50,p99,max}_ms of ok operations of the main phase, and the same with
    before_, during_, after_ for the phases relative to the faults.
    """
    ops = run.tables["ops"]
    asked = asked_by_clients(ops)
    main = asked.filter(pc.equal(asked["phase"], "main"))
    found = _operations(ops, main)
    found["longest_without_success_s"] = longest_without_success_s(main)
    found |= _gaps_by_kind(main)
    found["elections"] = _elections(run)
    faults = run.tables["faults"]
    found["faults"] = faults.num_rows
    found["faults_bit"] = int(pc.sum(faults["bit"]).as_py() or 0)
    found |= _latencies(main, faults)
    return found


def _operations(ops: pa.Table, main: pa.Table) -> dict[str, Number]:
    found: dict[str, Number] = {"operations": ops.num_rows}
    for outcome in ("ok", "fail", "info"):
        found[f"operations_{outcome}"] = pc.sum(pc.equal(ops["outcome"], outcome)).as_py() or 0
    span = _span(main)
    ok = pc.sum(pc.equal(main["outcome"], "ok")).as_py() or 0
    found["duration_s"] = round(span / SECOND, 3)
    found["ok_per_s"] = round(ok * SECOND / span, 1) if span else None
    return found


def _span(ops: pa.Table) -> int:
    """From the first invocation to the last event, in ns."""
    if not ops.num_rows:
        return 0
    first, last = pc.min(ops["t0"]).as_py(), pc.max(ops["t0"]).as_py()
    return int(max(last, pc.max(ops["t1"]).as_py() or last) - first)


def longest_without_success_s(main: pa.Table) -> float | None:
    """The longest time in which no operation succeeded although one was under way, in seconds.

    Counted from the first invocation to the last event; times without an open operation do not
    count.
    """
    if not main.num_rows:
        return None
    t0 = np.sort(main["t0"].to_numpy())
    t1 = main["t1"].fill_null(int(t0[0]) + _span(main)).to_numpy()
    ok = pc.equal(main["outcome"], "ok").to_numpy()
    marks = np.concatenate([[t0[0]], np.sort(t1[ok]), [max(int(t0[-1]), int(t1.max()))]])
    begins, ends = marks[:-1], marks[1:]
    # A gap begins with the first operation that is under way in it: at once, or the next invoked.
    open_at = np.searchsorted(t0, begins, side="right") > np.searchsorted(
        np.sort(t1), begins, side="right"
    )
    invoked = np.append(t0, ends[-1])[np.searchsorted(t0, begins, side="left")]
    gaps = ends - np.where(open_at, begins, np.minimum(invoked, ends))
    return round(int(gaps.max()) / SECOND, 3)


def _gaps_by_kind(main: pa.Table) -> dict[str, Number]:
    """One kind may stand still while the others go on."""
    found: dict[str, Number] = {}
    for kind, names in _KINDS.items():
        chosen = main.filter(pc.is_in(main["f"], pa.array(names)))
        if chosen.num_rows:
            found[f"longest_without_{kind}_s"] = longest_without_success_s(chosen)
    return found


def _elections(run: Run) -> int | None:
    """Epochs that had a leader, by the traces or else by the logs; None if there are neither."""
    events, records = run.tables["node_events"], run.tables["log_records"]
    if events.num_rows:
        leads = pc.and_(pc.equal(events["event"], "q.state"), pc.equal(events["state"], "leader"))
        return len(events.filter(leads)["epoch"].unique())
    if records.num_rows:
        return len(records.filter(pc.equal(records["type"], "LeaderChange"))["epoch"].unique())
    return None


def _latencies(main: pa.Table, faults: pa.Table) -> dict[str, Number]:
    ok = main.filter(pc.and_(pc.equal(main["outcome"], "ok"), main["t1"].is_valid()))
    t0, t1 = ok["t0"].to_numpy(), ok["t1"].to_numpy()
    found = _quantiles("latency", t1 - t0)
    for phase, chosen in zip(PHASES, phases(t0, t1, faults), strict=True):
        found |= _quantiles(f"{phase}_latency", (t1 - t0)[chosen])
        found[f"{phase}_ok"] = int(np.count_nonzero(chosen))
    return found


def phases(t0: Ints, t1: Ints, faults: pa.Table) -> tuple[NDArray[np.bool_], ...]:
    """Which operations ran before all faults, during one (at least in part), or after.

    Between two faults is `after`. A fault that was never healed lasts to the end.
    """
    during = np.zeros(len(t0), np.bool_)
    first = np.iinfo(np.int64).max
    for start, healed in zip(
        faults["t_start"].to_pylist(), faults["t_healed"].to_pylist(), strict=True
    ):
        first = min(first, start)
        during |= (t1 > start) & ((t0 < healed) if healed is not None else True)
    before = ~during & (t0 < first)
    return before, during, ~during & ~before


def _quantiles(name: str, taken: Ints) -> dict[str, Number]:
    labels = (f"{name}_p50_ms", f"{name}_p99_ms", f"{name}_max_ms")
    if not len(taken):
        return dict.fromkeys(labels)
    values = np.quantile(taken, [0.5, 0.99, 1.0], method="higher") / 1e6
    return {label: round(float(value), 3) for label, value in zip(labels, values, strict=True)}
