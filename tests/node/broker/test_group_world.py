"""Groups on whole brokers, in virtual time: what was committed is kept, whoever coordinates."""

from uuid import UUID

from node.config import GroupSettings
from node.controller.image import Partition
from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.apis import Request, Response
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from node.wire.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    Share,
    SyncGroupRequest,
    SyncGroupResponse,
)
from node.wire.group_offsets import (
    CommittedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SoughtOffsets,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
)
from tests.support.broker_world import CONTROLLER, BrokerWorld

IDS = (4, 5, 6)
ORDERS = TopicPartition(name="orders", index=0)
_PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Consumers:
    """Of a topic `orders`, in the group `g`."""

    def __init__(self, ids: tuple[int, ...] = IDS) -> None:
        self._ids = ids
        settings = GroupSettings(topic_partitions=1, topic_replication=len(ids), first_delay_ms=100)
        self.world = BrokerWorld(ids, groups=settings)
        self.world.until(lambda: all(map(self._is_active, ids)), "all brokers are active")
        answer = self.world.ask(
            CONTROLLER,
            CreateTopicsRequest(
                topics=(NewTopic(name="orders", partitions=1, replication=len(ids)),)
            ),
        )
        assert isinstance(answer, CreateTopicsResponse)
        self.coordinator()

    def _is_active(self, broker: int) -> bool:
        life = self.world.machines[CONTROLLER].life
        assert life is not None
        return life.node.core.role.controller.image.brokers.is_active(broker)  # type: ignore[union-attr]

    def offsets(self) -> tuple[UUID, Partition]:
        """The topic, and its only partition."""
        life = self.world.machines[CONTROLLER].life
        assert life is not None
        topics = life.node.core.role.controller.image.topics  # type: ignore[union-attr]
        topic = topics.named("__consumer_offsets")
        assert topic is not None
        found = topics.partition(topic.id, 0)
        assert found is not None
        return topic.id, found

    def whole(self) -> None:
        self.world.until(lambda: set(self.offsets()[1].isr) == set(IDS), "the ISR is whole")

    def coordinator(self) -> int:
        """As one of the brokers that run tells it, once there is one."""
        found: list[int] = []

        def look() -> bool:
            running = next(
                id_ for id_ in self._ids if self.world.machines[NodeId(id_)].life is not None
            )
            answer = self.world.ask(running, FindCoordinatorRequest(keys=("g",)))
            if not isinstance(answer, FindCoordinatorResponse):
                return False
            (told,) = answer.coordinators
            found[:] = [told.node]
            return told.error is ErrorCode.NONE

        self.world.until(look, "somebody coordinates the group")
        return found[0]

    def ask(self, request: Request) -> Response:
        """Of the coordinator, until it is one."""
        answers: list[Response] = []

        def look() -> bool:
            answer = self.world.ask(self.coordinator(), request)
            answers[:] = [] if answer is None else [answer]
            return answer is not None and error_of(answer) not in _PASSING

        self.world.until(look, f"an answer to {request}")
        return answers[0]

    def commit(self, offset: int, **who: object) -> ErrorCode:
        offsets = (CommittedOffset(partition=ORDERS, offset=offset, epoch=3, metadata="m"),)
        request = OffsetCommitRequest(group="g", offsets=offsets, **who)  # type: ignore[arg-type]
        return error_of(self.ask(request))

    def committed(self) -> int:
        answer = self.ask(OffsetFetchRequest(groups=(SoughtOffsets(group="g"),)))
        assert isinstance(answer, OffsetFetchResponse)
        (group,) = answer.groups
        return next((each.offset for each in group.offsets), -1)

    def join(self, member: str = "") -> JoinGroupResponse:
        answer = self.ask(
            JoinGroupRequest(
                group="g",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=30_000,
                member=member,
                protocol_type="consumer",
                protocols=(JoinProtocol(name="range", metadata=b"all"),),
                client_id="c",
            )
        )
        assert isinstance(answer, JoinGroupResponse)
        return answer

    def sync(self, joined: JoinGroupResponse) -> SyncGroupResponse:
        answer = self.ask(
            SyncGroupRequest(
                group="g",
                generation=joined.generation,
                member=joined.member,
                shares=(Share(member=joined.member, assignment=b"orders-0"),),
            )
        )
        assert isinstance(answer, SyncGroupResponse)
        return answer

    def member(self) -> JoinGroupResponse:
        """The only one, with its share."""
        told = self.join()
        assert told.error is ErrorCode.MEMBER_ID_REQUIRED
        joined = self.join(told.member)
        assert joined.error is ErrorCode.NONE
        assert self.sync(joined).assignment == b"orders-0"
        return joined

    def state(self) -> str:
        answer = self.ask(DescribeGroupsRequest(groups=("g",)))
        assert isinstance(answer, DescribeGroupsResponse)
        return answer.groups[0].state

    def heartbeat(self, joined: JoinGroupResponse) -> ErrorCode:
        request = HeartbeatRequest(group="g", generation=joined.generation, member=joined.member)
        return error_of(self.ask(request))


def error_of(answer: Response) -> ErrorCode:
    """The first that it has."""
    match answer:
        case OffsetCommitResponse(results=results):
            return results[0].error
        case OffsetFetchResponse(groups=groups):
            return groups[0].error
        case (
            JoinGroupResponse(error=error)
            | SyncGroupResponse(error=error)
            | HeartbeatResponse(error=error)
            | ListGroupsResponse(error=error)
        ):
            return error
        case DescribeGroupsResponse(groups=described):
            return described[0].error
        case _:
            raise AssertionError(answer)


def test_offsets_outlive_every_coordinator() -> None:
    consumers = Consumers()
    for offset in range(1, 4):
        assert consumers.commit(offset) is ErrorCode.NONE
        assert consumers.committed() == offset
        leader = consumers.coordinator()
        consumers.world.kill(leader)
        assert consumers.committed() == offset
        consumers.world.start(leader)
        consumers.whole()


def test_members_outlive_their_coordinator() -> None:
    consumers = Consumers()
    joined = consumers.member()
    assert consumers.heartbeat(joined) is ErrorCode.NONE
    first = consumers.coordinator()
    consumers.world.stop(first)
    assert consumers.coordinator() != first
    assert consumers.heartbeat(joined) is ErrorCode.NONE
    assert consumers.sync(joined).assignment == b"orders-0"
    assert consumers.commit(7, generation=joined.generation, member=joined.member) is ErrorCode.NONE
    consumers.world.run_ms(11_000)
    assert consumers.heartbeat(joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert consumers.committed() == 7


def test_a_member_that_its_new_coordinator_never_hears_of_is_left_out() -> None:
    consumers = Consumers()
    consumers.member()
    consumers.world.kill(consumers.coordinator())
    consumers.coordinator()
    assert consumers.state() == "Stable"
    consumers.world.run_ms(11_000)
    assert consumers.state() == "Empty"


def test_a_topic_that_is_deleted_takes_its_groups_along() -> None:
    consumers = Consumers(IDS[:1])
    consumers.member()
    assert consumers.commit(3, generation=-1) is ErrorCode.UNKNOWN_MEMBER_ID
    deleted = DeleteTopicsRequest(topics=(DeletedTopic(name="__consumer_offsets"),))
    assert isinstance(consumers.world.ask(CONTROLLER, deleted), DeleteTopicsResponse)
    assert consumers.committed() == -1
    assert consumers.state() == "Dead"
    assert consumers.commit(5) is ErrorCode.NONE
    assert consumers.committed() == 5


def test_what_was_committed_goes_with_its_topic_whoever_coordinates() -> None:
    """Also where another one has its name by then, of which nobody has read anything."""
    consumers = Consumers()
    consumers.whole()
    assert consumers.commit(7) is ErrorCode.NONE
    deleted = DeleteTopicsRequest(topics=(DeletedTopic(name=ORDERS.name),))
    made = CreateTopicsRequest(
        topics=(NewTopic(name=ORDERS.name, partitions=1, replication=len(IDS)),)
    )
    assert isinstance(consumers.world.ask(CONTROLLER, deleted), DeleteTopicsResponse)
    consumers.world.kill(consumers.coordinator())
    assert isinstance(consumers.world.ask(CONTROLLER, made), CreateTopicsResponse)
    assert consumers.committed() == -1
    assert consumers.commit(3) is ErrorCode.NONE
    assert consumers.committed() == 3


def test_groups_outlive_brokers_that_stop_one_after_another() -> None:
    consumers = Consumers()
    consumers.member()
    for broker in IDS:
        consumers.world.run_ms(9_000)
        consumers.world.stop(broker)
        assert consumers.world.machines[NodeId(broker)].exit_code == 0
    consumers.world.run_ms(20_000)
    for broker in IDS:
        consumers.world.start(broker)
    assert consumers.state() == "Empty"
    assert consumers.commit(5) is ErrorCode.NONE


def test_what_is_not_on_all_of_the_isr_is_not_acknowledged_and_not_told() -> None:
    consumers = Consumers()
    assert consumers.commit(1) is ErrorCode.NONE
    leader = NodeId(consumers.coordinator())
    others = [id_ for id_ in IDS if id_ != leader]
    consumers.world.cut |= {(id_, leader) for id_ in others} | {(leader, id_) for id_ in others}
    offsets = (CommittedOffset(partition=ORDERS, offset=2),)
    answer = consumers.world.ask(leader, OffsetCommitRequest(group="g", offsets=offsets), 4000)
    assert answer is None
    fetch = OffsetFetchRequest(groups=(SoughtOffsets(group="g"),))
    told = consumers.world.ask(leader, fetch)
    assert isinstance(told, OffsetFetchResponse)
    assert [each.offset for each in told.groups[0].offsets] == [1]
    consumers.world.kill(leader)
    assert consumers.committed() == 1


def test_tools_are_told_of_groups() -> None:
    consumers = Consumers()
    joined = consumers.member()
    listed = consumers.ask(ListGroupsRequest())
    assert isinstance(listed, ListGroupsResponse)
    assert listed.groups == (ListedGroup(id="g", protocol_type="consumer", state="Stable"),)
    for other in (ListGroupsRequest(states=("Empty",)), ListGroupsRequest(types=("share",))):
        assert consumers.ask(other) == ListGroupsResponse()
    described = consumers.ask(DescribeGroupsRequest(groups=("g", "none")))
    assert isinstance(described, DescribeGroupsResponse)
    found, unknown = described.groups
    assert (found.state, found.protocol) == ("Stable", "range")
    assert [(each.id, each.assignment) for each in found.members] == [(joined.member, b"orders-0")]
    assert unknown == DescribedGroup(
        id="none",
        error=ErrorCode.GROUP_ID_NOT_FOUND,
        message="Group none not found.",
        state="Dead",
    )


def test_clients_do_not_write_to_it_themselves() -> None:
    consumers = Consumers()
    at = TopicPartition(id=consumers.offsets()[0], index=0)
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, partitions=(ProducedPartition(partition=at, records=b""),)
    )
    answer = consumers.world.ask(consumers.coordinator(), request)
    assert isinstance(answer, ProduceResponse)
    assert answer.results[0].error is ErrorCode.INVALID_TOPIC_EXCEPTION
