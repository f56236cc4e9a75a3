"""The operations of a file in our words, and the object that they are of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from checkers.foreign.entries import HistoryLine, Pair
from checkers.foreign.foreign_values import ABSENT, MalformedError, Value, excerpt, name_of, render
from checkers.history.calls import Model


class Act(Enum):
    READ = "read"
    WRITE = "write"
    DELETE = "delete"  # a write of nothing
    CAS = "cas"
    APPEND = "append"
    TXN = "txn"


_ACTS = {
    "read": Act.READ,
    "r": Act.READ,
    "get": Act.READ,
    "write": Act.WRITE,
    "w": Act.WRITE,
    "put": Act.WRITE,
    "delete": Act.DELETE,
    "cas": Act.CAS,
    "append": Act.APPEND,
    "txn": Act.TXN,
}
_MAP_WORDS = ("get", "put")
_MICRO = (Act.READ, Act.WRITE)

ACTS_OF = {
    Model.REGISTER: (Act.READ, Act.WRITE, Act.DELETE),
    Model.CAS_REGISTER: (Act.READ, Act.WRITE, Act.DELETE, Act.CAS),
    Model.MULTI_REGISTER: (Act.READ, Act.WRITE, Act.TXN),
    Model.KV: (Act.READ, Act.WRITE, Act.DELETE, Act.APPEND),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroOperation:
    """A step of a transaction."""

    act: Act
    key: Value
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The model of a file. `paired`: its values are `[key value]` (jepsen.independent)."""

    model: Model
    why: str
    paired: bool


def act_of(pair: Pair) -> Act:
    """Raises MalformedError for an operation of no object that can be judged here."""
    f, value = pair.invoke.f, pair.invoke.value
    act = _ACTS.get(f) if f is not None else None
    if act in (None, *_MICRO) and _has_micro_operations(value):
        return Act.TXN
    if act is None:
        found = "an operation without a name" if f is None else excerpt(f)
        raise MalformedError(pair.invoke.line, f"an operation ({', '.join(_ACTS)})", found)
    return act


def _has_micro_operations(value: Value) -> bool:
    """`[[:r :x nil] [:w :y 1]]`; lists of appends too, which are refused later with a message."""
    return (
        isinstance(value, tuple)
        and bool(value)
        and all(
            isinstance(item, tuple) and len(item) in (2, 3) and name_of(item[0]) in _ACTS
            for item in value
        )
    )


def micro_operations(entry: HistoryLine) -> list[MicroOperation]:
    """The steps of a transaction. Raises MalformedError."""
    if not isinstance(entry.value, tuple):
        found = "no value" if entry.value is ABSENT else excerpt(render(entry.value))
        raise MalformedError(entry.line, "a transaction such as [[:r :x nil] [:w :y 1]]", found)
    return [_micro_operation(entry.line, item) for item in entry.value]


def _micro_operation(line: int, item: Value) -> MicroOperation:
    if isinstance(item, tuple) and len(item) in (2, 3):
        act = _ACTS.get(name_of(item[0]) or "")
        if act is Act.READ or (act is Act.WRITE and len(item) == 3):
            return MicroOperation(act=act, key=item[1], value=item[2] if len(item) == 3 else ABSENT)
    raise MalformedError(
        line, "reads and writes of registers, such as [:r :x 1] or [:w :x 1]", excerpt(render(item))
    )


def guess(pairs: Sequence[Pair], acts: Iterable[Act], declared: Model | None) -> Guess:
    """The model by the names of the operations, or the declared one if they allow it.

    Raises MalformedError at the first operation that does not belong.
    """
    acts = list(acts)
    _require_keys(pairs)
    paired = _are_paired(pairs, acts)
    model, why = _by_names(pairs, set(acts)) if declared is None else (declared, "as told")
    allowed = ACTS_OF[model]
    for pair, act in zip(pairs, acts, strict=True):
        if act not in allowed:
            names = ", ".join(one.value for one in allowed)
            raise MalformedError(
                pair.invoke.line, f"an operation of a {model.value} ({names})", act.value
            )
    if paired:
        why += "; values are [key value]"
    return Guess(model=model, why=why, paired=paired)


def _require_keys(pairs: Sequence[Pair]) -> None:
    """All operations have a key, or none has."""
    keyed = pairs[0].invoke.key is not ABSENT
    for pair in pairs:
        if (pair.invoke.key is not ABSENT) != keyed:
            first = f"as on line {pairs[0].invoke.line}"
            expected, found = ("a key", "none") if keyed else ("no key", "one")
            raise MalformedError(pair.invoke.line, f"{expected}, {first}", found)


def _by_names(pairs: Sequence[Pair], acts: set[Act]) -> tuple[Model, str]:
    names = sorted({pair.invoke.f for pair in pairs if pair.invoke.f is not None})
    why = f"its operations are {', '.join(names)}" if names else "by its values"
    if Act.TXN in acts:
        return Model.MULTI_REGISTER, why
    if Act.CAS in acts:
        return Model.CAS_REGISTER, why
    if Act.APPEND in acts or any(name in _MAP_WORDS for name in names):
        return Model.KV, why
    return Model.REGISTER, why


def _are_paired(pairs: Sequence[Pair], acts: Sequence[Act]) -> bool:
    """Whether values are `[key value]`, as Jepsen writes them for independent keys.

    A register of pairs looks the same only while it is not read: the invocation of a read has nil
    there, and `[key nil]` here.
    """
    return all(
        pair.invoke.key is ABSENT and act is not Act.TXN and _is_paired(pair.invoke.value, act)
        for pair, act in zip(pairs, acts, strict=True)
    )


def _is_paired(value: Value, act: Act) -> bool:
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    return act is not Act.CAS or (isinstance(value[1], tuple) and len(value[1]) == 2)
