"""Whole quorums as values: the number of each replica's view, and of the past they share.

The result of a move is computed once, by the node's own code on copies of the replicas that take
part, and cached. Replicas with the same view behave alike, so one of them stands for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chaos.model_check.copying import Original
from chaos.model_check.judged_steps import STOPPED, BrokenPromise, JudgedStep, Past, broken_by
from chaos.model_check.log_entries import Naming
from chaos.model_check.possible_moves import Move, loses_power, make
from chaos.model_check.replica import LiveReplica
from chaos.model_check.views import ReplicaView, view
from node.ids import NodeId
from node.raft.voter_forms import VoterChange

WholeState = tuple[int, ...]  # the number of each replica's view, and of the past


class Renamable(Protocol):
    def renamed(self: "V", naming: Naming) -> "V": ...


V = TypeVar("V", bound=Renamable)


class Numbered(Generic[V]):
    """Values, each with a number, and with the number of its renamed forms."""

    def __init__(self, namings: Sequence[Naming]) -> None:
        self._namings = namings
        self._numbers: dict[V, int] = {}
        self._values: list[V] = []
        self._renamed: dict[int, tuple[int, ...]] = {}

    def __getitem__(self, number: int) -> V:
        return self._values[number]

    def number(self, value: V) -> int:
        known = self._numbers.setdefault(value, len(self._values))
        if known == len(self._values):
            self._values.append(value)
        return known

    def renamed(self, number: int) -> tuple[int, ...]:
        """Renamed by each naming."""
        known = self._renamed.get(number)
        if known is None:
            value = self._values[number]
            known = tuple(self.number(value.renamed(naming)) for naming in self._namings)
            self._renamed[number] = known
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """The result of a move: the view numbers of its participants, and the answers to operators."""

    views: tuple[int, ...]
    done: Mapping[NodeId, tuple[VoterChange, ...]]
    stopped: str = ""  # why a node stopped itself, if one did


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The state after a move, and the promises that it broke."""

    move: Move
    state: WholeState
    broken: tuple[BrokenPromise, ...]
    changes: int  # of the voters, acknowledged to operators


class Quorums:
    def __init__(self, namings: Sequence[Naming]) -> None:
        """`namings`: the permutations of nodes that keep the start state."""
        self.views = Numbered[ReplicaView](namings)
        self.pasts = Numbered[Past](namings)
        self._places = [[naming[node] - 1 for node in sorted(naming)] for naming in namings]
        self._originals: dict[int, Original[LiveReplica]] = {}
        self._outcomes: dict[tuple[Move, tuple[int, ...]], _Outcome | None] = {}

    def state(self, replicas: Sequence[LiveReplica], past: Past) -> WholeState:
        return (*map(self._number, replicas), self.pasts.number(past))

    def views_of(self, state: WholeState) -> list[ReplicaView]:
        return [self.views[number] for number in state[:-1]]

    def past_of(self, state: WholeState) -> Past:
        return self.pasts[state[-1]]

    def after(self, state: WholeState, move: Move) -> Reached | None:
        """The result of `move`, and the promises that it breaks. None: the move is impossible."""
        outcome = self._outcome(move, state)
        if outcome is None:
            return None
        numbers = list(state)
        for node, number in zip(move.involved, outcome.views, strict=True):
            numbers[node - 1] = number
        past, before, now = self.past_of(state), self.views_of(state), self.views_of(tuple(numbers))
        broken = list(broken_by(JudgedStep(past=past, before=before, now=now, done=outcome.done)))
        if outcome.stopped:
            broken.append(BrokenPromise(promise=STOPPED, what=outcome.stopped))
        numbers[-1] = self.pasts.number(past.after(before, now, crashed=loses_power(move)))
        return Reached(
            move=move,
            state=tuple(numbers),
            broken=tuple(broken),
            changes=sum(map(len, outcome.done.values())),
        )

    def _outcome(self, move: Move, state: WholeState) -> _Outcome | None:
        numbers = tuple(state[node - 1] for node in move.involved)
        key = move, numbers
        if key not in self._outcomes:
            self._outcomes[key] = self._made(move, numbers)
        return self._outcomes[key]

    def _made(self, move: Move, numbers: tuple[int, ...]) -> _Outcome | None:
        replicas = [self._originals[number].copy() for number in numbers]
        for replica in replicas:
            replica.done.clear()
        try:
            if not make(move, replicas):
                return None
        except AssertionError as why:  # how a node ends that finds an invariant broken
            return _Outcome(views=numbers, done={}, stopped=f"{move}: {why}")
        done = {replica.key.id: tuple(replica.done) for replica in replicas if replica.done}
        return _Outcome(views=tuple(map(self._number, replicas)), done=done)

    def _number(self, replica: LiveReplica) -> int:
        number = self.views.number(view(replica))
        if number not in self._originals:
            self._originals[number] = Original(replica)
        return number

    def canonical(self, state: WholeState) -> WholeState:
        """The canonical form of all states that differ only by a permutation of nodes."""
        renamed = [self.views.renamed(number) for number in state[:-1]]
        pasts = self.pasts.renamed(state[-1])
        return min(
            (*(each[way] for _, each in sorted(zip(places, renamed, strict=True))), pasts[way])
            for way, places in enumerate(self._places)
        )
