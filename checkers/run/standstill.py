"""What may be expected of a run beside its verdict: for how long something stood still in it."""

from dataclasses import dataclass
from math import inf

from checkers.verdict import Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Bounds, in seconds, of a statistic such as `longest_without_topic_s`."""

    statistic: str
    least_s: float = 0.0
    most_s: float = inf

    def holds(self, judgement: Judgement) -> bool:
        """Not where the run has no such number."""
        found = judgement.statistics.get(self.statistic)
        return isinstance(found, int | float) and self.least_s <= found <= self.most_s
