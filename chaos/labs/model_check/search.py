"""Breadth-first search of every state within the bounds, so that the first broken promise is found
by the fewest moves; and its result, for a terminal and for a script."""

import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chaos.labs.model_check.judged_steps import PROMISES, BrokenPromise, Past
from chaos.labs.model_check.numbered_states import Quorums, Reached, WholeState
from chaos.labs.model_check.possible_moves import (
    ChangeVoters,
    Crash,
    Elect,
    Fetch,
    Move,
    ReplaceDisk,
    make,
)
from chaos.labs.model_check.replica import LiveReplica
from chaos.labs.model_check.setting import Formation, SmallBounds, disk
from chaos.labs.model_check.views import Naming, ReplicaView, view
from checkers.verdict import counted
from node.ids import NodeId

# The quorum at the start of the exploration: its first node leads and has written the first
# metadata, which all nodes have.


def formed(formation: Formation) -> list[LiveReplica]:
    """Each replica as the node's own code made it, from an empty disk."""
    replicas = [LiveReplica(disk(node), formation) for node in formation.all_nodes()]
    first, *others = formation.all_nodes()
    _make(Elect(first, tuple(others[: formation.voters - 1])), replicas)
    _replicate(first, others, replicas)
    replicas[first - 1].write()
    _replicate(first, others, replicas)
    views = [view(replica) for replica in replicas]
    assert all(each.log == views[0].log for each in views), "their logs differ"
    ends = {replica.log.end().offset for replica in replicas}
    assert ends == {replica.raft.quorum.committed for replica in replicas}, "all is committed"
    return replicas


_ROUNDS = 3  # until all have fetched, have what was written, and know that it is committed


def _replicate(leader: NodeId, others: Sequence[NodeId], replicas: list[LiveReplica]) -> None:
    for _ in range(_ROUNDS):
        replicas[leader - 1].flush()
        for node in others:
            assert _make(Fetch(node, leader), replicas), f"n{node} finds no leader"


def _make(move: Move, replicas: list[LiveReplica]) -> bool:
    taking_part = [replicas[node - 1] for node in move.involved]
    return make(move, taking_part)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeMove:
    """A move of a counterexample, and the replicas that took part in it, after it."""

    move: Move
    views: tuple[ReplicaView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    made: tuple[MadeMove, ...]  # from the beginning
    broken: tuple[BrokenPromise, ...]  # by the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    states: int
    moves: int
    changes: int  # of the voters, acknowledged to operators, in all these moves
    depth: int  # moves from the beginning to the last state
    seconds: float
    found: Counterexample | None


def explore(
    bounds: SmallBounds, promises: Collection[str], tell: Callable[[str], None] = lambda _: None
) -> Explored:
    """Search until one of `promises` is broken, or all is explored."""
    return _Search(bounds, promises, tell).run()


class _Search:
    def __init__(
        self, bounds: SmallBounds, promises: Collection[str], tell: Callable[[str], None]
    ) -> None:
        self._bounds = bounds
        self._promises = promises
        self._tell = tell
        formation = Formation(listed=bounds.listed, nodes=bounds.nodes, observers=bounds.observers)
        replicas = formed(formation)
        views = [view(replica) for replica in replicas]
        self._entries = len(views[0].log) + bounds.entries
        past = Past(leaders=((views[0].epoch, views[0].key.id),), committed=views[0].log)
        self._quorums = Quorums(_namings(views, past))
        self._first = self._quorums.state(replicas, past)
        self._came: dict[WholeState, tuple[int, Move] | None] = {}  # by canonical state, in order
        self._moves = 0
        self._done = 0

    def run(self) -> Explored:
        began = time.perf_counter()
        self._came[self._quorums.canonical(self._first)] = None
        states, depth = [(0, self._first)], 0
        found: Counterexample | None = None
        while states and found is None:
            self._tell(
                f"depth {depth}: {counted(len(states), 'state')}, {len(self._came):,} in all"
            )
            states, found = self._next(states)
            depth += bool(states) or found is not None
        return Explored(
            states=len(self._came),
            moves=self._moves,
            changes=self._done,
            depth=depth,
            seconds=time.perf_counter() - began,
            found=found,
        )

    def _next(
        self, states: list[tuple[int, WholeState]]
    ) -> tuple[list[tuple[int, WholeState]], Counterexample | None]:
        """The new states one move after `states`."""
        new: list[tuple[int, WholeState]] = []
        for number, state in states:
            for reached in filter(self._is_within, self._successors(state)):
                self._moves += 1
                self._done += reached.changes
                if any(each.promise in self._promises for each in reached.broken):
                    return [], self._counterexample(number, reached)
                canonical = self._quorums.canonical(reached.state)
                if canonical not in self._came:
                    new.append((len(self._came), reached.state))
                    self._came[canonical] = number, reached.move
        return new, None

    def _successors(self, state: WholeState) -> Iterator[Reached]:
        views, past = self._quorums.views_of(state), self._quorums.past_of(state)
        for move in self._thinkable(views, past):
            reached = self._quorums.after(state, move)
            if reached is not None:
                yield reached
        for each in views:
            yield from self._elections(state, each)

    def _is_within(self, reached: Reached) -> bool:
        state, past = reached.state, self._quorums.past_of(reached.state)
        return past.crashes <= self._bounds.crashes and all(
            each.epoch <= self._bounds.epochs and len(each.log) <= self._entries
            for each in self._quorums.views_of(state)
        )

    def _thinkable(self, views: Sequence[ReplicaView], past: Past) -> Iterator[Move]:
        for each in views:
            node = each.key.id
            if each.leads:
                for other in views:
                    if other is not each and other.epoch <= each.epoch:
                        yield Fetch(other.key.id, node)
                        yield Fetch(other.key.id, node, answered=False)
                if past.changes < self._bounds.changes:
                    yield from self._changes(each, views)
            if past.crashes < self._bounds.crashes:
                yield Crash(node)
            if past.disks < self._bounds.disks:
                yield ReplaceDisk(node)

    def _changes(self, leader: ReplicaView, views: Sequence[ReplicaView]) -> Iterator[Move]:
        for each in views:
            if each.key not in leader.voters:
                yield ChangeVoters(leader.key.id, each.key, adds=True)
        for key in sorted(leader.voters):
            yield ChangeVoters(leader.key.id, key, adds=False)

    def _elections(self, state: WholeState, candidate: ReplicaView) -> Iterator[Reached]:
        """Elections by the fewest voters: the others learn of the leader by a later Fetch."""
        if candidate.epoch >= self._bounds.epochs:
            return
        node = candidate.key.id
        others = sorted({key.id for key in candidate.says} - {node})
        enough: list[set[int]] = []
        for size in range(len(others) + 1):
            for by in itertools.combinations(others, size):
                if any(fewer <= set(by) for fewer in enough):
                    continue
                reached = self._quorums.after(state, Elect(node, by))
                if reached is not None:
                    enough.append(set(by))
                    yield reached
                    crashing = self._quorums.after(state, Elect(node, by, crashes=True))
                    assert crashing is not None, f"{reached.move} was made"
                    yield crashing

    def _counterexample(self, number: int, last: Reached) -> Counterexample:
        moves, came = [last.move], list(self._came.values())
        while (step := came[number]) is not None:
            number, move = step
            moves.append(move)
        state, made = self._first, []
        for move in reversed(moves):
            reached = self._quorums.after(state, move)
            assert reached is not None, f"{move} was made before"
            state = reached.state
            views = self._quorums.views_of(state)
            taking_part = tuple(views[node - 1] for node in move.involved)
            made.append(MadeMove(move=move, views=taking_part))
        return Counterexample(made=tuple(made), broken=last.broken)


def _namings(views: Sequence[ReplicaView], past: Past) -> list[Naming]:
    """The permutations of nodes that keep the start state; the identity is first."""
    nodes = [each.key.id for each in views]
    namings = [dict(zip(nodes, other, strict=True)) for other in itertools.permutations(nodes)]
    return [
        naming
        for naming in namings
        if past.renamed(naming) == past and {each.renamed(naming) for each in views} == set(views)
    ]


# The result of an exploration, for a terminal and for a script.


def told(bounds: SmallBounds, explored: Explored) -> str:
    lines = [_bounds(bounds)]
    if explored.found is not None:
        lines += ["", *_counterexample(explored.found), ""]
    lines.append(
        f"{counted(explored.states, 'state')}, {counted(explored.moves, 'move')}, depth"
        f" {explored.depth}, {explored.seconds:.1f} s;"
        f" {counted(explored.changes, 'change')} of the voters acknowledged"
    )
    lines.append("all states explored, nothing broken" if explored.found is None else "broken")
    return "\n".join(lines)


def _bounds(bounds: SmallBounds) -> str:
    form = "KIP-856" if bounds.listed else "KIP-853"
    observe = f", {counted(bounds.observers, 'observer')} of them" if bounds.observers else ""
    limits = [
        f"epochs to {bounds.epochs}",
        counted(bounds.changes, "change"),
        counted(bounds.entries, "entry", "entries"),
        counted(bounds.crashes, "crash", "crashes"),
        counted(bounds.disks, "disk") + " replaced",
    ]
    return f"{form}, {counted(bounds.nodes, 'node')}{observe}: {', '.join(limits)}"


def _counterexample(found: Counterexample) -> list[str]:
    lines = []
    for number, made in enumerate(found.made, 1):
        lines.append(f"{number}. {made.move}")
        lines += [f"     {view}" for view in made.views]
    for each in found.broken:
        lines += [f"{each.promise} is broken: {each.what}", f"  ({PROMISES[each.promise]})"]
    return lines


def row(bounds: SmallBounds, explored: Explored) -> Mapping[str, object]:
    """As JSON has it."""
    found = explored.found
    return {
        "form": "kip-856" if bounds.listed else "kip-853",
        "nodes": bounds.nodes,
        "observers": bounds.observers,
        "epochs": bounds.epochs,
        "changes": bounds.changes,
        "entries": bounds.entries,
        "crashes": bounds.crashes,
        "disks": bounds.disks,
        "states": explored.states,
        "moves": explored.moves,
        "changes_done": explored.changes,
        "depth": explored.depth,
        "seconds": round(explored.seconds, 3),
        "steps": [] if found is None else [str(made.move) for made in found.made],
        "broken": {} if found is None else {each.promise: each.what for each in found.broken},
    }
