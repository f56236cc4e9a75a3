"""Judges the changes of partitions and brokers in the metadata log: each record once, when the
first broker replays it, and before any broker acts upon it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from chaos.cluster.sim.invariants.rules import Broken, Looked
from node.controller.image import Image
from node.controller.image.topics import RECOVERING, Partition
from node.ids import NodeId, Offset
from node.records.batch import Batch, split_batches
from node.records.metadata import (
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnknownRecord,
    UnregisterBrokerRecord,
    decode_metadata,
)
from node.storage.view import LogView

# How an ISR, an ELR and a leader may change (KIP-966): E1-E4, E7, E9 and E11; and when a
# reassignment may end.


Key = tuple[UUID, int]
ELIGIBLE_RULES = (
    "E1-isr-elr-disjoint",
    "E2-elr-below-min-isr",
    "E3-eligible-are-kept",
    "E4-elr-joined-from-isr",
    "E7-elr-elected-with-empty-isr",
    "E9-unclean-leader-recovers",
    "E11-elr-alone-keeps-epoch",
    "reassigned-when-in-sync",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedChange:
    """`active`: members of the old ISR that could lead when the record was replayed. `min_isr`: the
    effective one then."""

    key: Key
    before: Partition
    after: Partition
    active: frozenset[int]
    min_isr: int

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
        _check_reassigned(change)
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


def _check_reassigned(change: CommittedChange) -> None:
    """It completes with all targets in the ISR, and is cancelled with at least min ISR of the
    former replicas in it (KIP-966, "Other behaviors" 4)."""
    before, after = change.before, change.after
    if not change.is_reassigned or after.is_reassigning:
        return
    isr, replicas = sorted(after.isr), sorted(after.replicas)
    if {*replicas} == {*before.replicas} - {*before.adding}:
        if len(isr) < change.min_isr:
            what = f"the reassignment of {change.name} is cancelled with the ISR {isr}, which has "
            what += f"not min ISR, {change.min_isr}"
            raise Broken("reassigned-when-in-sync", what)
    elif not {*replicas} <= {*isr}:
        what = f"{change.name} was reassigned to {replicas}, and its ISR is {isr}"
        raise Broken("reassigned-when-in-sync", what)


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


MIN_ISR = "min.insync.replicas"
_READ_BYTES = 1 << 20

BrokerEpoch = tuple[NodeId, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrJoin:
    """A proposal that a replica join an ISR, for one state of the partition."""

    key: Key
    leader_epoch: int
    partition_epoch: int
    replica: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a broker's process claims of the one before. `previous`: the broker epoch in which that
    one shut down cleanly, -1: none. `lost`: a partition that lacks records which that one had."""

    previous: int
    lost: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Registered:
    """-1: it had no earlier one. `kept`: where it is in ISR or ELR behind that batch, with ELR
    on."""

    before: int
    kept: Sequence[Key]


@dataclass(eq=False, slots=True)
class CommittedChanges:
    """`min_isr` is that of topics without a value of their own."""

    min_isr: int
    looked: Looked = field(default_factory=Counter)
    image: Image = field(default_factory=Image)
    offset: Offset = Offset(0)  # all below is replayed
    _leaders: dict[tuple[Key, int], int] = field(default_factory=dict)  # by leader epoch
    _joins: dict[IsrJoin, set[int]] = field(default_factory=dict)  # by which broker epochs
    _claims: dict[BrokerEpoch, Claim] = field(default_factory=dict)
    _registered: dict[BrokerEpoch, _Registered] = field(default_factory=dict)

    def follow(self, log: LogView, applied: Offset, image: Image) -> None:
        """Judge a broker that has replayed all below `applied` into `image`. Raises Broken."""
        if applied > self.offset and log.start() > self.offset:
            # A snapshot left out what is between the two.
            self.image, self.offset = image.copy(), applied
        while self.offset < applied:
            for batch in split_batches(log.read(self.offset, _READ_BYTES)):
                if batch.header.base_offset < applied:
                    self._replay(batch)

    def leader_in(self, key: Key, epoch: int) -> int | None:
        """None: no record has that leader epoch; a snapshot may have left it out."""
        state = self.image.topics.partition(*key)
        if state is not None and state.leader_epoch == epoch:
            return state.leader
        return self._leaders.get((key, epoch))

    def propose(self, joining: IsrJoin, broker_epoch: int) -> None:
        self._joins.setdefault(joining, set()).add(broker_epoch)

    def claim(self, broker: NodeId, epoch: int, claim: Claim) -> None:
        """A broker registered and got `epoch`. Raises Broken."""
        self._claims[broker, epoch] = claim
        self._judge_life((broker, epoch))

    def effective_min_isr(self, image: Image, key: Key, state: Partition) -> int:
        """The configured value, at most the number of replicas."""
        topic = image.topics.find(key[0])
        configured = None if topic is None else image.topic_config(topic.name, MIN_ISR)
        return min(self.min_isr if configured is None else int(configured), len(state.replicas))

    # --- one batch ---

    def _replay(self, batch: Batch) -> None:
        self.offset = batch.header.next_offset
        if batch.header.is_control:
            return
        records = [decode_metadata(value) for value in batch.values()]
        registrations = [each for each in records if isinstance(each, RegisterBrokerRecord)]
        before = {each.broker_id: self._epoch_of(each.broker_id) for each in registrations}
        changes = list(self._changes(records))
        for change in changes:
            self._check_joined(change)
        for rule in ELIGIBLE_RULES if changes else ():
            self.looked[rule] += len(changes)
        check_all(self._behind(records, changes))
        for each in registrations:
            self._register(each, before[each.broker_id])

    def _changes(
        self, records: Sequence[MetadataRecord | UnknownRecord]
    ) -> Iterator[CommittedChange]:
        """The image is that behind the last of them."""
        for record in records:
            if not isinstance(record, PartitionChangeRecord):
                self.image.replay(record)
                continue
            key = record.topic_id, record.partition_id
            before = self.image.topics.partition(*key)
            assert before is not None, f"a change of {key}, which does not exist"
            self._leaders[key, before.leader_epoch] = before.leader
            active = {each for each in before.isr if self.image.brokers.is_active(each)}
            self.image.replay(record)
            after = self.image.topics.partition(*key)
            assert after is not None
            yield CommittedChange(
                key=key,
                before=before,
                after=after,
                active=frozenset(active),
                min_isr=self.effective_min_isr(self.image, key, after),
            )

    def _behind(
        self,
        records: Sequence[MetadataRecord | UnknownRecord],
        changes: Sequence[CommittedChange],
    ) -> CommittedBatch:
        sets = any(isinstance(each, ConfigRecord) and each.name == MIN_ISR for each in records)
        keys = [change.key for change in changes]
        partitions = dict(self.image.topics.partitions()) if sets else self._found(keys)
        return CommittedBatch(
            changes=changes,
            partitions=partitions,
            min_isr={
                key: self.effective_min_isr(self.image, key, state)
                for key, state in partitions.items()
            },
            is_active=self.image.brokers.is_active,
            excused=frozenset(
                each.broker_id
                for each in records
                if isinstance(each, RegisterBrokerRecord | UnregisterBrokerRecord)
            ),
            has_elr=self.image.has_elr,
            cleared=any(isinstance(each, ClearElrRecord) for each in records),
        )

    def _found(self, keys: Sequence[Key]) -> Mapping[Key, Partition]:
        found = ((key, self.image.topics.partition(*key)) for key in keys)
        return {key: state for key, state in found if state is not None}

    # --- P4 ---

    def _check_joined(self, change: CommittedChange) -> None:
        """An elected replica joins by its election; without a seen proposal nothing is judged."""
        before, after = change.before, change.after
        for broker in set(after.isr) - set(before.isr):
            is_elected = broker == after.leader != before.leader
            joining = IsrJoin(
                key=change.key,
                leader_epoch=before.leader_epoch,
                partition_epoch=before.partition_epoch,
                replica=broker,
            )
            proved, registered = self._joins.pop(joining, set()), self._epoch_of(broker)
            if proved and registered not in proved and not is_elected:
                what = (
                    f"n{broker} joins the ISR of {change.name} by a proposal for its broker epoch "
                )
                what += f"{max(proved)}, and is registered in {registered}"
                raise Broken("P4-joined-by-this-life", what)

    # --- E5 and E6 ---

    def _epoch_of(self, broker: int) -> int:
        found = self.image.brokers.find(broker)
        return -1 if found is None else found.broker_epoch

    def _register(self, record: RegisterBrokerRecord, before: int) -> None:
        broker = NodeId(record.broker_id)
        if record.broker_epoch == before:
            return  # the same process, once more
        kept = [
            key
            for key, state in self.image.topics.partitions()
            if self.image.has_elr and broker in (*state.isr, *state.elr)
        ]
        self._registered[broker, record.broker_epoch] = _Registered(before=before, kept=kept)
        self._judge_life((broker, record.broker_epoch))

    def _judge_life(self, life: BrokerEpoch) -> None:
        """Judged once both its claim and its registration are known."""
        claim, registered = self._claims.get(life), self._registered.get(life)
        if claim is None or registered is None:
            return
        del self._claims[life], self._registered[life]
        broker = f"n{life[0]}, registered in broker epoch {life[1]}"
        is_clean = claim.previous == registered.before != -1
        if is_clean and claim.lost is not None:
            what = (
                f"{broker}, claims a clean shutdown and lacks records that it had of {claim.lost}"
            )
            raise Broken("E6-lost-bytes-are-not-clean", what)
        if not is_clean and registered.kept:
            topic, index = registered.kept[0]
            what = f"{broker} after an unclean shutdown, stays in ISR or ELR of {topic}-{index}"
            raise Broken("E5-unclean-registration-drops", what)
