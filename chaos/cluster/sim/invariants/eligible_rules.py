"""How an ISR, an ELR and a leader may change (KIP-966): E1-E4, E7, E9 and E11."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from chaos.cluster.sim.invariants.broken import Broken
from node.controller.image.partition import RECOVERING, Partition

Key = tuple[UUID, int]
ELIGIBLE_RULES = (
    "E1-isr-elr-disjoint",
    "E2-elr-below-min-isr",
    "E3-eligible-are-kept",
    "E4-elr-joined-from-isr",
    "E7-elr-elected-with-empty-isr",
    "E9-unclean-leader-recovers",
    "E11-elr-alone-keeps-epoch",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedChange:
    """`active`: members of the old ISR that could lead when the record was replayed."""

    key: Key
    before: Partition
    after: Partition
    active: frozenset[int]

    @property
    def name(self) -> str:
        return f"{self.key[0]}-{self.key[1]}"

    @property
    def elected(self) -> int | None:
        """The new leader, if it changed."""
        after = self.after
        return after.leader if after.has_leader and after.leader != self.before.leader else None

    @property
    def is_reassigned(self) -> bool:
        before, after = self.before, self.after
        ends = before.is_reassigning and not after.is_reassigning
        return ends or set(before.replicas) != set(after.replicas)

    @property
    def elected_outside(self) -> bool:
        before = self.before
        is_member = self.elected in (*before.isr, *before.elr)
        return self.elected is not None and not is_member and not self.is_reassigned


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedBatch:
    """Records that were committed together, and the state behind the last of them."""

    changes: Sequence[CommittedChange]
    partitions: Mapping[Key, Partition]  # the changed ones; all, where it sets a min ISR
    min_isr: Mapping[Key, int]  # of those, the effective one
    is_active: Callable[[int], bool]
    excused: frozenset[int]  # brokers that registered again, or are no longer registered
    has_elr: bool
    cleared: bool  # ELRs were cleared by a ClearElrRecord


def check_all(batch: CommittedBatch) -> None:
    """Raises Broken."""
    for key, state in batch.partitions.items():
        _check_state(f"{key[0]}-{key[1]}", state, batch.min_isr[key])
    for change in batch.changes:
        _check_joined_elr(change)
        _check_elr_alone(change)
        _check_election(batch, change)
        if batch.has_elr:
            _check_kept(batch, change)


def _check_state(name: str, state: Partition, min_isr: int) -> None:
    isr, elr = sorted(state.isr), sorted(state.elr)
    if set(isr) & set(elr):
        what = f"the ISR of {name} is {isr}, and its ELR {elr}"
        raise Broken("E1-isr-elr-disjoint", what)
    if elr and len(isr) >= min_isr:
        what = f"the ELR of {name} is {elr}, and its ISR {isr} has min ISR, {min_isr}"
        raise Broken("E2-elr-below-min-isr", what)
    if state.recovery == RECOVERING and len(isr) > 1:
        raise Broken("E9-unclean-leader-recovers", f"{name} is recovering, and its ISR is {isr}")


def _check_joined_elr(change: CommittedChange) -> None:
    before, after = change.before, change.after
    strange = (set(after.elr) - set(before.elr)) - (set(before.isr) - set(after.isr))
    if strange:
        what = f"{sorted(strange)} joins the ELR of {change.name}, and has not left its ISR"
        raise Broken("E4-elr-joined-from-isr", what)


def _check_elr_alone(change: CommittedChange) -> None:
    before, after = change.before, change.after
    rest = replace(
        after,
        elr=before.elr,
        last_known_elr=before.last_known_elr,
        leader_epoch=before.leader_epoch,
        partition_epoch=before.partition_epoch,
    )
    is_alone = rest == before and after.elr != before.elr
    if after.partition_epoch != before.partition_epoch + 1:
        what = f"{change.name} goes from partition epoch {before.partition_epoch} to "
        raise Broken("E11-elr-alone-keeps-epoch", f"{what}{after.partition_epoch} by one change")
    if is_alone and after.leader_epoch != before.leader_epoch:
        what = f"the ELR of {change.name} alone changes, from {sorted(before.elr)} to "
        what += f"{sorted(after.elr)}, and its leader epoch is {after.leader_epoch} now"
        raise Broken("E11-elr-alone-keeps-epoch", what)


def _check_election(batch: CommittedBatch, change: CommittedChange) -> None:
    before, after, elected = change.before, change.after, change.elected
    if change.elected_outside:
        if after.recovery != RECOVERING or after.isr != (elected,) or after.elr:
            what = f"n{elected} leads {change.name} after an unclean election, with the ISR "
            what += f"{sorted(after.isr)} and the ELR {sorted(after.elr)}"
            raise Broken("E9-unclean-leader-recovers", what)
    elif elected in before.elr and elected not in before.isr and not change.is_reassigned:
        left = sorted(each for each in change.active if batch.is_active(each))
        if left or after.isr != (elected,):
            what = f"n{elected} of the ELR is elected for {change.name}, where {left} of the ISR "
            what += f"could lead, and the ISR becomes {sorted(after.isr)}"
            raise Broken("E7-elr-elected-with-empty-isr", what)


def _check_kept(batch: CommittedBatch, change: CommittedChange) -> None:
    """No replica leaves ISR and ELR without a reason while they have fewer than min ISR members."""
    before, after = change.before, change.after
    left = {*after.isr, *after.elr}
    gone = {*before.isr, *before.elr} - left - batch.excused
    is_excused = batch.cleared or change.is_reassigned or change.elected_outside
    if gone and len(left) < batch.min_isr.get(change.key, 0) and not is_excused:
        what = f"{sorted(gone)} are neither in the ISR {sorted(after.isr)} of {change.name} nor in "
        raise Broken("E3-eligible-are-kept", f"{what}its ELR {sorted(after.elr)}, without a reason")
