"""Runs in which voters lost their disks, with values on any of the disks: of those that were kept,
that could not be read, or that nobody kept; and of new ones, which vote where an operator added
them. Node 1 keeps its disk, and its log names the voters.
"""

import random
from collections.abc import Iterator, Sequence

from checkers.history.sealed_run import Run
from tests.support.histories import (
    LostDisk,
    NodeTrace,
    Row,
    config_record,
    disk,
    make_run,
    wiped,
    write,
)
from tests.support.voter_logs import key, log, whole

_VALUES = range(40)
_FIRST = 3  # offset; those below have who votes
_MS_A_VALUE = 100


def lost_disk_run(seed: int) -> Run:
    rng = random.Random(f"{seed}:lost-disks")
    nodes = range(1, rng.choice([3, 5]) + 1)
    gone = sorted(rng.sample(nodes[1:], rng.randrange(1, len(nodes))))
    back = [node for node in gone if rng.random() < 0.3]  # an operator added the new disk
    voters = [(node, _new(node)) if node in back else key(node) for node in nodes]
    records = whole([1], _FIRST - 1, voters)
    for node in nodes:
        records += _some_values(rng, node, likely=0.2 if node in gone else 0.4)
    torn = "000.log: cut at 77"
    return make_run(
        run_id=f"lost-disks-{seed}",
        scenario="disk-loss-majority",
        nodes=len(nodes),
        ops=[_write(rng, value) for value in _VALUES],
        batches=_batches(nodes),
        records=records,
        disks=[
            disk(node, directory=_new(node) if node in gone else f"dir-{node}")
            for node in nodes
            if node == 1 or rng.random() < 0.9
        ],
        faults=[wiped(node, node, at, at + 300) for node, at in _moments(rng, gone)],
        lost=[
            LostDisk(
                node,
                _batches([node]),
                [*whole([node], _FIRST - 1, voters), *_some_values(rng, node, likely=0.8)],
                problem=torn if rng.random() < 0.1 else None,
            )
            for node in gone
            if rng.random() < 0.9
        ],
        traces=_told(rng),
    )


def _new(node: int) -> str:
    return f"new-{node}"


def _batches(nodes: Sequence[int]) -> list[Row]:
    return log(nodes, *((at, at, 1) for at in range(_FIRST + len(_VALUES))))


def _some_values(rng: random.Random, node: int, likely: float) -> Iterator[Row]:
    for value in _VALUES:
        if rng.random() < likely:
            yield config_record(node, _FIRST + value, f"r-{value % 3}", value)


def _write(rng: random.Random, value: int) -> Row:
    begun, outcome = value * _MS_A_VALUE, rng.choice(["ok", "ok", "ok", "info", "fail"])
    return write(value, begun, begun + 1, key=f"r-{value % 3}", outcome=outcome)


def _moments(rng: random.Random, gone: Sequence[int]) -> Iterator[tuple[int, int]]:
    """When which node lost its disk, in ms: while values were written, or behind the last."""
    first = rng.choice([0, len(_VALUES)])
    for node in rng.sample(gone, len(gone)):
        yield node, (first + rng.randrange(len(_VALUES))) * _MS_A_VALUE


def _told(rng: random.Random) -> Iterator[NodeTrace]:
    if rng.random() < 0.3:
        yield NodeTrace(1).start().hwm(_FIRST + rng.randrange(len(_VALUES)), 1)
