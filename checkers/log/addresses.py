"""Small numbers for pairs of a group and a nearly dense number in it, without sorting.

Offsets within a partition and the values of one process are counted up by one: a table from the
lowest to the highest of each group has few empty places.
"""

from dataclasses import dataclass

import numpy as np

from checkers.array_types import Codes, Ints

_SPARSE = 8  # places for each pair, above which they are too sparse for a table
_SLACK = 1024
NOWHERE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Group `g` has the places from `begins[g]` on, for the numbers from `low[g]` on."""

    low: Ints
    begins: Ints  # one longer than the groups

    @property
    def size(self) -> int:
        return int(self.begins[-1])

    def of_known(self, group: Ints | Codes, number: Ints) -> Ints:
        """Places of pairs that the table was made for. They rise with the number in a group."""
        return number + (self.begins[:-1] - self.low)[group]

    def find(self, group: Ints | Codes, number: Ints) -> Ints:
        """Places of any pairs; NOWHERE for pairs that the table has no place for."""
        inside = (group >= 0) & (group < len(self.low))
        known = np.where(inside, group, 0)
        place = self.of_known(known, number)
        inside &= (number >= self.low[known]) & (place < self.begins[1:][known])
        return np.where(inside, place, NOWHERE)


def addresses(group: Ints | Codes, number: Ints, groups: int) -> Addresses | None:
    """None if groups or numbers are too sparse. Numbers are not negative."""
    most = _SPARSE * len(group) + _SLACK
    if groups > most:
        return None
    low = np.full(groups, np.iinfo(np.int64).max, np.int64)
    high = np.full(groups, -1, np.int64)
    np.minimum.at(low, group, number)
    np.maximum.at(high, group, number)
    sizes = np.where(high >= 0, high - low + 1, 0)
    if float(sizes.astype(np.float64).sum()) > most:
        return None
    low[high < 0] = 0
    return Addresses(low=low, begins=np.concatenate([[0], np.cumsum(sizes)]))
