"""A controller's refusals to brokers, judged by its decisions: registrations and ISR changes."""

from typing import NoReturn

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.view import ControllerView
from node.controller.image import Image, Partition
from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.alter_partition import (
    ANY_EPOCH,
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
)
from node.wire.broker_lifecycle import BrokerHeartbeatRequest, BrokerHeartbeatResponse

_STRANGE = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)


class RefusedBrokers:
    """Refusals of one life of a controller. One is judged in the step in which its request arrived;
    earlier decisions may not be committed yet."""

    def __init__(self, node: NodeId, view: ControllerView, looked: Looked) -> None:
        self._node = node
        self._view = view
        self._looked = looked

    def judge(self, response: object, request: object) -> None:
        """The controller was active before, and still is. Raises Broken."""
        match request, response:
            case BrokerHeartbeatRequest(), BrokerHeartbeatResponse(error=error):
                self._check_stranger(request, error)
            case AlterPartitionRequest(), AlterPartitionResponse(error=error):
                self._check_stranger(request, error)
                places = {(each.topic, each.index) for each in request.partitions}
                if error is ErrorCode.NONE and len(places) == len(request.partitions):
                    for proposed, result in zip(request.partitions, response.results, strict=True):
                        self._check_proposal(request.broker, proposed, result.error)
            case _:
                pass

    def _fail(self, rule: str, what: str) -> NoReturn:
        raise Broken(rule, f"n{self._node} {what}")

    def _check_stranger(
        self, request: BrokerHeartbeatRequest | AlterPartitionRequest, error: ErrorCode
    ) -> None:
        rule = "strangers-are-strangers"
        found = self._view.decided.brokers.find(request.broker)
        epoch = None if found is None else found.broker_epoch
        self._looked[rule] += error in _STRANGE
        is_unknown = error is ErrorCode.BROKER_ID_NOT_REGISTERED
        if error in _STRANGE and (epoch is not None if is_unknown else epoch == request.epoch):
            what = (
                f"answers {error.name} to n{request.broker} in broker epoch {request.epoch}, and "
            )
            self._fail(rule, f"{what}it is registered in {epoch}")

    def _check_proposal(self, broker: int, proposed: AlteredPartition, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            return
        rule, image = "refused-proposals-are-wrong", self._view.decided
        self._looked[rule] += 1
        state = image.topics.partition(proposed.topic, proposed.index)
        if state is None:
            is_so = error in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            is_so = _is_wrong(image, state, broker, proposed, error)
        if not is_so:
            what = f"answers {error.name} to n{broker}, which proposes {proposed}, and has {state}"
            self._fail(rule, what)


def _is_wrong(
    image: Image, state: Partition, broker: int, proposed: AlteredPartition, error: ErrorCode
) -> bool:
    """Whether the proposal has the fault that the error names. This very change may have elected
    another leader."""
    epochs = (proposed.leader_epoch, proposed.partition_epoch)
    match error:
        case ErrorCode.FENCED_LEADER_EPOCH:
            return epochs[0] < state.leader_epoch
        case ErrorCode.INVALID_UPDATE_VERSION:
            return epochs[1] < state.partition_epoch
        case ErrorCode.NOT_CONTROLLER:
            return epochs[0] > state.leader_epoch or epochs[1] > state.partition_epoch
        case ErrorCode.NEW_LEADER_ELECTED:
            return broker != state.leader
        case ErrorCode.INELIGIBLE_REPLICA:
            return not all(_may_be_in_sync(image, member) for member in proposed.isr)
        case ErrorCode.INVALID_REQUEST:
            return not _is_well_formed(state, broker, proposed)
        case _:
            return False  # of what there is


def _may_be_in_sync(image: Image, member: IsrMember) -> bool:
    """KIP-841, and KIP-903 for the epoch."""
    found = image.brokers.find(member.broker)
    if found is None or found.fenced or found.in_controlled_shutdown:
        return False
    return member.epoch in (ANY_EPOCH, found.broker_epoch)


def _is_well_formed(state: Partition, broker: int, proposed: AlteredPartition) -> bool:
    """The leader proposes itself and some of the other replicas, each once; a recovering leader is
    alone in its ISR, from its election on."""
    isr = [int(member.broker) for member in proposed.isr]
    return (
        broker == state.leader
        and broker in isr
        and len(set(isr)) == len(isr)
        and set(isr) <= set(state.replicas)
        and proposed.recovery <= state.recovery
        and not (proposed.recovery and len(isr) > 1)
    )
