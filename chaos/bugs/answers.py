"""Planted bugs in answers to clients and brokers (A): acknowledgements, errors and returned
values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

from chaos.bugs.planted import Planted
from node.broker import broker
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.broker.replicas.producers import Producers
from node.broker.replicas.replica import Replica
from node.broker.requests import fetch as fetch_requests
from node.broker.requests.fetch import FetchRequests
from node.broker.requests.offsets import ends_of_epochs
from node.controller import heartbeats, resource_configs, writes
from node.controller.config_definitions import METRICS_DEFINITIONS
from node.controller.controller import Controller
from node.controller.decision import Decision, DecisionContext, RefusedError
from node.controller.image import Image
from node.controller.partitions import isr_proposals
from node.controller.registration import at_epoch
from node.errors import ErrorCode
from node.ids import NO_EPOCH, ConnectionId, Now, Offset
from node.records.batch import BatchHeader
from node.records.metadata import ConfigRecord, RegisterBrokerRecord
from node.storage.producers import NO_PRODUCER, KnownProducers
from node.wire import frames
from node.wire.alter_partition import IsrMember
from node.wire.api import Api
from node.wire.apis import Response, WriteRequest
from node.wire.configs import DESCRIBE_CONFIGS, AlterConfigsRequest, ConfigChange, ResourceChange
from node.wire.frames import RequestHeader
from node.wire.offsets import EpochEnd, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from node.wire.partition_fetch import (
    CONSUMER,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
)
from node.wire.refusals import refused
from node.wire.topic_changes import CreatePartitionsRequest

# A-ACK-EARLY: acks=all is acknowledged once the leader has the records, as acks=1 is (KAFKA-6361:
# acknowledged by a leader that did not know yet that it was deposed).


def once_the_leader_has_it(self: Replica, end: Offset) -> ErrorCode | None:
    """Nothing is lost unless the leader fails at once."""
    return ErrorCode.NONE if end <= self.end else None


A_ACK_EARLY = Planted(owner=Replica, decision="acknowledgement", wrong=once_the_leader_has_it)


# A-ACK-WRITTEN: a change of configurations is acknowledged once it is decided, not once it is
# committed.


_as_it_should_a_ack_written = Controller.write


def once_it_is_decided(
    self: Controller, connection: ConnectionId, request: WriteRequest, now: Now
) -> Response | None:
    """It is committed all the same, a moment later, unless its leader fails first."""
    response = _as_it_should_a_ack_written(self, connection, request, now)
    if response is None and isinstance(request, AlterConfigsRequest):
        write = self._writes.find(connection)
        if write is not None:
            self._writes.respond(connection, write.response)
    return response


A_ACK_WRITTEN = Planted(owner=Controller, decision="write", wrong=once_it_is_decided)


# A-CUT-SHORT: now and then a DescribeConfigs answer lacks its last byte, which says that no tagged
# fields follow (KIP-482).


ONE_IN = 100
_HEADER_BYTES = 5  # of the answer: its correlation id, and that no tagged fields follow

_packed = frames.packed_response


def cut_short(api: Api, header: RequestHeader, response: Any) -> bytes:
    """Chosen by the answers' bytes, so that a seed gives the same again."""
    whole = _packed(api, header, response) or frames.written_response(api, header, response)
    unlucky = api is DESCRIBE_CONFIGS and crc32(whole[_HEADER_BYTES:]) % ONE_IN == 0
    return whole[:-1] if unlucky else whole


A_CUT_SHORT = Planted(owner=frames, decision="packed_response", wrong=cut_short)


# A-DELETE-EARLY: a deletion of records is acknowledged once the leader has done it, while
# followers still have records that another leader would bring back (KIP-107: the low watermark of
# all).


def of_the_leader_alone(self: Replica) -> Offset | None:
    return self.start


A_DELETE_EARLY = Planted(owner=Replica, decision="low_watermark", wrong=of_the_leader_alone)


# A-DENY-CONTROL: an active controller answers NOT_CONTROLLER while one of its writes is not
# committed.


_as_it_should_a_deny_control = Controller.write


def once_all_is_committed(
    self: Controller, connection: ConnectionId, request: WriteRequest, now: Now
) -> Response | None:
    if isinstance(request, AlterConfigsRequest) and self.is_active and self._appended:
        return refused(request, ErrorCode.NOT_CONTROLLER, "not now")
    return _as_it_should_a_deny_control(self, connection, request, now)


A_DENY_CONTROL = Planted(owner=Controller, decision="write", wrong=once_all_is_committed)


# A-DENY-LEAD: while the controller has not answered its AlterPartition, a leader answers that it
# does not lead; clients look for another, and find it again.


_as_it_should_a_deny_lead = Replica.refusal


def until_it_is_answered(
    self: Replica, epoch: int = NO_EPOCH, *, may_follow: bool = False
) -> ErrorCode:
    if self.leading is not None and self.leading.isr.pending is not None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return _as_it_should_a_deny_lead(self, epoch, may_follow=may_follow)


A_DENY_LEAD = Planted(owner=Replica, decision="refusal", wrong=until_it_is_answered)


# A-DONE-ANYWAY: a request that is only to be validated is carried out (KIP-339,
# `ValidateOnly`).


_as_it_should_a_done_anyway = Controller.write


def altered_anyway(
    self: Controller, connection: ConnectionId, request: WriteRequest, now: Now
) -> Response | None:
    """The answer is the same, a little later."""
    if isinstance(request, AlterConfigsRequest):
        request = replace(request, validate_only=False)
    return _as_it_should_a_done_anyway(self, connection, request, now)


A_DONE_ANYWAY = Planted(owner=Controller, decision="write", wrong=altered_anyway)


# A-EPOCH-END: OffsetForLeaderEpoch for an older epoch returns the log end, so that no consumer
# detects the truncation of what it has read (KIP-320).


def at_the_end(
    replicas: ReplicaManager, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    def later(found: EpochEnd) -> EpochEnd:
        held = replicas.find(found.partition)
        return found if held is None or found.end < 0 else replace(found, end=held.replica.end)

    told = ends_of_epochs(replicas, request)
    return OffsetForLeaderEpochResponse(partitions=tuple(map(later, told.partitions)))


A_EPOCH_END = Planted(owner=broker, decision="ends_of_epochs", wrong=at_the_end)


# A-GROWN-UNWRITTEN: a controller acknowledges partitions that it has not written, as it has no
# broker for them yet (any success that stands for 'later').


_as_it_should_a_grown_unwritten = writes._decide


def later(context: DecisionContext, request: WriteRequest) -> Decision:
    decision = _as_it_should_a_grown_unwritten(context, request)
    if isinstance(request, CreatePartitionsRequest):
        return replace(decision, records=())
    return decision


A_GROWN_UNWRITTEN = Planted(owner=writes, decision="_decide", wrong=later)


# A-LENIENT: values of configs are accepted without validation (KAFKA-13490, before which a quorum
# stored any value for a topic).


SET = 0

_as_it_should_a_lenient = resource_configs._record


def taken_as_it_is(
    resource: ResourceChange, change: ConfigChange, current: str | None
) -> ConfigRecord:
    """All else is still validated: deletions, lists, and unknown configs."""
    if change.operation != SET or change.value is None or change.name not in METRICS_DEFINITIONS:
        return _as_it_should_a_lenient(resource, change, current)
    return ConfigRecord(
        resource_type=resource.type,
        resource_name=resource.name,
        name=change.name,
        value=change.value,
    )


A_LENIENT = Planted(owner=resource_configs, decision="_record", wrong=taken_as_it_is)


# A-OUT-OF-ORDER: a new leader knows no idempotent producers, and refuses those that continue their
# sequence (KIP-360; KAFKA-5793).


_as_it_knows, _as_it_should_a_out_of_order = ReplicaManager.producers, Producers.refusal


def of_this_reign(self: ReplicaManager, held: HostedPartition) -> Producers:
    """Their earlier batches in the log are ignored."""
    if held.log not in self._producers:
        begin = 0 if held.replica.leading is None else held.replica.leading.epoch_start
        reign = KnownProducers()
        for id_, known in _as_it_knows(self, held).logged:
            for each in known.batches:
                if each.base >= begin:
                    reign.restored(id_, known.epoch, each.time_ms, each)
        self._producers[held.log] = Producers(reign)
    return self._producers[held.log]


def from_the_beginning(self: Producers, header: BatchHeader) -> ErrorCode:
    is_unknown = header.producer_id != NO_PRODUCER and self.find(header.producer_id) is None
    if is_unknown and header.base_sequence != 0:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return _as_it_should_a_out_of_order(self, header)


A_OUT_OF_ORDER = Planted(
    owner=ReplicaManager,
    decision="producers",
    wrong=of_this_reign,
    other=Planted(owner=Producers, decision="refusal", wrong=from_the_beginning),
)


# A-OUT-OF-RANGE: a leader that does not know its high watermark yet answers consumers with a
# higher offset OFFSET_OUT_OF_RANGE, and they reset (KAFKA-7897, KIP-207).


_as_it_should_a_out_of_range = FetchRequests._refusal


def by_the_high_watermark(
    self: FetchRequests,
    request: PartitionsFetchRequest,
    requested: FetchedPartition,
    held: HostedPartition,
) -> ErrorCode:
    error = _as_it_should_a_out_of_range(self, request, requested, held)
    is_beyond = requested.offset > held.replica.high_watermark
    if error is ErrorCode.NONE and request.replica == CONSUMER and is_beyond:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return error


A_OUT_OF_RANGE = Planted(owner=FetchRequests, decision="_refusal", wrong=by_the_high_watermark)


# A-REFUSE-ISR: a controller refuses the third member of any ISR as ineligible: it counts instead
# of looking at the registrations (KIP-841, KIP-903).


_as_it_should_a_refuse_isr = isr_proposals._are_eligible


def if_two(image: Image, isr: Sequence[IsrMember]) -> bool:
    return len(isr) < 3 and _as_it_should_a_refuse_isr(image, isr)


A_REFUSE_ISR = Planted(owner=isr_proposals, decision="_are_eligible", wrong=if_two)


# A-STALE-BROKER: a controller answers STALE_BROKER_EPOCH to a broker that is about to shut down,
# as if it were gone (KIP-841: it is registered until its session ends).


def if_it_stays(image: Image, broker: int, epoch: int) -> RegisterBrokerRecord:
    found = at_epoch(image, broker, epoch)
    if found.in_controlled_shutdown:
        raise RefusedError(ErrorCode.STALE_BROKER_EPOCH, "It is about to shut down.")
    return found


A_STALE_BROKER = Planted(owner=heartbeats, decision="at_epoch", wrong=if_it_stays)


# A-TOLD-AHEAD: Fetch answers have the log end as the high watermark; consumers still get only
# committed records.


_as_it_should_a_told_ahead = fetch_requests._read


def as_if_all_had_it(found: fetch_requests._Found) -> FetchedRecords:
    told = _as_it_should_a_told_ahead(found)
    if told.error is not ErrorCode.NONE or found.held is None:
        return told
    return replace(told, high_watermark=found.held.replica.end)


A_TOLD_AHEAD = Planted(owner=fetch_requests, decision="_read", wrong=as_if_all_had_it)


# A-TOO-FEW: a leader with exactly min ISR members in its ISR refuses acks=all: off by one.


def with_one_to_spare(self: Replica) -> bool:
    assert self.leading is not None
    return len(self.leading.isr.committed) > self._min_isr


A_TOO_FEW = Planted(owner=Replica, decision="may_append_for_all", wrong=with_one_to_spare)
