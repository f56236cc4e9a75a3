"""The ISR as a leader goes by it (KIP-497, KIP-841, `PartitionState`).

A proposal that is on its way to the controller may be granted at any time, and may be refused. So
until the answer the leader counts on every replica that may be in the ISR: the *maximal* ISR, that
is the committed one and the proposed one together. That it has room for min.insync.replicas is
asked of the committed one (KIP-966).
"""

from dataclasses import replace

from node.lazy_dataclass import dataclass
from node.wire.alter_partition import IsrMember


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Another ISR, for the partition as it was in these epochs."""

    isr: tuple[IsrMember, ...]
    leader_epoch: int
    partition_epoch: int

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(member.broker for member in self.isr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isr:
    """`pending` is out, or was answered in a way that leaves it to the metadata log whether it took
    effect, and beside what min ISR."""

    committed: tuple[int, ...]
    pending: Proposal | None = None

    @property
    def maximal(self) -> frozenset[int]:
        proposed = () if self.pending is None else self.pending.brokers
        return frozenset((*self.committed, *proposed))

    def proposing(self, proposal: Proposal) -> "Isr":
        """One at a time."""
        assert self.pending is None, f"{self.pending} is not answered"
        return replace(self, pending=proposal)

    def reverted(self) -> "Isr":
        """As it was last committed (KIP-841)."""
        return replace(self, pending=None)
