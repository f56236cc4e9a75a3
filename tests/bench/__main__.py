"""`make bench`: measure the bars one after the other.

    python -m tests.bench [NAME ...]        only the groups named; default all

Groups: code, recorder, linearizability, files, logs, cluster, runs, kafka, side-by-side, simulator,
kept, steps, snapshots, replaced-disks, growth, shape. Each row is printed as it is known, and all
are written to bench.json. Exit code 1 when a bar is missed.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import (
    brokers,
    cluster,
    code,
    files,
    growth,
    judge,
    kept,
    logs,
    recorder,
    replaced_disks,
    runs,
    shape,
    side_by_side,
    simulator,
    snapshots,
    steps,
)
from tests.bench.row import Row, table

GROUPS: dict[str, Callable[[], Iterator[Row]]] = {
    "code": code.measure,
    "recorder": recorder.measure,
    "linearizability": judge.measure,
    "files": files.measure,
    "logs": logs.measure,
    "cluster": cluster.measure,
    "runs": runs.measure,
    "kafka": brokers.measure,
    "side-by-side": side_by_side.measure,
    "simulator": simulator.measure,
    "kept": kept.measure,
    "steps": steps.measure,
    "snapshots": snapshots.measure,
    "replaced-disks": replaced_disks.measure,
    "growth": growth.measure,
    "shape": shape.measure,
}
RESULT = Path("bench.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure the project's bars.")
    parser.add_argument("group", nargs="*", choices=[[], *GROUPS], default=[], metavar="GROUP")
    chosen = parser.parse_args().group or list(GROUPS)
    rows: list[Row] = []
    for name in chosen:
        for row in GROUPS[name]():
            rows.append(row)
            print(table([row]), flush=True)
    print("\n" + table(rows))
    RESULT.write_text(json.dumps([row.as_json() for row in rows], indent=1) + "\n")
    return int(any(row.holds is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
