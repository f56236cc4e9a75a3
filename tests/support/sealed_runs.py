"""Whole sealed run directories of a cluster that never was: valid, or with a planted violation.

A linearizable model of registers is driven by closed processes; in each fault window the leader is
cut off, operations time out, some of them having happened, and another node leads. What three
healthy nodes would have traced and stored follows from the same log.
"""

import heapq
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from checkers.history.sealed_run import Run, write_run_info
from checkers.history.store import read_run, write_tables
from tests.support.counted import counted
from tests.support.histories import (
    MS,
    NodeTrace,
    Row,
    batch,
    config_record,
    disk,
    fault,
    leader_change,
    make_run,
    op,
)

VIOLATIONS = ("stale-read", "lost-write", "two-leaders", "no-evidence")
SECOND = 1000  # in ms, the unit of this model's clock
ELECTION_MS = 2500
TIMEOUT_MS = 2000
NODES = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large the run is. Time is in seconds; a fault cuts off the leader for its window."""

    seed: int = 7
    duration_s: int = 20
    processes: int = 5
    keys: int = 8
    latency_ms: float = 40.0
    faults: tuple[tuple[int, int], ...] = ((5, 9), (12, 15))
    scenario: str = "partition-leader"


@dataclass
class _Model:
    """The run as it unfolds: the true registers, the log, and what clients saw."""

    shape: Shape
    rng: random.Random
    registers: dict[str, int] = field(default_factory=dict)
    written: int = 100
    epoch: int = 0
    log: list[tuple[int, int, str | None, int]] = field(default_factory=list)  # ms, epoch, key, v
    reads: list[tuple[float, int]] = field(default_factory=list)  # ms, epoch: a round answers each
    ops: list[Row] = field(default_factory=list)
    events: int = 0

    def tick(self) -> int:
        self.events += 1
        return self.events - 1


def seal_run(directory: Path, shape: Shape | None = None, violation: str | None = None) -> Path:
    """Write a sealed run into `directory` (made if need be) and return it."""
    run = synthetic_run(shape, violation)
    directory.mkdir(parents=True, exist_ok=True)
    write_run_info(directory, replace(run.info, run_id=directory.name))
    schedule = [{"kind": row["kind"], "at_ns": row["t_start"]} for row in _faults(shape or Shape())]
    (directory / "schedule.json").write_text(json.dumps(schedule) + "\n")
    write_tables(directory, run.tables, {"truncated": list(run.truncated), "rows": run.rows})
    read_run(directory)
    return directory


def synthetic_run(shape: Shape | None = None, violation: str | None = None) -> Run:
    """The same, in memory. `violation` is one of VIOLATIONS."""
    assert violation is None or violation in VIOLATIONS, violation
    shape = shape or Shape()
    model = _Model(shape=shape, rng=random.Random(f"{shape.seed}:model"))
    _drive(model)
    traces, rows = _cluster(model)
    faults = _faults(shape)
    if violation == "stale-read":
        _plant_stale_read(model.ops)
    elif violation == "lost-write":
        value = next(row["value"] for row in model.ops if row["f"] == "write")
        gone = [row for row in rows["records"] if row["value"] == str(value) and row["node"] != 1]
        rows["records"] = [row for row in rows["records"] if row not in gone]
    elif violation == "two-leaders":
        rival = traces[model.epoch % len(traces)]
        rival.state("leader", model.epoch, leader=rival.node, log_end=len(model.log))
    elif violation == "no-evidence":
        faults[0] = {**faults[0], "bit": False, "evidence": "no byte was swallowed"}
    run = make_run(
        ops=sorted(model.ops, key=lambda row: int(str(row["op_id"]))),
        traces=traces,
        faults=faults,
        run_id=f"{shape.scenario}-{shape.seed}",
        scenario=shape.scenario,
        seed=shape.seed,
        duration_s=float(shape.duration_s),
        duration_ns=max((shape.duration_s + 1) * SECOND * MS, *_ends(model.ops)),
        fault_kinds=["partition"] * bool(shape.faults),
        command=f"kraft-chaos run {shape.scenario} --seed {shape.seed}",
        **rows,  # type: ignore[arg-type]  # batches, records, disks
    )
    return counted(run)


def _ends(ops: list[Row]) -> Iterator[int]:
    """When operations ended, in ns."""
    for row in ops:
        if row["t1"] is not None:
            assert isinstance(row["t1"], int)
            yield row["t1"]


def _faults(shape: Shape) -> list[Row]:
    windows = enumerate(shape.faults)
    return [fault(i, "partition", start * SECOND, end * SECOND) for i, (start, end) in windows]


def _blocked_until(shape: Shape, at: float) -> float:
    """When operations that are under way at `at` can go on: at once, or after the election."""
    for start, _ in shape.faults:
        if start * SECOND <= at < start * SECOND + ELECTION_MS:
            return start * SECOND + ELECTION_MS
    return at


def _plant_stale_read(ops: list[Row]) -> None:
    """Let the last main read return the first value of its key, overwritten long ago."""
    late = [row for row in ops if row["f"] == "read" and row["phase"] == "main" and row["value"]]
    key, done = late[-1]["key"], {"f": "write", "outcome": "ok"}
    late[-1]["value"] = next(
        row["value"] for row in ops if row["key"] == key and done.items() <= row.items()
    )


def _drive(model: _Model) -> None:
    """Run all processes to the end, then read every key once (phase final)."""
    shape, rng = model.shape, model.rng
    end = shape.duration_s * SECOND
    queue: list[tuple[float, int, str, Row]] = []
    processes = shape.processes
    for process in range(shape.processes):
        heapq.heappush(queue, (rng.random() * 10, process, "invoke", {}))
    while queue:
        at, process, step, row = heapq.heappop(queue)
        if step == "invoke" and at < end:
            row = _invoke(model, at, process)
            point = at + rng.expovariate(2 / shape.latency_ms)
            if _blocked_until(shape, point) - at > TIMEOUT_MS:
                if row["f"] == "write" and rng.random() < 0.33:  # it happens after all
                    heapq.heappush(queue, (_blocked_until(shape, point), process, "late", row))
                heapq.heappush(queue, (at + TIMEOUT_MS, processes, "info", row))
                processes += 1
            else:
                heapq.heappush(queue, (_blocked_until(shape, point), process, "apply", row))
        elif step == "late":
            _apply(model, row, at)
        elif step == "apply":
            _apply(model, row, at)
            heapq.heappush(queue, (at + rng.expovariate(2 / shape.latency_ms), process, "ok", row))
        elif step in ("ok", "info"):
            row |= {"complete_index": model.tick(), "t1": int(at * MS), "outcome": step}
            if step == "info":
                row |= {"error": "timed out"}
            heapq.heappush(queue, (at + 1, process, "invoke", {}))
    for number in range(shape.keys):
        key = f"r-{number}"
        row = _invoke(model, end + number, processes, key, "read", "final")
        _apply(model, row, end + number + 0.25)
        row |= {"outcome": "ok", "complete_index": model.tick()}
        row |= {"t1": int((end + number + 0.5) * MS)}


def _invoke(
    model: _Model, at: float, process: int, key: str = "", f: str = "", phase: str = "main"
) -> Row:
    key = key or f"r-{model.rng.randrange(model.shape.keys)}"
    f = f or model.rng.choice(["read", "write"])
    index = model.tick()
    value = None
    if f == "write":
        model.written += 1
        value = model.written
    node = model.rng.choice(NODES)
    row = op(f, value, index, None, key=key, process=process, node=node, phase=phase)
    model.ops.append(row | {"t0": int(at * MS)})
    return model.ops[-1]


def _apply(model: _Model, row: Row, at: float) -> None:
    key = str(row["key"])
    epoch = 1 + sum(start * SECOND + ELECTION_MS <= at for start, _ in model.shape.faults)
    while model.epoch < epoch:
        model.epoch += 1
        model.log.append((int(at), model.epoch, None, 0))
    row["node"] = _leader_of(epoch)
    if row["f"] == "read":
        row["value"] = model.registers.get(key)
        model.reads.append((at, epoch))
        return
    value = int(str(row["value"]))
    model.registers[key] = value
    model.log.append((int(at), epoch, key, value))


def _leader_of(epoch: int) -> int:
    return NODES[(epoch - 1) % len(NODES)]


def _cluster(model: _Model) -> tuple[list[NodeTrace], dict[str, list[Row]]]:
    """Traces and disks of three nodes that replicated the model's log."""
    traces = [NodeTrace(node).start() for node in NODES]
    for trace in traces:
        trace.emit("q.voters", offset=0, epoch=0, voters=_replicas(NODES))
    rows: dict[str, list[Row]] = {"batches": [], "records": [], "disks": []}
    reads = sorted(model.reads)
    for offset, (at, epoch, key, value) in enumerate(model.log):
        leader = traces[_leader_of(epoch) - 1]
        while reads and reads[0][0] < at:
            _answer(traces, *reads.pop(0))
        followers = [trace for trace in traces if trace is not leader]
        if key is None:
            _elect(leader, followers, epoch, offset, at * MS)
        _replicate(leader, followers, epoch, offset, at * MS)
        if key is None:
            leader.emit("c.active", epoch=epoch, offset=offset + 1)
        for node in NODES:
            rows["batches"].append(batch(node, offset, offset, epoch))
            if key is None:
                rows["records"].append(leader_change(node, offset, epoch, leader.node, NODES))
            else:
                rows["records"].append(config_record(node, offset, key, value, epoch))
    for read in reads:
        _answer(traces, *read)
    last = model.log[-1][1] if model.log else 0
    rows["disks"] = [disk(node, epoch=last, log_end=len(model.log)) for node in NODES]
    return traces, rows


def _replicas(nodes: Iterable[int], **more: int) -> list[dict[str, object]]:
    return [{"id": node, "dir": f"dir-{node}", **more} for node in nodes]


def _answer(traces: list[NodeTrace], at: float, epoch: int) -> None:
    """A round of reads that all others confirmed."""
    leader = traces[_leader_of(epoch) - 1]
    heard = _replicas((node for node in NODES if node != leader.node), since=int(at * MS))
    leader.emit("c.read", int(at * MS), epoch=epoch, ticket=1, arrived=int(at * MS), heard=heard)


def _elect(leader: NodeTrace, followers: list[NodeTrace], epoch: int, end: int, at: int) -> None:
    log = {"log_end": end, "log_epoch": epoch - 1}
    voted = leader.node
    before = NODES[(epoch - 2) % len(NODES)] if epoch > 1 else -1  # it voted for who leads so far
    leader.state("prospective", epoch - 1, at=at, voted=before, **log)
    leader.state("candidate", epoch, voted=voted, **log)
    for follower in followers:
        follower.state("unattached", epoch, at=at, voted=voted, **log)
        if follower.node == before:
            follower.emit("c.resign", epoch=epoch - 1)
        follower.vote(leader.node, epoch, log_end=end)
    leader.state("leader", epoch, leader=leader.node, **log)
    for follower in followers:
        follower.state("follower", epoch, leader=leader.node, voted=voted, **log)
        leader.fetch(follower.node, end, epoch)


def _replicate(
    leader: NodeTrace, followers: list[NodeTrace], epoch: int, offset: int, at: int
) -> None:
    leader.clock = max(leader.clock, at)
    leader.append(offset, offset, epoch).fsync(offset + 1)
    for follower in followers:
        follower.clock = max(follower.clock, at)
        follower.append(offset, offset, epoch, role="follower").fsync(offset + 1)
        leader.fetch(follower.node, offset + 1, epoch)
    leader.hwm(offset + 1, epoch)
    for follower in followers:
        follower.hwm(offset + 1, epoch, role="follower")
