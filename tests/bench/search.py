"""Histories that are hard for others: repeated values, many processes, unknown outcomes.

Run as a program it prints its rows as JSON, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator

from checkers.history.calls import Calls
from checkers.linearizability import decide
from checkers.verdict import Verdict
from tests.bench.row import Row
from tests.support.long_calls import Load, long_calls

BEST_OF = 5
SEEDS = 3
MEMORY_MIB = 2048


def measure() -> Iterator[Row]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.search"], check=True, capture_output=True, text=True
    )
    for row in json.loads(done.stdout):
        del row["holds"]
        yield Row(**row)


def rows() -> Iterator[Row]:
    few = Load(operations=100_000, processes=5, values=5, cas=True)
    yield from _timed("10^5 CAS over 5 values, 5 processes", few, 0.1)
    unique = Load(operations=100_000, processes=20, info=0.01)
    yield from _timed("10^5 unique, 20 processes, 1 % info", unique, 1.0)
    swaps = Load(operations=100_000, processes=20, info=0.01, cas=True)
    yield from _timed("10^5 unique CAS with observed failures, 20 processes, 1 % info", swaps, None)
    single = Load(operations=1_000_000, processes=20)
    yield from _timed("10^6 unique, one key", single, 0.2)
    for operations in (1_000, 10_000, 100_000):
        yield _shares(Load(operations=operations, processes=20, values=5, info=0.01))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Row(
        name="linearizability: peak memory of all these",
        value=peak,
        unit="MiB",
        bar=MEMORY_MIB,
    )


def _timed(name: str, load: Load, bar: float | None) -> Iterator[Row]:
    """Linearizable, and with one late read that is wrong."""
    for damaged in (False, True):
        given = Load(
            operations=load.operations,
            processes=load.processes,
            values=load.values,
            info=load.info,
            cas=load.cas,
            damaged=damaged,
        )
        calls = long_calls(given, 1)
        decision = decide(calls, explain=False)
        assert damaged or decision.verdict is not Verdict.INVALID, "linearizable by construction"
        # What has a bar has to be decided; what takes its whole budget is measured once.
        assert bar is None or decision.verdict is not Verdict.UNKNOWN, decision.message
        best_of = 1 if decision.verdict is Verdict.UNKNOWN else BEST_OF
        yield Row(
            name=f"linearizability: {name}" + (", one wrong read" if damaged else ""),
            value=min(_seconds(calls) for _ in range(best_of)),
            unit="s",
            bar=bar,
            note=f"{decision.verdict.word} by {decision.algorithm}, best of {best_of}, warm",
        )


def _shares(load: Load) -> Row:
    """The share undecided where values repeat and outcomes are unknown; never a wrong verdict."""
    seen: Counter[Verdict] = Counter()
    longest = 0.0
    for seed in range(SEEDS):
        calls = long_calls(load, seed)
        began = time.perf_counter()
        verdict = decide(calls, explain=False).verdict
        longest = max(longest, time.perf_counter() - began)
        assert verdict is not Verdict.INVALID, "it is linearizable by construction"
        seen[verdict] += 1
    return Row(
        name=f"linearizability: {load.operations:,} over 5 values, 20 processes, 1 % info: unknown",
        value=seen[Verdict.UNKNOWN] / SEEDS,
        unit="of all",
        note=f"{SEEDS} seeds, longest {longest:.1f} s",
    )


def _seconds(calls: Calls) -> float:
    began = time.perf_counter()
    decide(calls, explain=False)
    return time.perf_counter() - began


if __name__ == "__main__":
    print(json.dumps([row.as_json() for row in rows()]))
