"""The changes of partitions and brokers in the metadata log. Each record is judged once, when the
first broker replays it, and before any broker acts upon it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.eligible_rules import (
    ELIGIBLE_RULES,
    CommittedBatch,
    CommittedChange,
    Key,
    check_all,
)
from node.controller.image import Image
from node.controller.image.partition import Partition
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
            yield CommittedChange(key=key, before=before, after=after, active=frozenset(active))

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
        who = f"n{life[0]}, registered in broker epoch {life[1]}"
        is_clean = claim.previous == registered.before != -1
        if is_clean and claim.lost is not None:
            what = f"{who}, claims a clean shutdown, and lacks records that it had of {claim.lost}"
            raise Broken("E6-lost-bytes-are-not-clean", what)
        if not is_clean and registered.kept:
            topic, index = registered.kept[0]
            what = f"{who} after an unclean shutdown, stays in ISR or ELR of {topic}-{index}"
            raise Broken("E5-unclean-registration-drops", what)
