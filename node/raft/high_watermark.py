"""The rule of what is committed (KIP-595, `LeaderState.maybeUpdateHighWatermark`)."""

from collections.abc import Sequence

from node.ids import Offset


def replicated_to_majority(ends: Sequence[Offset]) -> Offset:
    """The offset below which a majority has everything; `ends` has one entry a voter."""
    return sorted(ends, reverse=True)[len(ends) // 2]


def covers_leader_change(candidate: Offset, epoch_start: Offset) -> bool:
    """Records of older epochs are committed only together with one of this epoch.

    `epoch_start` is where LeaderChange lies, so the candidate must be greater (KAFKA-12619;
    Raft, figure 8).
    """
    return candidate > epoch_start


def never_lower(candidate: Offset, known: Offset | None) -> Offset:
    """A lower candidate (a voter lost its log) does not take back what was promised."""
    return candidate if known is None else max(candidate, known)


def advance(known: Offset | None, ends: Sequence[Offset], epoch_start: Offset) -> Offset | None:
    """The leader's high watermark, given the voters' durable log ends."""
    candidate = replicated_to_majority(ends)
    if not covers_leader_change(candidate, epoch_start):
        return known
    return never_lower(candidate, known)
