"""Few combinations in which every pair of values that can be combined occurs.

Greedy (as AETG, Cohen et al. 1997), over the combinations that are possible, since many are not: a
scenario of Apache Kafka runs on no other target. Every pair of a possible combination is covered.
"""

from collections.abc import Sequence
from itertools import combinations

ValuePair = tuple[tuple[int, str], tuple[int, str]]


def pairs_of(row: Sequence[str]) -> frozenset[ValuePair]:
    return frozenset(combinations(enumerate(row), 2))


def pairwise(rows: Sequence[Sequence[str]]) -> list[int]:
    """The places of rows that have all pairs of all rows; those with most new pairs first."""
    pairs = [pairs_of(row) for row in rows]
    left = set[ValuePair]().union(*pairs)
    chosen: list[int] = []
    gains = [len(each) for each in pairs]  # never too low: a gain only falls
    while left:
        best, most = -1, 0
        for place in sorted(range(len(rows)), key=lambda place: -gains[place]):
            if gains[place] <= most:
                break
            gains[place] = len(pairs[place] & left)
            if gains[place] > most:
                best, most = place, gains[place]
        chosen.append(best)
        left -= pairs[best]
    return chosen
