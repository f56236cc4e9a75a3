"""The confidence interval of a counted share."""

from math import sqrt

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
