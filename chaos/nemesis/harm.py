"""What a fault does to processes, bytes, links and clocks: the facts that its row is sealed with.

Checks go by these facts and never by the name of a kind, so a new kind of fault is judged by every
rule that there is. They say what a fault may do when it bites; whether it bit is its evidence.
"""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """All false: every node is up, hears all others, and forgets nothing."""

    ends_process: bool = False  # the process of each victim ends
    unclean: bool = False  # and leaves no clean-shutdown file
    may_lose: bool = False  # bytes that were written and not synced, or more, may be gone
    damages_bytes: bool = False  # bytes that were acknowledged as synced may be other ones, or gone
    wipes: bool = False  # each victim comes back with a new, empty disk
    halts: bool = False  # no victim does anything while it lasts
    cuts: bool = False  # nothing passes along its links while it lasts
    degrades: bool = False  # something is slower or less sure than it should be, yet up
    shifts_clock: bool = False  # the victims' clocks are wrong while it lasts
    syncs: bool = False  # no harm: what was written before is durable on each victim's disk

    def as_columns(self) -> dict[str, bool]:
        """By the names of the columns in FAULTS."""
        return asdict(self)
