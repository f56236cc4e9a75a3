"""Judges the answers of one life of a controller: about itself, the quorum, its writes, and
brokers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from chaos.cluster.sim.invariants.acknowledged_writes import AcknowledgedWrites, AskedWrite
from chaos.cluster.sim.invariants.rules import Broken, InvariantViolated, Looked
from chaos.cluster.sim.invariants.view import ControllerView
from node.controller.image import Image, Partition
from node.effects import Trace
from node.errors import ErrorCode
from node.ids import ConnectionId, NodeId
from node.outbox import Output, ResponseTo
from node.raft.roles import Leader, Role
from node.wire.alter_partition import (
    ANY_EPOCH,
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
)
from node.wire.fetch import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.raft_voters import (
    DescribeQuorumResponse,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.registration import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

# A controller's refusals to brokers, judged by its decisions: registrations and ISR changes.


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


_INACTIVE = (ErrorCode.NOT_CONTROLLER,)
_OfQuorum = (
    FetchResponse
    | FetchSnapshotResponse
    | VoteResponse
    | QuorumEpochResponse
    | UpdateVoterResponse
    | VoterChangeResponse
    | DescribeQuorumResponse
)
_InEpoch = (
    FetchRequest
    | FetchSnapshotRequest
    | VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | UpdateVoterRequest
)
_CLAIMS = ("c.active", "c.resign")


class ControllerAnswers:
    """Follows a process from its start. What changes within the step of an answer may have changed
    before it or after it: both are right then."""

    def __init__(self, node: NodeId, life: int, view: ControllerView, looked: Looked) -> None:
        self._node = node
        self._life = life
        self._view = view
        self._looked = looked
        self._asked: dict[ConnectionId, AskedWrite] = {}
        self._steps = 0
        self._active_since: int | None = None  # by its trace
        self._role: Role | None = None  # at the end of this step, and before it
        self._before: Role | None = None
        self._leads_since: int | None = None
        self._refusals = RefusedBrokers(node, view, looked)
        self._rules: dict[type, Callable[[Any, AskedWrite], None]] = {
            **AcknowledgedWrites(node, view, looked).rules,
            DescribeQuorumResponse: self._quorum_told,
            FetchResponse: self._of_quorum,
            FetchSnapshotResponse: self._of_quorum,
            VoteResponse: self._of_quorum,
            QuorumEpochResponse: self._of_quorum,
            UpdateVoterResponse: self._of_quorum,
            VoterChangeResponse: self._of_quorum,
        }

    def hear(self, connection: ConnectionId, request: object) -> None:
        """It gets that request in the next step."""
        self._asked[connection] = AskedWrite(request, self._steps + 1, self._view.log_end)

    def forget(self, connection: ConnectionId) -> None:
        self._asked.pop(connection, None)

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """Raises InvariantViolated."""
        self._steps += 1
        was_active = self._active_since
        answers = []
        for output in outputs:
            if type(output) is ResponseTo:
                answers.append(output)
            elif type(output) is Trace and output.event in _CLAIMS:
                self._active_since = self._steps if output.event == "c.active" else None
        role = self._view.role
        before = self._before = self._role
        self._role = role
        if role is not before:
            self._follow(before, role)
        try:
            for answer in answers:
                self._judge(answer, was_active)
        except Broken as broken:
            raise InvariantViolated(
                broken, node=self._node, life=self._life, step=self._steps, at_ns=at_ns
            ) from broken

    def _follow(self, before: Role | None, role: Role) -> None:
        if not isinstance(role, Leader):
            self._leads_since = None
        elif not (isinstance(before, Leader) and before.epoch == role.epoch):
            self._leads_since = self._steps

    def _judge(self, answer: ResponseTo, was_active: int | None) -> None:
        heard = self._asked.pop(answer.connection, None)
        if heard is None:
            return
        response = answer.response
        is_active = was_active is not None and was_active == self._active_since
        if is_active and heard.step == self._steps:
            self._refusals.judge(response, heard.request)
        rule = self._rules.get(type(response))
        if rule is None:
            return
        if is_active:
            self._check_denied(response, heard)
        rule(response, heard)

    def _fail(self, rule: str, what: str) -> NoReturn:
        raise Broken(rule, f"n{self._node} {what}")

    # --- its role ---

    def _check_denied(self, response: object, heard: AskedWrite) -> None:
        """Whether it was active before the request arrived, and still is."""
        rule, since = "controllers-do-not-deny-it", self._active_since
        if since is None or since >= heard.step or isinstance(response, AlterPartitionResponse):
            return
        self._looked[rule] += 1
        if any(error in _INACTIVE for error in _errors(response)):
            self._fail(rule, "answers NOT_CONTROLLER, and is the active controller")

    def _of_quorum(self, response: _OfQuorum, heard: AskedWrite) -> None:
        error = response.error
        if error is ErrorCode.NONE:
            return
        request, step = heard.request, heard.step
        rule, since = "controllers-do-not-deny-it", self._leads_since
        if error is ErrorCode.NOT_LEADER_OR_FOLLOWER and since is not None and since < step:
            self._fail(
                rule, f"answers that it does not lead the quorum, and has led since step {since}"
            )
        if isinstance(request, _InEpoch) and self._before is not None:
            self._check_refused_epoch(request.epoch, error, self._before.epoch)

    def _check_refused_epoch(self, said: int, error: ErrorCode, before: int) -> None:
        rule, now = "refused-epochs-are-others", self._view.role.epoch
        is_so = True
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            is_so = said < now
        elif error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            is_so = said > before
        else:
            return
        self._looked[rule] += 1
        if not is_so:
            what = (
                f"answers {error.name} to a request of epoch {said}, and is in epoch {now} itself"
            )
            self._fail(rule, what)

    def _quorum_told(self, told: DescribeQuorumResponse, heard: AskedWrite) -> None:
        rule = "told-quorum-is-so"
        if (told.top_error, told.error) != (ErrorCode.NONE, ErrorCode.NONE):
            self._of_quorum(told, heard)
            return
        self._looked[rule] += 1
        roles = [each for each in (self._before, self._view.role) if isinstance(each, Leader)]
        if told.leader != self._node or told.epoch not in {each.epoch for each in roles}:
            what = f"answers that n{told.leader} leads the quorum in epoch {told.epoch}"
            self._fail(rule, f"{what}, and is {self._view.role}")
        if told.high_watermark > (self._view.committed or 0):
            what = f"answers with high watermark {told.high_watermark}, and knows that all below "
            self._fail(rule, f"{what}{self._view.committed} is committed")


def _errors(response: object) -> Iterator[ErrorCode]:
    """The errors of the whole answer, and of its parts."""
    for name in ("top_error", "error"):
        error = getattr(response, name, None)
        if isinstance(error, ErrorCode):
            yield error
    for part in getattr(response, "results", ()):
        yield part.error
