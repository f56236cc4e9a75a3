"""The messages that a story sends in the name of nodes that it plays, and of clients."""

from collections.abc import Callable
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, Epoch, NodeId
from node.wire.apis import Request, Response
from node.wire.configs import (
    AlterConfigsRequest,
    ConfigChange,
    DescribeConfigsRequest,
    ResourceChange,
    ResourceQuery,
)
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.raft_voters import AddVoterRequest, DescribeQuorumRequest, RemoveVoterRequest
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from tests.support.rig import CLUSTER, batch
from tests.support.story_command import NOBODY, Command, parse_epochs, parse_node, parse_replica

_CLIENT_METRICS = 16
_OPERATIONS = ("set", "delete", "append", "subtract")
_HWM_UNSUPPORTED = 2**63 - 1


# --- requests ---


def vote_request(command: Command, to: NodeId, *, pre_vote: bool) -> Request:
    candidate = command.replica("from")
    voter, directory = _addressed(command, to)
    end = command.position("log", "0@0")
    return VoteRequest(
        cluster_id=_cluster(command),
        partition_ok=not command.take_flag("wrong-partition"),
        voter=voter,
        voter_directory=directory,
        epoch=Epoch(command.number("epoch")),
        candidate=candidate,
        last_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=pre_vote,
    )


def begin_request(command: Command, to: NodeId) -> Request:
    leader = command.replica("from").id
    voter, directory = _addressed(command, to)
    return BeginQuorumEpochRequest(
        cluster_id=_cluster(command),
        partition_ok=not command.take_flag("wrong-partition"),
        voter=voter,
        voter_directory=directory,
        leader=command.node("leader", leader),
        epoch=Epoch(command.number("epoch")),
    )


def end_request(command: Command, _to: NodeId) -> Request:
    leader = command.replica("from").id
    preferred = command.text("preferred", NOBODY)
    return EndQuorumEpochRequest(
        cluster_id=_cluster(command),
        partition_ok=not command.take_flag("wrong-partition"),
        leader=command.node("leader", leader),
        epoch=Epoch(command.number("epoch")),
        preferred=tuple(map(parse_replica, preferred.split(","))) if preferred != NOBODY else (),
    )


def fetch_request(command: Command, _to: NodeId) -> Request:
    end = command.position("log", "0@0")
    return FetchRequest(
        cluster_id=_cluster(command),
        partition_ok=not command.take_flag("wrong-partition"),
        replica=command.replica("from"),
        epoch=Epoch(command.number("epoch")),
        fetch_offset=end.offset,
        last_epoch=end.epoch,
        max_wait_ms=command.number("max-wait-ms", 500),
        max_bytes=command.number("max-bytes", 1024 * 1024),
        high_watermark=command.number("hwm", _HWM_UNSUPPORTED),
    )


def describe_quorum_request(command: Command, _to: NodeId) -> Request:
    return DescribeQuorumRequest(partition_ok=not command.take_flag("wrong-partition"))


def add_voter_request(command: Command, _to: NodeId) -> Request:
    """`add-voter n4 to=n1`."""
    voter = parse_replica(command.the_word("a replica"))
    at = Endpoint(name="CONTROLLER", host=f"node-{voter.id}", port=9100 + voter.id)
    return AddVoterRequest(cluster_id=None, voter=voter, endpoints=(at,), timeout_ms=10_000)


def remove_voter_request(command: Command, _to: NodeId) -> Request:
    """`remove-voter n3 to=n1`."""
    voter = parse_replica(command.the_word("a replica"))
    return RemoveVoterRequest(cluster_id=None, voter=voter)


def alter_configs_request(command: Command, _to: NodeId) -> Request:
    """`alter-configs to=n1 resource=a append metrics=x`; without a word, values are set."""
    operation = _OPERATIONS.index(command.take_word() or "set")
    name = command.text("resource")
    changes = tuple(
        ConfigChange(name=entry, operation=operation, value=command.text(entry))
        for entry in list(command.fields)
    )
    resource = ResourceChange(type=_CLIENT_METRICS, name=name, changes=changes)
    return AlterConfigsRequest(resources=(resource,), validate_only=False)


def describe_configs_request(command: Command, _to: NodeId) -> Request:
    query = ResourceQuery(
        type=_CLIENT_METRICS,
        name=command.text("resource"),
        keys=(command.text("key", "interval.ms"),),
    )
    return DescribeConfigsRequest(resources=(query,))


def _addressed(command: Command, to: NodeId) -> tuple[NodeId, UUID | None]:
    """Whom the sender believes to address: `none`, or `n2:any` whatever its directory."""
    node, _, directory = command.text("voter", f"n{to}").partition(":")
    if node == NOBODY or directory == "any":
        return parse_node(node), None
    voter = parse_replica(f"{node}:{directory}" if directory else node)
    return voter.id, voter.directory


def _cluster(command: Command) -> str:
    return command.text("cluster", CLUSTER)


# --- responses ---


Make = Callable[[Request], Response]


def vote_response(command: Command, _sender: NodeId) -> Make:
    is_granted = command.take_flag("granted")
    if not is_granted:
        command.take_flag("rejected")
    top, error = _errors(command)
    epoch, leader = _epoch(command), command.node("leader", NO_NODE)

    def make(request: Request) -> Response:
        return VoteResponse(
            top_error=top,
            error=error,
            leader=leader,
            epoch=_epoch_or_asked(epoch, request),
            granted=is_granted,
        )

    return make


def quorum_epoch_response(command: Command, _sender: NodeId) -> Make:
    command.take_flag("ok")
    top, error = _errors(command)
    epoch, leader = _epoch(command), command.node("leader", NO_NODE)

    def make(request: Request) -> Response:
        return QuorumEpochResponse(
            top_error=top, error=error, leader=leader, epoch=_epoch_or_asked(epoch, request)
        )

    return make


def fetch_response(command: Command, sender: NodeId) -> Make:
    """`records=3,3`: the epochs of records that go on where the Fetch asked, or at `base=`."""
    top, error = _errors(command)
    epoch, leader = _epoch(command), command.node("leader", sender)
    high_watermark = command.number("hwm", -1)
    diverging = command.position("diverging") if "diverging" in command.fields else None
    epochs = parse_epochs(command.text("records", NOBODY))
    base = command.number("base", -1)
    is_damaged = command.take_flag("damaged")

    def make(request: Request) -> Response:
        assert isinstance(request, FetchRequest)
        first = request.fetch_offset if base < 0 else base
        data = b"".join(batch(first + i, each) for i, each in enumerate(epochs))
        return FetchResponse(
            top_error=top,
            error=error,
            leader=leader,
            epoch=_epoch_or_asked(epoch, request),
            high_watermark=high_watermark,
            diverging=diverging,
            records=_damage(data) if is_damaged else data,
        )

    return make


def granted(request: Request) -> Response:
    return VoteResponse(epoch=_epoch_or_asked(None, request), granted=True)


def rejected(request: Request) -> Response:
    return VoteResponse(epoch=_epoch_or_asked(None, request))


def _damage(records: bytes) -> bytes:
    """The last record's last bit is another."""
    return records[:-1] + bytes([records[-1] ^ 1])


def _errors(command: Command) -> tuple[ErrorCode, ErrorCode]:
    """At the top, and at the partition."""
    error = command.take_error()
    return (error, ErrorCode.NONE) if command.take_flag("at-the-top") else (ErrorCode.NONE, error)


def _epoch(command: Command) -> int | None:
    return command.number("epoch") if "epoch" in command.fields else None


def _epoch_or_asked(epoch: int | None, request: Request) -> Epoch:
    """Who answers is of the epoch of the request, unless the story says otherwise."""
    if epoch is not None:
        return Epoch(epoch)
    assert isinstance(
        request, VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest
    )
    return request.epoch
