"""Breadth-first search of every world within the bounds, so that the first broken promise is found
by the fewest moves; and its result, for a terminal and for a script.

What must hold after each move, judged by logs and by what was shown to clients.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from chaos.labs.model_check.judged_steps import BrokenPromise
from chaos.labs.model_check.partition.controller import Deciding
from chaos.labs.model_check.partition.moves import MadePartitionMove, PartitionBounds, moves
from chaos.labs.model_check.partition.world import EpochLog, PartitionWorld, ReplicaMachine, begin
from checkers.verdict import counted
from node.config import RecoveryStrategy
from node.ids import NodeId

ELIGIBLE, HELD, LED, AGREED = "E12", "P8", "P10", "P11"
PROMISES = {
    ELIGIBLE: "members of ISR and ELR have all that is below the high watermark",
    HELD: "what is below the high watermark is on min ISR replicas, or was lost by a power cut",
    LED: "a leader has all that was below a high watermark, unless min ISR ends were unclean",
    AGREED: "leaders show the same records",
}


def judge(before: PartitionWorld, made: MadePartitionMove) -> Iterator[BrokenPromise]:
    """Also counts in the world's past what the leaders show, and what may be lost."""
    world = made.world
    for node in made.began_to_lead:
        yield from _led(world, node)
    for node, machine, replica in world.running():
        if machine.leading is not None:
            shown = machine.log[: replica.high_watermark]
            if len(shown) > _high_watermark(before.machines[node]):
                yield from _held(world, machine, shown)
            yield from _agreed(world, node, shown)
    yield from _eligible(world)


def _high_watermark(machine: ReplicaMachine) -> int:
    return 0 if machine.replica is None else machine.replica.high_watermark


def _has(log: EpochLog, shown: EpochLog) -> bool:
    return log[: len(shown)] == shown


def _led(world: PartitionWorld, node: NodeId) -> Iterator[BrokenPromise]:
    log, past = world.machines[node].log, world.past
    if _has(log, past.shown):
        return
    if len(past.unclean) < past.least or not past.lossy:
        what = f"n{node} leads with {_told(log)}, and {_told(past.shown)} was shown; "
        what += f"min ISR was {past.least} at least, and {len(past.unclean)} ended uncleanly"
        yield BrokenPromise(promise=LED, what=what)
    world.past = replace(past, shown=_common(log, past.shown))


def _held(
    world: PartitionWorld, leader: ReplicaMachine, shown: EpochLog
) -> Iterator[BrokenPromise]:
    """By the lowest min ISR that is in force for the leader, or for the controller."""
    least = min(each.effective_min_isr for each in world.log[leader.heard - 1 :])
    holders = [node for node, each in world.machines.items() if _has(each.log, shown)]
    if len({*holders, *world.past.lossy}) < least:
        what = f"{_told(shown)} is shown, and is on {_names(holders)}; min ISR is {least}"
        yield BrokenPromise(promise=HELD, what=what)


def _agreed(world: PartitionWorld, node: NodeId, shown: EpochLog) -> Iterator[BrokenPromise]:
    past = world.past
    if not (_has(shown, past.shown) or _has(past.shown, shown)):
        what = f"n{node} shows {_told(shown)}, and {_told(past.shown)} was shown"
        yield BrokenPromise(promise=AGREED, what=what)
    elif len(shown) > len(past.shown):
        world.past = replace(past, shown=shown)


def _eligible(world: PartitionWorld) -> Iterator[BrokenPromise]:
    """One that lost its log is known to have done so as soon as it registers."""
    partition, shown = world.decided.partition, world.past.shown
    for broker in (*partition.isr, *partition.elr):
        node = NodeId(broker)
        log = world.machines[node].log
        if node not in world.past.unregistered and not _has(log, shown):
            of = "ISR" if broker in partition.isr else "ELR"
            what = f"n{node} is in the {of} with {_told(log)}, and {_told(shown)} was shown"
            yield BrokenPromise(promise=ELIGIBLE, what=what)


def _common(one: EpochLog, other: EpochLog) -> EpochLog:
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return one[:same]


def _told(log: EpochLog) -> str:
    """The records as their leader epochs."""
    return f"[{', '.join(f'epoch {epoch}' for epoch in log)}]"


def _names(nodes: list[NodeId]) -> str:
    return ", ".join(f"n{node}" for node in nodes) or "no broker"


_Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCounterexample:
    steps: _Steps  # from the beginning
    broken: tuple[BrokenPromise, ...]  # by the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredPartition:
    states: int
    moves: int
    elections: int  # of all these moves
    depth: int  # moves from the beginning to the last state
    is_whole: bool  # no state is left that more moves would reach
    seconds: float
    found: PartitionCounterexample | None


def explore(
    bounds: PartitionBounds,
    strategy: RecoveryStrategy | None,
    promises: Collection[str],
    tell: Callable[[str], None] = lambda _: None,
) -> ExploredPartition:
    """Search, from a min ISR of 1, 2 and 3, until one of `promises` is broken, or all within the
    bounds is explored.
    `strategy`: of the unclean recovery manager; None: there is none."""
    return _Search(bounds, strategy, promises, tell).run()


class _Search:
    def __init__(
        self,
        bounds: PartitionBounds,
        strategy: RecoveryStrategy | None,
        promises: Collection[str],
        tell: Callable[[str], None],
    ) -> None:
        self._bounds = bounds
        self._promises = promises
        self._tell = tell
        self._deciding = Deciding(strategy)
        self._known: dict[object, int] = {}  # the number of each world, by what it goes on by
        self._came: list[tuple[int, str]] = []  # by that number: from which, and how
        self._moves = self._elections = 0

    def run(self) -> ExploredPartition:
        began = time.perf_counter()
        front: list[tuple[int, PartitionWorld]] = []
        for min_isr in (1, 2, 3):
            world = begin(min_isr)
            front.append((self._numbered(-1, f"min.insync.replicas is {min_isr}", world), world))
        depth, found = 0, None
        while front and found is None and depth < self._bounds.depth:
            told = counted(len(front), "state")
            self._tell(f"depth {depth}: {told}, {len(self._came):,} in all")
            front, found = self._next(front)
            depth += bool(front) or found is not None
        return ExploredPartition(
            states=len(self._came),
            moves=self._moves,
            elections=self._elections,
            depth=depth,
            is_whole=not front and found is None,
            seconds=time.perf_counter() - began,
            found=found,
        )

    def _next(
        self, front: list[tuple[int, PartitionWorld]]
    ) -> tuple[list[tuple[int, PartitionWorld]], PartitionCounterexample | None]:
        new: list[tuple[int, PartitionWorld]] = []
        for number, world in front:
            for made in moves(world, self._bounds, self._deciding):
                self._moves += 1
                self._elections += len(made.began_to_lead)
                broken = tuple(
                    each for each in judge(world, made) if each.promise in self._promises
                )
                if broken:
                    return [], self._counterexample(number, made, broken)
                if made.world.key() not in self._known:
                    new.append((self._numbered(number, made.what, made.world), made.world))
        return new, None

    def _numbered(self, before: int, what: str, world: PartitionWorld) -> int:
        number = self._known[world.key()] = len(self._came)
        self._came.append((before, what))
        return number

    def _counterexample(
        self, number: int, last: MadePartitionMove, broken: tuple[BrokenPromise, ...]
    ) -> PartitionCounterexample:
        steps = [last.what]
        while number >= 0:
            number, what = self._came[number]
            steps.append(what)
        return PartitionCounterexample(steps=tuple(reversed(steps)), broken=broken)


# The result of an exploration, for a terminal and for a script.


def told(
    bounds: PartitionBounds, strategy: RecoveryStrategy | None, explored: ExploredPartition
) -> str:
    manager = "no recovery manager" if strategy is None else f"recovery {strategy.value}"
    limits = (
        counted(bounds.records, "record"),
        counted(bounds.alters, "change") + " of min.insync.replicas",
        counted(bounds.fences, "fencing"),
        counted(bounds.ends, "end") + " of processes",
        counted(bounds.depth, "move"),
    )
    lines = [f"a partition of 3 replicas, {manager}: {', '.join(limits)}"]
    if explored.found is not None:
        lines.append("")
        lines += [f"{number}. {step}" for number, step in enumerate(explored.found.steps)]
        for each in explored.found.broken:
            lines += [f"{each.promise} is broken: {each.what}", f"  ({PROMISES[each.promise]})"]
        lines.append("")
    lines.append(
        f"{counted(explored.states, 'state')}, {counted(explored.moves, 'move')}, depth"
        f" {explored.depth}, {explored.seconds:.1f} s;"
        f" {counted(explored.elections, 'election')}"
    )
    reached = "all states" if explored.is_whole else f"all states to depth {explored.depth}"
    lines.append(f"{reached} explored, nothing broken" if explored.found is None else "broken")
    return "\n".join(lines)


def row(
    bounds: PartitionBounds, strategy: RecoveryStrategy | None, explored: ExploredPartition
) -> Mapping[str, object]:
    """As JSON has it."""
    found = explored.found
    return {
        "of": "partition",
        "recovery": "off" if strategy is None else strategy.value.lower(),
        "records": bounds.records,
        "alters": bounds.alters,
        "fences": bounds.fences,
        "ends": bounds.ends,
        "is_whole": explored.is_whole,
        "states": explored.states,
        "moves": explored.moves,
        "elections": explored.elections,
        "depth": explored.depth,
        "seconds": round(explored.seconds, 3),
        "steps": [] if found is None else list(found.steps),
        "broken": {} if found is None else {each.promise: each.what for each in found.broken},
    }
