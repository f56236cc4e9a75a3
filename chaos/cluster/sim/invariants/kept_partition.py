"""One partition on all its brokers: what was shown to consumers, and which replica may lead."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, KnownBatches, cut, holds
from node.controller.image.partition import RECOVERING, Partition
from node.ids import NodeId, Offset

Logs = dict[NodeId, KnownBatch]  # of brokers that are in the broker epoch that is committed
BrokerLife = tuple[NodeId, int]  # a broker, and the number of its life


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A partition as the metadata log has it, as far as some broker has replayed that."""

    state: Partition
    min_isr: int  # the effective one
    elr: bool  # whether eligible leader replicas are on (KIP-966)


@dataclass(eq=False, slots=True)
class KeptPartition:
    """`shown` ends at the true high watermark, the highest that any leader ever published."""

    name: str
    batches: KnownBatches = field(
        default_factory=lambda: KnownBatches(frozenset(), "P11-replicas-agree")
    )
    shown: KnownBatch = NOTHING
    _leaders: dict[int, BrokerLife] = field(default_factory=dict)  # by leader epoch
    _forgot: set[NodeId] = field(default_factory=set)  # since all in the ISR had everything
    _began: int = 0  # the last leader epoch in which loss was allowed

    def lead(self, life: BrokerLife, epoch: int, log: KnownBatch, promised: Promised) -> None:
        """A replica begins to lead: no other did in that epoch, nor another life of its own, and it
        has all that was shown. A replica that hears late of its past leadership need not have
        that."""
        known = self._leaders.setdefault(epoch, life)
        if known != life:
            what = f"n{life[0]} leads {self.name} in leader epoch {epoch}, as "
            other = "it did in another life" if known[0] == life[0] else f"n{known[0]} did"
            raise Broken("P1-one-leader-per-epoch", what + other)
        if epoch < max(self._leaders) or holds(log, self.shown):
            return
        if not self._may_forget(promised):
            what = f"n{life[0]} leads {self.name} in leader epoch {epoch}, and lacks {self.shown}"
            raise Broken("P10-leaders-hold-acknowledged", f"{what}, which was shown to consumers")
        self.shown, self._began = shared(log, self.shown), epoch

    def show(self, node: NodeId, epoch: int, log: KnownBatch, mark: Offset) -> None:
        """A leader publishes a high watermark; a deposed one may do so late."""
        if epoch < self._began:
            return
        batch = cut(log, mark)
        lower, higher = sorted((batch, self.shown), key=lambda one: one.end)
        if not holds(higher, lower):
            what = f"n{node} shows {batch} of {self.name}, and {self.shown} was shown, which is "
            raise Broken("P11-replicas-agree", f"{what}of another log")
        self.shown = higher

    def before(self, start: Offset) -> KnownBatch:
        """The deleted part of a log that begins at `start`: only what was shown can be deleted."""
        return cut(self.shown, start)

    def check_isr(self, leader: KnownBatch, mark: Offset, logs: Logs, promised: Promised) -> None:
        """All of the ISR have what is below its leader's high watermark (HS StrongIsr)."""
        batch = cut(leader, mark)
        for broker in promised.state.isr:
            log = logs.get(NodeId(broker))
            if log is not None and not holds(log, batch):
                what = f"the high watermark of {self.name} is {mark}, and n{broker}, which is in "
                raise Broken("P7-maximal-isr-holds-all", f"{what}the ISR, lacks {batch}")

    def check_kept_up(self, node: NodeId, mark: Offset, ends: Mapping[NodeId, Offset]) -> None:
        """`ends`: log ends of all replicas that may be waited for, as the leader knows them."""
        bound = min(ends.values())
        if mark < bound:
            what = f"n{node} leaves the high watermark of {self.name} at {mark}, and all that it "
            what += f"may wait for, {sorted(ends)}, have what is below {bound}"
            raise Broken("P18-high-watermark-keeps-up", what)

    def truncate(self, node: NodeId, log: KnownBatch, end: Offset, promised: Promised) -> None:
        """A follower truncates its log, but nothing that was shown."""
        common = shared(log, self.shown)
        if end < common.end and not self._may_forget(promised):
            what = f"n{node} truncates its log of {self.name} to {end}, and had {common}"
            raise Broken("P16-no-committed-record-cut", f"{what}, which was shown to consumers")

    def check_cut(
        self, node: NodeId, log: KnownBatch, end: int, mark: int, promised: Promised
    ) -> None:
        """A follower truncates its log to `end`, below its high watermark `mark`. Loss that was
        allowed when a leader was elected is allowed to each log that ends before that epoch,
        however late its broker comes back."""
        if log.epoch >= self._began and not self._may_forget(promised):
            what = f"n{node} truncates its log of {self.name} to {end}, and has a high watermark "
            raise Broken("P16-no-committed-record-cut", f"{what}of {mark}")

    def come_back(self, node: NodeId, before: KnownBatch, log: KnownBatch) -> None:
        """A new life found `log` on its disk, where its last one had `before`."""
        if holds(before, self.shown) and not holds(log, self.shown):
            self._forgot.add(node)

    def forgot(self, node: NodeId) -> bool:
        """Whether it came back without what was shown, since all replicas had everything."""
        return node in self._forgot

    def was_forgotten_since(self, epoch: int) -> bool:
        """Whether loss was allowed in a later leader epoch than that."""
        return epoch < self._began

    def recover(self, logs: Logs, promised: Promised) -> None:
        """Once all in the ISR have everything, earlier losses no longer count."""
        if set(promised.state.isr) == set(promised.state.replicas) and all(
            holds(logs.get(NodeId(broker), NOTHING), self.shown) for broker in promised.state.isr
        ):
            self._forgot.clear()

    def _may_forget(self, promised: Promised) -> bool:
        """Data survives min ISR - 1 unclean shutdowns with eligible leader replicas and without
        unclean elections (KIP-966)."""
        is_unclean = promised.state.recovery == RECOVERING
        return is_unclean or not promised.elr or len(self._forgot) >= promised.min_isr


def shared(one: KnownBatch, other: KnownBatch) -> KnownBatch:
    """The last batch in both logs."""
    while one is not other:
        longer, shorter = (one, other) if one.end >= other.end else (other, one)
        assert longer.prefix is not None, "all logs begin alike"
        one, other = longer.prefix, shorter
    return one
