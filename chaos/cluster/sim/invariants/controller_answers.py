"""What one life of a controller answers: of itself, of the quorum, and of what it has written."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.broken import Broken, InvariantViolated
from chaos.cluster.sim.invariants.view import ControllerView
from chaos.cluster.sim.invariants.written_since import written_between
from node.effects import Trace
from node.errors import ErrorCode
from node.ids import ConnectionId, NodeId, Offset
from node.outbox import Output, ResponseTo
from node.raft.roles import Leader, Role
from node.records.metadata import ConfigRecord, TopicRecord
from node.wire.alter_partition import AlterPartitionResponse
from node.wire.broker_lifecycle import BrokerRegistrationRequest, BrokerRegistrationResponse
from node.wire.config_messages import AlterConfigsRequest, AlterConfigsResponse
from node.wire.create_topics import CreateTopicsRequest, CreateTopicsResponse
from node.wire.delete_topics import DeleteTopicsResponse
from node.wire.describe_quorum import DescribeQuorumResponse
from node.wire.fetch_messages import FetchRequest, FetchResponse
from node.wire.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.producer_ids import AllocateProducerIdsResponse
from node.wire.quorum_epoch import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
)
from node.wire.raft_voters import UpdateVoterRequest, UpdateVoterResponse, VoterChangeResponse
from node.wire.vote import VoteRequest, VoteResponse

_SET, _DELETE = 0, 1  # of one configuration entry
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

# The request, by which step it was there, and where the log ended then.
_Heard = tuple[object, int, Offset]


class ControllerAnswers:
    """From the start of a process on. What changes within the step of an answer may have changed
    before it or after it: both are right then."""

    def __init__(self, node: NodeId, life: int, view: ControllerView, looked: Looked) -> None:
        self._node = node
        self._life = life
        self._view = view
        self._looked = looked
        self._asked: dict[ConnectionId, _Heard] = {}
        self._steps = 0
        self._active_since: int | None = None  # by its account
        self._role: Role | None = None  # at the end of this step, and before it
        self._before: Role | None = None
        self._leads_since: int | None = None
        self._rules: dict[type, Callable[[Any, _Heard], None]] = {
            AlterConfigsResponse: self._altered,
            CreateTopicsResponse: self._created,
            DeleteTopicsResponse: self._deleted,
            AllocateProducerIdsResponse: self._allocated,
            BrokerRegistrationResponse: self._registered,
            AlterPartitionResponse: self._isr_told,
            DescribeQuorumResponse: self._quorum_told,
            FetchResponse: self._of_quorum,
            FetchSnapshotResponse: self._of_quorum,
            VoteResponse: self._of_quorum,
            QuorumEpochResponse: self._of_quorum,
            UpdateVoterResponse: self._of_quorum,
            VoterChangeResponse: self._of_quorum,
        }

    def hear(self, connection: ConnectionId, request: object) -> None:
        """It is to be asked that in the next step."""
        self._asked[connection] = (request, self._steps + 1, self._view.log_end)

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
        rule = self._rules.get(type(response))
        if rule is None:
            return
        if was_active is not None and was_active == self._active_since:
            self._check_denied(response, heard, was_active)
        rule(response, heard)

    def _fail(self, rule: str, what: str) -> NoReturn:
        raise Broken(rule, f"n{self._node} {what}")

    # --- who it is ---

    def _check_denied(self, response: object, heard: _Heard, since: int) -> None:
        """It was active before it was asked, and is so still."""
        rule = "controllers-do-not-deny-it"
        if since >= heard[1] or isinstance(response, AlterPartitionResponse):
            return
        self._looked[rule] += 1
        if any(error in _INACTIVE for error in _errors(response)):
            self._fail(rule, "says NOT_CONTROLLER, and is the active controller")

    def _of_quorum(self, response: _OfQuorum, heard: _Heard) -> None:
        error = response.error
        if error is ErrorCode.NONE:
            return
        request, step, _ = heard
        rule, since = "controllers-do-not-deny-it", self._leads_since
        if error is ErrorCode.NOT_LEADER_OR_FOLLOWER and since is not None and since < step:
            self._fail(rule, f"says that it does not lead the quorum, and does since step {since}")
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
            what = f"says {error.name} to who is in epoch {said}, and is in epoch {now} itself"
            self._fail(rule, what)

    def _quorum_told(self, told: DescribeQuorumResponse, heard: _Heard) -> None:
        rule = "told-quorum-is-so"
        if (told.top_error, told.error) != (ErrorCode.NONE, ErrorCode.NONE):
            self._of_quorum(told, heard)
            return
        self._looked[rule] += 1
        roles = [each for each in (self._before, self._view.role) if isinstance(each, Leader)]
        if told.leader != self._node or told.epoch not in {each.epoch for each in roles}:
            what = f"tells that n{told.leader} leads the quorum in epoch {told.epoch}"
            self._fail(rule, f"{what}, and is {self._view.role}")
        if told.high_watermark > (self._view.committed or 0):
            what = f"tells of a high watermark of {told.high_watermark}, and knows that all below "
            self._fail(rule, f"{what}{self._view.committed} is committed")

    # --- what it wrote ---

    def _written(self, heard: _Heard) -> Iterator[object]:
        """Committed since somebody asked: what stood in the log after that, and is applied."""
        return iter(written_between(self._view.log, heard[2], self._view.applied))

    def _altered(self, told: AlterConfigsResponse, heard: _Heard) -> None:
        request = heard[0]
        if not isinstance(request, AlterConfigsRequest) or request.validate_only:
            return
        rule = "acknowledged-writes-are-committed"
        for resource, result in zip(request.resources, told.results, strict=False):
            if result.error is not ErrorCode.NONE:
                continue
            known = self._view.image.config((resource.type, resource.name))
            for change in resource.changes:
                if change.operation not in (_SET, _DELETE):
                    continue
                self._looked[rule] += 1
                value = change.value if change.operation == _SET else None
                if known.get(change.name) == value:
                    continue
                place = (resource.type, resource.name, change.name, value)
                if not any(_place(record) == place for record in self._written(heard)):
                    what = f"acknowledges that {change.name} of {resource.name} is {value}, which "
                    self._fail(rule, f"{what}is not committed")

    def _created(self, told: CreateTopicsResponse, heard: _Heard) -> None:
        request = heard[0]
        if not isinstance(request, CreateTopicsRequest) or request.validate_only:
            return
        rule = "acknowledged-writes-are-committed"
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            self._looked[rule] += 1
            found = self._view.image.topics.find(result.id)
            if found is not None and found.name == result.name:
                continue
            created = (
                record.topic_id
                for record in self._written(heard)
                if isinstance(record, TopicRecord) and record.name == result.name
            )
            if result.id not in created:
                what = f"acknowledges the topic {result.name} with id {result.id}, which is not "
                self._fail(rule, f"{what}committed")

    def _deleted(self, told: DeleteTopicsResponse, _: _Heard) -> None:
        rule = "acknowledged-writes-are-committed"
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            self._looked[rule] += 1
            if self._view.image.topics.find(result.id) is not None:
                what = f"acknowledges that the topic with id {result.id} is deleted, which is not "
                self._fail(rule, f"{what}committed")

    def _allocated(self, told: AllocateProducerIdsResponse, _: _Heard) -> None:
        rule, given = "acknowledged-writes-are-committed", self._view.image.next_producer_id
        if told.error is not ErrorCode.NONE:
            return
        self._looked[rule] += 1
        if given is None or told.first + told.count > given:
            what = f"gives producer ids from {told.first} to {told.first + told.count}, and those "
            self._fail(rule, f"{what}from {given} on are not given to any broker")

    def _registered(self, told: BrokerRegistrationResponse, heard: _Heard) -> None:
        rule, request = "acknowledged-writes-are-committed", heard[0]
        if told.error is not ErrorCode.NONE or not isinstance(request, BrokerRegistrationRequest):
            return
        self._looked[rule] += 1
        found = self._view.image.brokers.find(request.broker)
        if found is not None and found.broker_epoch < told.epoch:
            what = (
                f"tells n{request.broker} that its broker epoch is {told.epoch}, and committed is "
            )
            self._fail(rule, f"{what}{found.broker_epoch}")

    def _isr_told(self, told: AlterPartitionResponse, _: _Heard) -> None:
        rule = "told-isr-is-committed"
        for result in told.results:
            if result.error is not ErrorCode.NONE:
                continue
            state = self._view.image.topics.partition(result.topic, result.index)
            if state is None or state.partition_epoch > result.partition_epoch:
                continue
            self._looked[rule] += 1
            said = (result.partition_epoch, result.leader_epoch, tuple(result.isr), result.leader)
            known = (state.partition_epoch, state.leader_epoch, state.isr, state.leader)
            if said != known:
                what = (
                    f"tells of {result.topic}-{result.index} that partition epoch, leader epoch, "
                )
                self._fail(rule, f"{what}ISR and leader are {said}, and committed is {known}")


def _place(record: object) -> tuple[int, str, str, str | None] | None:
    if not isinstance(record, ConfigRecord):
        return None
    return record.resource_type, record.resource_name, record.name, record.value


def _errors(response: object) -> Iterator[ErrorCode]:
    """Of the whole, and of its parts."""
    for name in ("top_error", "error"):
        error = getattr(response, name, None)
        if isinstance(error, ErrorCode):
            yield error
    for part in getattr(response, "results", ()):
        yield part.error
