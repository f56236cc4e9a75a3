"""What nodes do and say, in the words of a story."""

from collections.abc import Iterator, Sequence

from node.effects import ElectionState, Trace
from node.errors import ErrorCode
from node.ids import NO_NODE, NodeId, ReplicaKey, parse_uuid
from node.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from node.records.batch import Batch, split_batches
from node.records.control import (
    ControlRecord,
    KRaftVersion,
    LeaderChange,
    Voters,
    decode_control,
)
from node.records.metadata import ConfigRecord, FeatureLevelRecord, decode_metadata
from node.wire.apis import Request, Response
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceDescription,
)
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveVoterRequest,
    ReplicaStatus,
    VoterChangeResponse,
)
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from tests.support.story_command import node_name, position_name, replica_name

_NAMES: dict[type[Request], str] = {
    BeginQuorumEpochRequest: "begin-quorum-epoch",
    EndQuorumEpochRequest: "end-quorum-epoch",
    FetchRequest: "fetch",
    DescribeQuorumRequest: "describe-quorum",
    AlterConfigsRequest: "alter-configs",
    DescribeConfigsRequest: "describe-configs",
    AddVoterRequest: "add-voter",
    RemoveVoterRequest: "remove-voter",
}


KINDS = frozenset(
    {
        "append",
        "controller",
        "disk",
        "draw",
        "flush",
        "garbled",
        "hang-up",
        "hwm",
        "persist",
        "state",
    }
    | {"timer", "truncate", "vote", "vote-request", "pre-vote", "pre-vote-request"}
    | {*_NAMES.values()}
    | {f"{name}-request" for name in _NAMES.values()}
)  # of lines, for a story to hide


def exchange_of(request: Request) -> str:
    if isinstance(request, VoteRequest):
        return "pre-vote" if request.pre_vote else "vote"
    return _NAMES[type(request)]


# --- messages ---


def request_words(request: Request) -> str:
    name = f"{exchange_of(request)}-request"
    match request:
        case VoteRequest():
            return f"{name} epoch={request.epoch} log={request.last_offset}@{request.last_epoch}"
        case BeginQuorumEpochRequest():
            return f"{name} epoch={request.epoch}"
        case EndQuorumEpochRequest():
            return f"{name} epoch={request.epoch} preferred={_replicas(request.preferred)}"
        case FetchRequest():
            log = f"log={request.fetch_offset}@{request.last_epoch}"
            return f"{name} epoch={request.epoch} {log} hwm={_offset(request.high_watermark)}"
        case _:
            raise AssertionError(f"no node asks another: {request}")


def response_words(request: Request, response: Response) -> str:
    match response:
        case VoteResponse(error=ErrorCode.NONE, top_error=ErrorCode.NONE):
            what = ("granted" if response.granted else "rejected") + _epoch_and_leader(response)
        case VoteResponse() | QuorumEpochResponse():
            what = _error(response) + _epoch_and_leader(response)
        case FetchResponse():
            what = _fetched(response)
        case DescribeQuorumResponse():
            what = _described_quorum(response)
        case AlterConfigsResponse(results=results):
            what = ", ".join(f"{each.name} {error_words(each.error)}" for each in results)
        case DescribeConfigsResponse(results=descriptions):
            what = ", ".join(map(_description, descriptions))
        case VoterChangeResponse(error=error, message=message):
            what = ": ".join(filter(None, (error_words(error), message)))
        case _:
            raise AssertionError(f"no words for {response}")
    return f"{exchange_of(request)} {what}"


def error_words(error: ErrorCode) -> str:
    return "ok" if error == ErrorCode.NONE else f"{error.name} ({error.value})"


def _error(response: VoteResponse | QuorumEpochResponse | FetchResponse) -> str:
    if response.top_error != ErrorCode.NONE:
        return f"{error_words(response.top_error)} at the top"
    return error_words(response.error)


def _epoch_and_leader(response: VoteResponse | QuorumEpochResponse | FetchResponse) -> str:
    if response.top_error != ErrorCode.NONE:
        return ""
    words = f" epoch={response.epoch}"
    if response.leader == NO_NODE:
        return words
    address = "" if response.leader_endpoint is not None else "(no address)"
    return f"{words} leader={node_name(response.leader)}{address}"


def _fetched(response: FetchResponse) -> str:
    if (response.top_error, response.error) != (ErrorCode.NONE, ErrorCode.NONE):
        return _error(response) + _epoch_and_leader(response)
    if response.diverging is not None:
        what = f"diverging={position_name(response.diverging)}"
    else:
        what = f"records={_offsets(response.records)}"
    return f"{what} hwm={_offset(response.high_watermark)}{_epoch_and_leader(response)}"


def _described_quorum(response: DescribeQuorumResponse) -> str:
    leader = f"epoch={response.epoch} leader={node_name(response.leader)}"
    if response.error != ErrorCode.NONE:
        return f"{error_words(response.error)} {leader}"
    replicas = [_status(status) for status in response.voters]
    replicas += [f"observer {_status(status)}" for status in response.observers]
    return f"{leader} hwm={_offset(response.high_watermark)}: {', '.join(replicas)}"


def _status(status: ReplicaStatus) -> str:
    return f"{replica_name(status.key)} at {_offset(status.log_end)}"


def _description(description: ResourceDescription) -> str:
    if description.error != ErrorCode.NONE:
        return f"{description.name} {error_words(description.error)}"
    entries = [f"{entry.name}={entry.value}" for entry in description.entries]
    return " ".join([description.name, *entries])


def _offset(offset: int) -> str:
    if offset == 2**63 - 1:
        return "unsupported"
    return "unknown" if offset < 0 else str(offset)


def _replicas(replicas: Sequence[ReplicaKey]) -> str:
    return ",".join(map(replica_name, replicas)) or "nobody"


# --- the node itself ---


def election_words(state: ElectionState) -> str:
    return f"epoch={state.epoch}{_leader_and_vote(state.leader, state.voted)}"


def trace_words(trace: Trace) -> Iterator[tuple[str, str]]:
    """The kind, and the words, of those lines of a node's account that no other effect tells."""
    match trace.event, trace.fields:
        case "q.state", {"state": state, "epoch": epoch, "leader": int(leader)}:
            yield "state", f"{state} epoch={epoch}{_leader_and_vote(leader, _voted(trace))}"
        case "q.hwm", {"hwm": hwm}:
            yield "hwm", f"high-watermark {hwm}"
        case "q.fsync", {"end": end}:
            yield "flush", f"flush to {end}"
        case "q.garbled", {"peer": int(peer), "reason": reason}:
            yield "garbled", f"cannot take what {node_name(peer)} answered: {reason}"
        case "c.active", {"offset": offset}:
            yield "controller", f"controller active, replayed to {offset}"
        case "c.resign", _:
            yield "controller", "controller gives up"
        case _:
            pass


def _voted(state: Trace) -> ReplicaKey | None:
    match state.fields:
        case {"voted": int(voted), "voted_dir": str(directory)} if voted != NO_NODE:
            return ReplicaKey(NodeId(voted), parse_uuid(directory))
        case _:
            return None


def _leader_and_vote(leader: int, voted: ReplicaKey | None) -> str:
    words = "" if leader == NO_NODE else f" leader={node_name(leader)}"
    return words if voted is None else f"{words} voted={replica_name(voted)}"


def timer_of(role: Role) -> tuple[str, int]:
    """The time-out that ends the role, and when, in monotonic ns."""
    match role:
        case Unattached() | Prospective() | Candidate() | Resigned():
            return "election-timeout", role.election_deadline_ns
        case Follower():
            return "fetch-timeout", role.fetch_deadline_ns
        case Leader():
            return "check-quorum", role.check_quorum_deadline_ns


# --- the log ---


def batch_lines(data: bytes) -> Iterator[str]:
    for batch in split_batches(data):
        content = " ".join(_contents(batch))
        yield f"{_range(batch)} epoch={batch.header.leader_epoch} {content}"


def _range(batch: Batch) -> str:
    first, last = batch.header.base_offset, batch.header.last_offset
    return str(first) if first == last else f"{first}-{last}"


def _offsets(data: bytes) -> str:
    batches = list(split_batches(data))
    if not batches:
        return "none"
    first, last = batches[0].header.base_offset, batches[-1].header.last_offset
    return str(first) if first == last else f"{first}-{last}"


def _contents(batch: Batch) -> Iterator[str]:
    for record in batch.records():
        if batch.header.is_control:
            yield _control_words(decode_control(record.key, record.value))
        else:
            yield _record_word(record.value)


def _control_words(record: ControlRecord) -> str:
    match record:
        case LeaderChange(leader=leader, voters=voters, granting_voters=granting):
            granted = f"granted-by={_nodes(granting)}"
            return f"leader-change {node_name(leader)} of {_nodes(voters)} {granted}"
        case KRaftVersion(version=version):
            return f"kraft-version {version}"
        case Voters(voters=rows):
            return f"voters {_replicas([row.key for row in rows])}"
        case _:
            raise AssertionError(f"no words for {record}")


def _nodes(keys: Sequence[ReplicaKey]) -> str:
    return ",".join(node_name(key.id) for key in keys)


def _record_word(value: bytes | None) -> str:
    record = decode_metadata(value)
    match record:
        case ConfigRecord():
            return f"{record.resource_name}.{record.name}={record.value}"
        case FeatureLevelRecord():
            return f"{record.name}={record.feature_level}"
        case _:
            name = type(record).__name__.removesuffix("Record")
            return {"NoOp": "no-op", "BeginTransaction": "begin", "EndTransaction": "end"}[name]
