"""Runs that never were, counted as a real one is: what is taken from them later is missing."""

from dataclasses import replace

import pyarrow.compute as pc

from checkers.evidence.missing import rows_to_count
from checkers.history.sealed_run import Run


def counted(run: Run) -> Run:
    """The run with the counts that recorder, clients and harness would have of its tables."""
    operations = _operations(run)
    recorded = {**operations, **_rest(run)}
    lines = rows_to_count(run.tables)["node_events"]
    info = replace(
        run.info,
        recorded=recorded,
        counted=operations,
        planned_faults=recorded["faults"],
        endings=dict.fromkeys(lines, "runs"),
        trace_lines=lines,
        inventory_crc32c=0,
    )
    return replace(run, info=info, rows=rows_to_count(run.tables))


def _operations(run: Run) -> dict[str, int]:
    ops = run.tables["ops"]
    ended = ops.filter(ops["complete_index"].is_valid())
    ends = {name: pc.sum(pc.equal(ended["outcome"], name)).as_py() or 0 for name in _OUTCOMES}
    return {"invoked": ops.num_rows, **ends}


_OUTCOMES = ("ok", "fail", "info")


def _rest(run: Run) -> dict[str, int]:
    spans, probes = run.tables["spans"], run.tables["probes"]
    sent = pc.sum(spans["sent"]).as_py() or 0
    kinds = probes["kind"].to_pylist()
    return {
        "sent": sent,
        "polled": spans.num_rows - sent,
        "faults": run.tables["faults"].num_rows,
        "probes-quorum": kinds.count("quorum"),
        "probes-partition": kinds.count("partition"),
    }
