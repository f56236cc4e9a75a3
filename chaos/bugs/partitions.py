"""Planted bugs in the controller's view of brokers and partitions: registrations, fencing, ISR
(P)."""

from collections.abc import Sequence
from dataclasses import replace

from chaos.bugs.planted import Planted
from node.broker.broker import Broker
from node.broker.replicas.isr import Isr, Proposal, RemoteReplica
from node.broker.replicas.replica import Leading, Replica
from node.controller import heartbeats, registration
from node.controller.decision import Decision, DecisionContext
from node.controller.heartbeats import BrokerSessions, _Session
from node.controller.image import Image, Partition
from node.controller.partitions import changes as partition_changes
from node.controller.partitions import isr_proposals
from node.controller.partitions.changes import without
from node.ids import NodeId, Offset
from node.records.metadata import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
)
from node.wire.alter_partition import ANY_EPOCH, IsrMember, PartitionResult
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

# P-BUSY-FENCE: a heartbeat that a busy controller handles late does not count: its sender is
# fenced (KAFKA-15019).


_heard_p_busy_fence = BrokerSessions.heard


def unless_it_is_late(
    self: BrokerSessions, image: Image, broker: int, metadata_offset: int, now_ns: int
) -> None:
    if broker not in self._sessions or self.is_live(broker, now_ns):
        _heard_p_busy_fence(self, image, broker, metadata_offset, now_ns)


P_BUSY_FENCE = Planted(owner=BrokerSessions, decision="heard", wrong=unless_it_is_late)


# P-EPOCH-BUMP: a process that registers again after a lost answer gets a new broker epoch
# (KAFKA-16952).


_as_it_should_p_epoch_bump = registration.register_broker


def always_anew(context: DecisionContext, request: BrokerRegistrationRequest) -> Decision:
    decision = _as_it_should_p_epoch_bump(context, request)
    epoch = context.next_offset
    records = [
        replace(each, broker_epoch=epoch) if isinstance(each, RegisterBrokerRecord) else each
        for each in decision.records
    ]
    return replace(decision, records=records, response=BrokerRegistrationResponse(epoch=epoch))


P_EPOCH_BUMP = Planted(owner=registration, decision="register_broker", wrong=always_anew)


# P-FENCED-ISR: all caught-up replicas that a leader proposes become the ISR, also fenced ones
# (KAFKA-13916; KIP-841, Motivation).


def anybody_registered(image: Image, isr: Sequence[IsrMember]) -> bool:
    return all(image.brokers.find(member.broker) is not None for member in isr)


def may_join(self: Broker, broker: int, epoch: int) -> bool:
    found = self.follower.image.brokers.find(broker)
    return found is not None and epoch in (-1, found.broker_epoch)


P_FENCED_ISR = Planted(
    owner=isr_proposals,
    decision="_are_eligible",
    wrong=anybody_registered,
    other=Planted(owner=Broker, decision="may_join", wrong=may_join),
)


# P-ISR-HASTY: a leader takes the ISR that it proposes for committed (KIP-497, Motivation).


def as_good_as_committed(self: Isr, proposal: Proposal) -> Isr:
    del self
    return Isr(committed=proposal.brokers, pending=proposal)


P_ISR_HASTY = Planted(owner=Isr, decision="proposing", wrong=as_good_as_committed)


# P-ISR-SHORT: a replica is proposed for the ISR with its first Fetch, whatever it lacks.


def whatever_it_has(self: Replica, leading: Leading, broker: NodeId) -> Proposal | None:
    epoch = leading.followers[broker].broker_epoch
    is_in = broker in leading.isr.maximal
    if is_in or leading.isr.pending is not None or not self._may_join(broker, epoch):
        return None
    return self._propose(leading, (*leading.isr.committed, broker))


P_ISR_SHORT = Planted(owner=Replica, decision="_expansion", wrong=whatever_it_has)


# P-NEVER-FENCED: a new active controller starts the sessions of known brokers only with their
# first heartbeats: a broker that is silent by then is never fenced (KAFKA-18138).


_heard_p_never_fenced = BrokerSessions.heard


def begin(self: BrokerSessions, image: Image, session_ms: int, now_ns: int) -> None:
    del image, now_ns
    self._timeout_ns = session_ms * 1_000_000
    self._sessions = {}


def follow(self: BrokerSessions, image: Image, now_ns: int) -> None:
    del now_ns
    unfenced = {each.broker_id for each in image.brokers.all() if not each.fenced}
    for broker in self._sessions.keys() - unfenced:
        del self._sessions[broker]


def heard(
    self: BrokerSessions, image: Image, broker: int, metadata_offset: int, now_ns: int
) -> None:
    found = image.brokers.find(broker)
    if found is not None and not found.fenced:
        self._sessions.setdefault(broker, _Session(now_ns))
    _heard_p_never_fenced(self, image, broker, metadata_offset, now_ns)


P_NEVER_FENCED = Planted(
    owner=BrokerSessions,
    decision="__init__",
    wrong=begin,
    other=Planted(
        owner=BrokerSessions,
        decision="follow",
        wrong=follow,
        other=Planted(owner=BrokerSessions, decision="heard", wrong=heard),
    ),
)


# P-NOT-DEMOTED: a broker that asks for a controlled shutdown goes on leading (KAFKA-14296).


_as_it_should_p_not_demoted = heartbeats._enter_shutdown


def and_lead_on(context: DecisionContext, found: RegisterBrokerRecord) -> list[MetadataRecord]:
    records = _as_it_should_p_not_demoted(context, found)
    return [each for each in records if isinstance(each, BrokerRegistrationChangeRecord)]


P_NOT_DEMOTED = Planted(owner=heartbeats, decision="_enter_shutdown", wrong=and_lead_on)


# P-REASSIGN: a reassignment is done as soon as one of its targets is in the ISR; the others are
# not in sync, and the old replicas are removed (KAFKA-15665).


def with_any_target(proposed: Partition, _: int) -> Partition:
    targets = without(proposed.replicas, *proposed.removing)
    isr = without(proposed.isr, *proposed.removing)
    if not proposed.is_reassigning or not isr:
        return proposed
    elr = without(proposed.elr, *proposed.removing)
    moved = proposed.moved(targets, proposed.directory)
    return replace(moved, isr=isr, removing=(), adding=(), elr=elr)


P_REASSIGN = Planted(
    owner=partition_changes, decision="_complete_reassignment", wrong=with_any_target
)


# P-STALE-EPOCH: a leader keeps sending the broker epoch of a follower's first Fetch, and neither
# it nor the controller compares that with the registration (KAFKA-14617).


_fetched, _may_join = RemoteReplica.fetched, Broker.may_join


def by_the_first(
    self: RemoteReplica, offset: Offset, leader_end: Offset, broker_epoch: int, now_ns: int
) -> None:
    first = broker_epoch if self.broker_epoch == ANY_EPOCH else self.broker_epoch
    _fetched(self, offset, leader_end, first, now_ns)


def in_any_epoch(self: Broker, broker: int, _epoch: int) -> bool:
    return _may_join(self, broker, ANY_EPOCH)


def any_active_broker(image: Image, isr: Sequence[IsrMember]) -> bool:
    return all(image.brokers.is_active(member.broker) for member in isr)


P_STALE_EPOCH = Planted(
    owner=RemoteReplica,
    decision="fetched",
    wrong=by_the_first,
    other=Planted(
        owner=Broker,
        decision="may_join",
        wrong=in_any_epoch,
        other=Planted(owner=isr_proposals, decision="_are_eligible", wrong=any_active_broker),
    ),
)


# P-STAY-FENCED: a fenced broker with replicas is never unfenced.


_next_state = heartbeats._next_state


def unless_it_has_replicas(
    context: DecisionContext,
    found: RegisterBrokerRecord,
    request: BrokerHeartbeatRequest,
    is_caught_up: bool,
) -> tuple[list[MetadataRecord], bool, bool]:
    states = context.image.topics.partitions()
    has_replicas = any(request.broker in state.replicas for _, state in states)
    if found.fenced and has_replicas and not request.want_shutdown:
        return [], True, False
    return _next_state(context, found, request, is_caught_up)


P_STAY_FENCED = Planted(owner=heartbeats, decision="_next_state", wrong=unless_it_has_replicas)


# P-TOLD-ISR: the ISR in the controller's answer is used at once, with the min ISR that the leader
# knew until then; the ELR was decided by another min ISR (KIP-966).


def as_it_comes(
    self: Replica, leading: Leading, _proposal: Proposal, result: PartitionResult
) -> None:
    assert self.state is not None
    leading.isr = Isr(committed=result.isr)
    self.state = replace(self.state, isr=result.isr, partition_epoch=result.partition_epoch)


P_TOLD_ISR = Planted(owner=Replica, decision="_granted", wrong=as_it_comes)
