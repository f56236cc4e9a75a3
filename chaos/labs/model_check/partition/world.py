"""The explored brokers: each with its replica, by the node's own code, and its log; what is under
way between them and the controller; and what was shown to clients."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from chaos.labs.model_check.partition.controller import (
    ALL,
    BASE,
    FIRST_EPOCH,
    FIRST_LEADER,
    Decided,
    first_decided,
)
from node.broker.replicas.isr import Proposal
from node.broker.replicas.replica import Leading, Replica
from node.controller.partitions.unclean_elections import Answer, Recovery
from node.ids import Epoch, NodeId, Offset
from node.storage.checkpoints import LeaderEpochs
from node.wire.alter_partition import PartitionResult

LAG = 1_000  # replica.lag.time.max.ms, in the units of `PartitionWorld.now`
# The leader epoch of each record: with its offset it says which one it is.
EpochLog = tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class ReplicaMachine:
    """A broker. `replica`: None while it is off. `vouched`: the broker epoch that it kept at a
    clean shutdown, else -1. `heard`: how many batches of `PartitionWorld.log` it has replayed,
    while it leads; all others have replayed every one."""

    replica: Replica | None
    log: EpochLog
    vouched: int = -1
    heard: int = 1
    asked: Proposal | None = None  # on its way to the controller
    answer: tuple[Proposal, PartitionResult] | None = None  # and back

    @property
    def leading(self) -> Leading | None:
        return None if self.replica is None else self.replica.leading

    def copied(self) -> "ReplicaMachine":
        """With a replica of its own; frozen values are shared."""
        return ReplicaMachine(
            replica=None if self.replica is None else _copied(self.replica),
            log=self.log,
            vouched=self.vouched,
            heard=self.heard,
            asked=self.asked,
            answer=self.answer,
        )

    def key(self, now: int) -> object:
        """All that decides what it can do next."""
        replica, leading = self.replica, self.leading
        if replica is None:
            return self.log, self.vouched
        if leading is None:
            return self.log, replica.high_watermark, replica.leader_epoch
        return (
            self.log,
            replica.high_watermark,
            self.heard,
            replica._min_isr,
            replica.state,
            leading.isr,
            leading.epoch_start,
            tuple(
                (
                    each.end,
                    each.broker_epoch,
                    each.is_caught_up(replica.end, LAG, now),
                    each._leader_end,
                )
                for each in leading.followers.values()
            ),
            self.asked,
            self.answer,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPast:
    """`shown`: all that was below the high watermark of a leader. The sets are brokers since all
    were last in the ISR; the numbers are what was used of the bounds."""

    shown: EpochLog
    unclean: frozenset[NodeId] = frozenset()  # they ended uncleanly
    lossy: frozenset[NodeId] = frozenset()  # of these, by a power cut
    unregistered: frozenset[NodeId] = frozenset()  # the controller does not know of its power cut
    least: int  # the lowest min ISR that was in force
    records: int = 0
    alters: int = 0
    fences: int = 0
    ends: int = 0


@dataclass(slots=True, kw_only=True)
class PartitionWorld:
    """`log`: the newest batches of the metadata log, from the oldest on that a leader has replayed
    last. Forks share machines until one of them is about to change its own."""

    log: list[Decided]
    machines: dict[NodeId, ReplicaMachine]
    past: PartitionPast
    recovery: dict[int, Answer] = field(default_factory=dict)  # answers, in this leader epoch
    now: int = 1_000_000
    _owned: set[NodeId] = field(default_factory=set)

    @property
    def decided(self) -> Decided:
        return self.log[-1]

    def fork(self) -> "PartitionWorld":
        return PartitionWorld(
            log=[*self.log],
            machines={**self.machines},
            past=self.past,
            recovery={**self.recovery},
            now=self.now,
        )

    def own(self, node: NodeId) -> ReplicaMachine:
        """The machine, to be changed."""
        if node not in self._owned:
            self._owned.add(node)
            self.machines[node] = self.machines[node].copied()
        return self.machines[node]

    def running(self) -> Iterator[tuple[NodeId, ReplicaMachine, Replica]]:
        for node, machine in self.machines.items():
            if machine.replica is not None:
                yield node, machine, machine.replica

    def asked_where_logs_end(self) -> Recovery:
        epoch = self.decided.partition.leader_epoch
        return Recovery(leader_epoch=epoch, begun_ns=0, answers={**self.recovery})

    # --- the metadata log ---

    def push(self, decided: Decided) -> None:
        """A batch is committed, if it changes anything; who does not lead replays it at once."""
        before = self.decided
        if decided == before:
            return
        is_other_epoch = decided.partition.leader_epoch != before.partition.leader_epoch
        if is_other_epoch:
            self.recovery = {}
        by = BASE - decided.partition.partition_epoch
        self._shift(by)
        self.log.append(decided.shifted(by))
        self._count(before, self.decided)
        for node, machine in self.machines.items():
            if machine.leading is None and is_other_epoch:
                self._follow(node)
        self._forget_replayed()

    def hear(self, node: NodeId) -> None:
        """A leader replays one batch more; all of them, if it leads no more."""
        machine = self.own(node)
        self._replay(machine, machine.heard)
        if machine.leading is None:
            machine.asked = machine.answer = None
            self._follow(node)
        self._forget_replayed()

    def start(self, node: NodeId) -> None:
        """A process begins, and replays all that is committed."""
        machine = self.own(node)
        machine.replica, machine.vouched = replica_of(node, machine.log, shown=0), -1
        self._follow(node)

    def _follow(self, node: NodeId) -> None:
        if self.machines[node].replica is not None:
            self._replay(self.own(node), len(self.log) - 1)

    def _replay(self, machine: ReplicaMachine, batch: int) -> None:
        assert machine.replica is not None, "it is off"
        now = self.log[batch]
        machine.heard = batch + 1
        machine.replica._may_join = now.may_join
        machine.replica.update(now.partition, now.min_isr, self.now)
        machine.replica.look_again(self.now)

    def _count(self, before: Decided, now: Decided) -> None:
        past = replace(self.past, least=min(self.past.least, now.effective_min_isr))
        if len(before.partition.isr) < len(ALL) <= len(now.partition.isr):
            none = frozenset[NodeId]()
            past = replace(past, unclean=none, lossy=none, least=now.effective_min_isr)
        self.past = past

    def _forget_replayed(self) -> None:
        """The oldest batches, but for the last one that each leader has replayed."""
        leaders = [node for node, machine in self.machines.items() if machine.leading is not None]
        known = [self.machines[node].heard for node in leaders]
        gone = min(known, default=len(self.log)) - 1
        del self.log[:gone]
        for node in leaders if gone else ():
            self.own(node).heard -= gone

    # --- partition epochs are told from the newest one ---

    def _shift(self, by: int) -> None:
        if not by:
            return
        self.log = [each.shifted(by) for each in self.log]
        for node, machine in self.machines.items():
            if machine.leading is not None:
                _shift_leader(self.own(node), by)

    # --- states that go on alike ---

    def key(self) -> object:
        return (
            tuple(self.log),
            tuple(each.key(self.now) for each in self.machines.values()),
            self.past,
            tuple(sorted(self.recovery.items())) if self.recovery else (),
        )


def _shift_leader(machine: ReplicaMachine, by: int) -> None:
    replica, leading = machine.replica, machine.leading
    assert replica is not None
    assert replica.state is not None
    assert leading is not None
    epoch = replica.state.partition_epoch + by
    replica.state = replace(replica.state, partition_epoch=epoch)
    pending = leading.isr.pending
    moved = None if pending is None else _shifted(pending, by)
    if machine.asked is not None:
        is_pending = machine.asked is pending
        machine.asked = moved if is_pending else _shifted(machine.asked, by)
    if machine.answer is not None:
        proposal, result = machine.answer
        proposed = moved if proposal is pending else None
        told = replace(result, partition_epoch=result.partition_epoch + by)
        machine.answer = (
            proposed or _shifted(proposal, by),
            told if result.partition_epoch else result,
        )
    leading.isr = replace(leading.isr, pending=moved)


def replica_of(node: NodeId, log: EpochLog, shown: int) -> Replica:
    """A replica with that log, which knows of no leader."""
    epochs = LeaderEpochs()
    for offset, epoch in enumerate(log):
        epochs.assign(Epoch(epoch), Offset(offset))
    return Replica(
        node,
        end=Offset(len(log)),
        epochs=epochs,
        high_watermark=Offset(shown),
        may_join=lambda _broker, _epoch: True,  # until it has replayed who is there
        lag_ns=LAG,
    )


def begin(min_isr: int) -> PartitionWorld:
    """All hold one record, and know that."""
    decided, log = first_decided(min_isr), (FIRST_EPOCH,)
    machines = {
        node: ReplicaMachine(replica=replica_of(node, log, shown=1), log=log) for node in ALL
    }
    world = PartitionWorld(
        log=[decided],
        machines=machines,
        past=PartitionPast(shown=log, least=decided.effective_min_isr),
    )
    for node in ALL:
        world._follow(node)
    leader = world.machines[FIRST_LEADER].replica
    assert leader is not None
    for node in ALL[1:]:
        leader.fetched_by(node, Offset(1), decided.broker(node).epoch, world.now)
    return world


def _copied(known: Replica) -> Replica:
    replica = Replica.__new__(Replica)
    replica.__dict__.update(known.__dict__)
    epochs = known._epochs
    replica._epochs = LeaderEpochs(epochs=[*epochs.epochs], starts=[*epochs.starts])
    leading = known.leading
    if leading is not None:
        followers = {node: copy.copy(each) for node, each in leading.followers.items()}
        replica.leading = Leading(
            epoch_start=leading.epoch_start,
            first_watermark=leading.first_watermark,
            followers=followers,
            isr=leading.isr,
        )
    return replica


def _shifted(proposal: Proposal, by: int) -> Proposal:
    return replace(proposal, partition_epoch=proposal.partition_epoch + by)
