"""Reads that name their key only in the answer, if the values of a history are `[key value]`.

    {:type :invoke, :f :read, :value nil, :process 1}
    {:type :ok, :f :read, :value [:x 3], :process 1}

No register has a value of two elements here, so if everything written is a pair, and everything
read as well, its first part is a key. A read without its key read nothing at all.
"""

from collections.abc import Sequence
from dataclasses import replace

from checkers.foreign.foreign_values import ABSENT, Value
from checkers.foreign.operations import Act
from checkers.foreign.pairs import Pair
from checkers.history.events import EventType


def with_keys(pairs: Sequence[Pair], acts: Sequence[Act]) -> tuple[list[Pair], list[Act]]:
    """The same with the key in the invocation of each read, if the history has keys that way."""
    if not any(map(_is_untold, pairs, acts)) or not all(map(_may_be_keyed, pairs, acts)):
        return list(pairs), list(acts)
    kept = [(_told(pair, act), act) for pair, act in zip(pairs, acts, strict=True)]
    told = [(pair, act) for pair, act in kept if pair is not None]
    return [pair for pair, _ in told], [act for _, act in told]


def _is_untold(pair: Pair, act: Act) -> bool:
    """Whether a read has no key where it began, and returned a pair."""
    return act is Act.READ and not _is_pair(pair.invoke.value) and _is_pair(_result(pair))


def _may_be_keyed(pair: Pair, act: Act) -> bool:
    if act is Act.TXN or pair.invoke.key is not ABSENT:
        return False
    if act is not Act.READ:
        return _is_pair(pair.invoke.value)
    asked, result = pair.invoke.value, _result(pair)
    known = asked in (ABSENT, None) or _is_pair(asked) or (type(asked) is tuple and len(asked) == 1)
    return known and (result is ABSENT or _is_pair(result))


def _told(pair: Pair, act: Act) -> Pair | None:
    if act is not Act.READ or _is_pair(pair.invoke.value):
        return pair
    asked, result = pair.invoke.value, _result(pair)
    if isinstance(asked, tuple):
        return replace(pair, invoke=replace(pair.invoke, value=(asked[0], None)))
    if not isinstance(result, tuple):
        return None
    return replace(pair, invoke=replace(pair.invoke, value=(result[0], None)))


def _result(pair: Pair) -> Value:
    """The value that a read returned; ABSENT if it did not succeed."""
    complete = pair.complete
    return ABSENT if complete is None or complete.type is not EventType.OK else complete.value


def _is_pair(value: Value) -> bool:
    return isinstance(value, tuple) and len(value) == 2
