"""The decision about a history, how it was made, and its cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.history.calls import Model
from checkers.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent on one history before the answer is `unknown`.

    `work` counts operations tried and configurations compared, over all keys: about 20 to 200 ns
    each. `configurations` bounds those that are held at one moment, and with them the memory of the
    search: three sets of 4 + 128 bytes each at most. `states` bounds the enumerated states of maps,
    which are searched by a table of their states, and the states of several registers known at one
    moment; `cells` bounds the table, and the values in all of those.
    """

    work: int = 50_000_000
    configurations: int = 16_384
    states: int = 100_000
    cells: int = 16_000_000


DEFAULT = Budget()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDecision:
    """One key, or the whole object if it cannot be split by keys."""

    key: str
    verdict: Verdict
    algorithm: str
    operations: int
    work: int  # in steps of the search; 0 if the sweep decided
    why: str = ""  # of INVALID and UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A few calls of one key that cannot be explained, whatever else happened.

    Its calls, as one history with `initial` as the first value, are not linearizable: whatever was
    left out cannot help. If more than MOST would be needed, `left_out` of them, the ones furthest
    from the end, are not shown.
    """

    key: str
    calls: tuple[int, ...]  # rows, in the order of invocation
    parts: tuple[str, ...]  # what each shows, in words
    why: str  # the return that no configuration survives
    before: tuple[str, ...]  # the configurations before it, in words
    initial: str  # what the object held when the window began
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on a history: the worst of its keys', invalid before unknown before valid."""

    model: Model
    verdict: Verdict
    algorithm: str  # those that were used, joined by " + "
    message: str
    operations: int
    work: int
    budget: Budget
    keys: Sequence[KeyDecision]
    witness: Witness | None = None
    witness_seconds: float = 0.0  # what looking for it took
