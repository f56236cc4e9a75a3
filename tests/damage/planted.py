"""Losses planted in runs that are whole otherwise: what nodes lost has to be held against them.

Unlike damage to the evidence, everything that is counted fits: the cluster itself lost something.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run
from checkers.history.store import read_run
from checkers.history.tables import OPS
from tests.support.counted import counted
from tests.support.kafka_runs import ALL, change, started

Planted = tuple[str, Run]


def planted(bases: list[Path], rng: random.Random, each: int) -> Iterator[Planted]:
    """Every kind of loss, `each` times with other victims."""
    for number in range(each):
        run = read_run(bases[number % len(bases)])
        yield "an acknowledged write is on no disk", counted(_off_all_disks(run, rng))
        yield "an acknowledged write that no disk ever had", counted(_never_written(run, rng))
        for what, plant in _OF_LOGS.items():
            yield what, brokers(plant, rng)


def _off_all_disks(run: Run, rng: random.Random) -> Run:
    records, ops = run.tables["log_records"], run.tables["ops"]
    acknowledged = pc.and_(pc.equal(ops["outcome"], "ok"), pc.equal(ops["f"], "write"))
    victim = rng.choice(ops.filter(acknowledged).to_pylist())
    mine = pc.and_(
        pc.equal(records["resource"], victim["key"]),
        pc.equal(records["value"], str(victim["value"])),
    )
    left = records.filter(pc.invert(pc.fill_null(mine, fill_value=False)))
    assert left.num_rows < records.num_rows, victim
    return replace(run, tables={**run.tables, "log_records": left})


def _never_written(run: Run, rng: random.Random) -> Run:
    """Acknowledged among the others, and asked for by a process of its own."""
    ops = run.tables["ops"]
    rows = ops.to_pylist()
    acknowledged = [row for row in rows if (row["f"], row["outcome"]) == ("write", "ok")]
    like = rng.choice(acknowledged)
    last = max(row["complete_index"] or row["invoke_index"] for row in rows)
    end = max(row["t1"] or row["t0"] for row in rows)
    more = {
        **like,
        "op_id": len(rows),
        "process": max(row["process"] for row in rows) + 1,
        "value": 3_000_000 + rng.randrange(1000),
        "invoke_index": last + 1,
        "complete_index": last + 2,
        "t0": end - 2,
        "t1": end - 1,
    }
    table = pa.concat_tables([ops, pa.Table.from_pylist([more], schema=OPS)])
    return replace(run, tables={**run.tables, "ops": table})


SENDS = 60


def brokers(plant: Callable[["Logs", random.Random], None], rng: random.Random) -> Run:
    """Three brokers with a partition of theirs, after `plant` has done something to it."""
    logs = Logs()
    plant(logs, rng)
    return counted(logs.run())


class Logs:
    """What was sent, and what disks hold: offsets count up, the value at `n` is `100 + n`."""

    def __init__(self) -> None:
        self.acknowledged = {n: 100 + n for n in range(SENDS)}  # value by offset
        self.held = {node: dict(self.acknowledged) for node in ALL}

    def run(self) -> Run:
        cluster = started().topic_operation("create-topic", "t")
        cluster.commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
        cluster.commit(change("t-0", isr=ALL, eligibleLeaderReplicas=[]))
        for node, held in self.held.items():
            spans = [(offset, value, 1, 0) for offset, value in sorted(held.items())]
            cluster.replica(node, "t-0", spans)
        for offset, value in self.acknowledged.items():
            cluster.sent("t-0", offset, value)
        led = sorted(self.held[1].items())
        for phase, process, polls in (("main", 50, led[:12]), ("final", 51, led)):
            for offset, value in polls:
                cluster.polled("t-0", offset, value)
                cluster.rows["ops"][-1] |= {"phase": phase, "process": process}
        for at in range(40):
            cluster.told(1, 1, 1, at, high_watermark=cluster.end)
            cluster.told(1, 1, 0, at, kind="partition", key="t-0", isr=ALL, elr=[])
        return cluster.run(history=HistoryKind.LOG)


def nothing(logs: Logs, rng: random.Random) -> None:
    """Lose nothing."""
    del logs, rng


def _off_all(logs: Logs, rng: random.Random) -> None:
    _lose(logs, ALL, rng)


def _off_one(logs: Logs, rng: random.Random) -> None:
    _lose(logs, [rng.choice(ALL)], rng)


def _lose(logs: Logs, nodes: list[int], rng: random.Random) -> None:
    """The end of the logs of these nodes."""
    first = rng.randrange(SENDS // 2, SENDS)
    for node in nodes:
        logs.held[node] = {o: value for o, value in logs.held[node].items() if o < first}


def _one_more(logs: Logs, rng: random.Random) -> None:
    logs.acknowledged[SENDS] = 5000 + rng.randrange(1000)


def _swapped(logs: Logs, rng: random.Random) -> None:
    one, other = rng.sample(range(SENDS), 2)
    sent = logs.acknowledged
    sent[one], sent[other] = sent[other], sent[one]


_OF_LOGS: dict[str, Callable[[Logs, random.Random], None]] = {
    "acknowledged records are on no disk": _off_all,
    "acknowledged records are not on one disk of the ISR": _off_one,
    "an acknowledged send that no disk ever had": _one_more,
    "the offsets of two acknowledged sends are swapped": _swapped,
}
