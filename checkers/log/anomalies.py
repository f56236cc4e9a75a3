"""The names of the anomalies of a log, and cases of them as arrays.

Names are those of Jepsen's Kafka workload where it has one, and for cycles those of Adya and Elle;
ours are PHANTOM, CORRUPT, FUTURE_READ, REALTIME_SEND, PAST_HIGH_WATERMARK, HIGH_WATERMARK_BACK and
VANISHED.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.log.arrays import NONE
from checkers.log.circles import Cycle


class Anomaly(StrEnum):
    """The most basic ones first: if offsets contradict each other, wrong orders follow from it."""

    CORRUPT = "corrupt"
    PHANTOM = "phantom"
    FUTURE_READ = "future-read"
    G1A = "G1a"
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    DUPLICATE = "duplicate"
    PRECOMMITTED_READ = "precommitted-read"
    G1C = "G1c"
    G1C_REALTIME = "G1c-realtime"
    G0 = "G0"
    G0_REALTIME = "G0-realtime"
    G1B = "G1b"
    G_SINGLE = "G-single"
    G_SINGLE_REALTIME = "G-single-realtime"
    G2 = "G2"
    G2_REALTIME = "G2-realtime"
    LOST_WRITE = "lost-write"
    VANISHED = "vanished"
    UNSEEN = "unseen"
    PAST_HIGH_WATERMARK = "poll-past-high-watermark"
    HIGH_WATERMARK_BACK = "nonmonotonic-high-watermark"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    REALTIME_SEND = "nonmonotonic-send-realtime"
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    INT_SEND_SKIP = "int-send-skip"
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    INT_POLL_SKIP = "int-poll-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    POLL_SKIP = "poll-skip"


# Sends of several producers interleave, so the records of one transaction need not be adjacent.
ALWAYS_ALLOWED = frozenset({Anomaly.INT_SEND_SKIP})
# A consumer has no known position if its group moves partitions unrecorded.
UNBOUND_BY_SILENCE = frozenset({Anomaly.POLL_SKIP, Anomaly.NONMONOTONIC_POLL})
# No loss of records explains these.
WHATEVER_IS_LOST = frozenset(
    {
        Anomaly.CORRUPT,
        Anomaly.PHANTOM,
        Anomaly.FUTURE_READ,
        Anomaly.G1A,
        Anomaly.PRECOMMITTED_READ,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """All cases of one anomaly: row `i` of each array is case `i`.

    `one` and `other` are the operations that show it, `other` the one that reveals it; `offset` and
    `value` are theirs, NONE if they have none. `cycles` is filled for cases that are cycles, and
    else empty.
    """

    anomaly: Anomaly
    key: Codes
    one: Codes
    other: Codes
    one_offset: Ints
    other_offset: Ints
    one_value: Codes
    other_value: Codes
    cycles: tuple[Cycle, ...] = ()

    def __len__(self) -> int:
        return len(self.key)

    def where(self, chosen: Flags) -> "Cases":
        """The chosen cases only."""
        return Cases(
            anomaly=self.anomaly,
            key=self.key[chosen],
            one=self.one[chosen],
            other=self.other[chosen],
            one_offset=self.one_offset[chosen],
            other_offset=self.other_offset[chosen],
            one_value=self.one_value[chosen],
            other_value=self.other_value[chosen],
            cycles=tuple(compress(self.cycles, chosen)),
        )


def cases(
    anomaly: Anomaly,
    key: Codes,
    *,
    other: Codes,
    one: Codes | None = None,
    one_offset: Ints | None = None,
    other_offset: Ints | None = None,
    one_value: Codes | None = None,
    other_value: Codes | None = None,
    cycles: tuple[Cycle, ...] = (),
) -> Cases:
    """Cases with NONE wherever nothing is given."""
    no_code, no_offset = np.full(len(key), NONE, np.int32), np.full(len(key), NONE, np.int64)
    return Cases(
        anomaly=anomaly,
        key=key,
        one=no_code if one is None else one,
        other=other,
        one_offset=no_offset if one_offset is None else one_offset,
        other_offset=no_offset if other_offset is None else other_offset,
        one_value=no_code if one_value is None else one_value,
        other_value=no_code if other_value is None else other_value,
        cycles=cycles,
    )


def in_order(found: Iterable[Cases]) -> list[Cases]:
    """Those that have cases, in the order of `Anomaly`."""
    rank = list(Anomaly)
    return sorted((one for one in found if len(one)), key=lambda one: rank.index(one.anomaly))
