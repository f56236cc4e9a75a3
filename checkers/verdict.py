"""Verdicts, the result of a check, and counts and shares in words.

In order, the worst wins: invalid > error > void > unknown > valid. A crashed checker never hides a
proved violation, and what could not be decided is never valid.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import sqrt

# A count of something, in words.


def counted(number: int, one: str, many: str = "") -> str:
    """`1 key`, `2,000 keys`; `many` is the plural where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


# The confidence interval of a counted share.


_Z = 1.959964  # of the normal distribution, for 95 %


def wilson(hits: int, runs: int) -> tuple[float, float]:
    """The 95 % confidence interval of the share of `hits` among `runs` (Wilson, 1927).

    Without a single run it is from 0 to 1.
    """
    if not runs:
        return 0.0, 1.0
    share, spread = hits / runs, _Z * _Z / runs
    middle = share + spread / 2
    reach = _Z * sqrt(share * (1 - share) / runs + spread / (4 * runs))
    low, high = (middle - reach) / (1 + spread), (middle + reach) / (1 + spread)
    return max(0.0, low), min(1.0, high)


def in_words(hits: int, runs: int) -> str:
    """`19 of 20 (76-99 %)`."""
    low, high = wilson(hits, runs)
    return f"{hits} of {runs} ({100 * low:.0f}-{100 * high:.0f} %)"


WITNESS_LIMIT = 20

EventValue = int | str | bool | None


class Verdict(Enum):
    """Severity rises with the value."""

    VALID = 0
    UNKNOWN = 1
    VOID = 2
    ERROR = 3
    INVALID = 4

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES[self]

    @property
    def word(self) -> str:
        return self.name.lower()


_EXIT_CODES = {
    Verdict.VALID: 0,
    Verdict.INVALID: 1,
    Verdict.UNKNOWN: 2,
    Verdict.VOID: 3,
    Verdict.ERROR: 255,
}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of the whole: if nothing was judged, it is unknown, not valid."""
    return max(verdicts, key=lambda verdict: verdict.value, default=Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One row of a judgement.

    `check` is its name (`linearizable`, `Q2-one-leader-per-epoch`), given by the check that made
    it; `looked_at` is how many things it judged. `count` is the number of violations, `witness` at
    most 20 events that show the first one, each with at least `what` and, where known, `t_ns`,
    `node`, `process`, `key`. `promise` is what has to hold, whether it was broken or not.
    """

    check: str = ""
    verdict: Verdict
    message: str
    looked_at: int = 0
    count: int = 0
    witness: Sequence[Mapping[str, EventValue]] = ()
    algorithm: str = ""
    seconds: float = 0.0
    promise: str = ""
    facts: Mapping[str, EventValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert len(self.witness) <= WITNESS_LIMIT, self.check
        assert (self.count > 0) == (self.verdict is Verdict.INVALID), self.check


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The content of `verdict.json`: the verdict of a run, one sentence about it, and all rows.

    `statistics` are numbers for the reader (operations by outcome, operations per second, longest
    time without a success, elections); names end in their unit.
    """

    run_id: str
    verdict: Verdict
    sentence: str
    results: tuple[CheckResult, ...]
    statistics: Mapping[str, EventValue | float] = field(default_factory=dict)
