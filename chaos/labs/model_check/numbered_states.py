"""Whole quorums as values: the number of each replica's view, and of the past they share.

The result of a move is computed once, by the node's own code on copies of the replicas that take
part, and cached. Replicas with the same view behave alike, so one of them stands for all.
"""

import io
import pickle
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, Generic, Protocol, TypeVar, cast

from chaos.labs.model_check.judged_steps import STOPPED, BrokenPromise, JudgedStep, Past, broken_by
from chaos.labs.model_check.possible_moves import Move, loses_power, make
from chaos.labs.model_check.replica import LiveReplica
from chaos.labs.model_check.views import Naming, ReplicaView, view
from chaos.setup.shell import module_name
from node.ids import NodeId
from node.raft.voter_forms import VoterChange

# Copies of a running replica, so that it can go on in more than one way.
#
# Frozen values, and objects outside of the replica, are shared, as they never change. `pickle`
# makes the copies, many times as fast as a walk through all objects in Python.


T = TypeVar("T")

# The modules of classes with objects that change while a replica runs.
_CHANGING = (module_name("node."), f"{__package__}.replica")
# Whether values of a type are pickled, and made again in each copy. Tuples may hold changing
# values, and methods belong to such; others are as fast to make as to look up.
_MADE_ANEW: dict[type, bool] = dict.fromkeys(
    (list, deque, set, dict, tuple, MethodType, str, int, bool, type(None)), True
)


class Original(Generic[T]):
    """A snapshot of a value, from which copies are made."""

    def __init__(self, whole: T) -> None:
        self._shared: list[Any] = []
        written = io.BytesIO()
        _Writer(written, self._shared).dump(whole)
        self._written = written.getvalue()

    def copy(self) -> T:
        """A copy with new objects for all that may change; an object that occurs twice is copied
        once."""
        reader = pickle.Unpickler(io.BytesIO(self._written))
        reader.persistent_load = self._shared.__getitem__  # type: ignore[method-assign]
        return cast("T", reader.load())


class _Writer(pickle.Pickler):
    """Puts shared values into a list, and pickles their index instead."""

    def __init__(self, written: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(written, pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        self._places: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        kind = type(value)
        if kind not in _MADE_ANEW:
            _MADE_ANEW[kind] = _is_changing(kind)
            assert _MADE_ANEW[kind] or not _changing_parts(value), f"copies would share {kind}"
        if _MADE_ANEW[kind]:
            return None
        assert kind is not FunctionType or not _enclosed(value), f"copies would share {value}"
        place = self._places.setdefault(id(value), len(self._shared))
        if place == len(self._shared):
            self._shared.append(value)
        return place


def _is_changing(kind: type) -> bool:
    if is_dataclass(kind):
        made: Any = kind
        # What is frozen is hashed by its fields (`node.lazy_dataclass`).
        return not made.__dataclass_params__.eq or kind.__hash__ is None
    return kind.__module__.startswith(_CHANGING)


def _enclosed(function: FunctionType) -> list[Any]:
    """The changing values in a function's closure."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [it for it in cells if _MADE_ANEW.get(type(it), _is_changing(type(it)))]


def _changing_parts(value: Any) -> list[Any]:
    """The fields of a frozen value that are not frozen."""
    if not is_dataclass(value):
        return []
    parts = [getattr(value, each.name) for each in fields(value)]
    return [it for it in parts if not isinstance(it, Enum | tuple) and _is_changing(type(it))]


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
