"""`kraft-node quorum add-voter` and `remove-voter`: an operator changes who votes."""

import json
from collections import deque
from collections.abc import Sequence

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import ReplicaKey, uuid_text
from node.server.outcome import Refusal
from node.server.tool_client import Client
from node.wire import MalformedFrame
from node.wire.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest, VoterChangeResponse

Address = tuple[str, int]
VoterChange = AddVoterRequest | RemoveVoterRequest
_CONTROLLERS = 2
_ANSWER_S = 5.0  # beside what the leader may wait
_DONE = {"add-voter": "added", "remove-voter": "removed"}


def add_voter(
    bootstrap: Sequence[Address], voter: ReplicaKey, endpoints: tuple[Endpoint, ...], wait_ms: int
) -> None:
    """Returns once that is committed. Raises Refusal."""
    request = AddVoterRequest(cluster_id=None, voter=voter, endpoints=endpoints, timeout_ms=wait_ms)
    _change(bootstrap, request, wait_ms / 1000 + _ANSWER_S)


def remove_voter(bootstrap: Sequence[Address], voter: ReplicaKey) -> None:
    """Returns once that is committed. Raises Refusal."""
    _change(bootstrap, RemoveVoterRequest(cluster_id=None, voter=voter), 2 * _ANSWER_S)


def change_line(action: str, voter: ReplicaKey, *, as_json: bool) -> str:
    """What was done, for a person or for a program."""
    done, directory = _DONE[action], uuid_text(voter.directory)
    if as_json:
        return json.dumps({"id": voter.id, "directoryId": directory, "done": done})
    return f"node {voter.id} with directory {directory} was {done}"


def _change(bootstrap: Sequence[Address], request: VoterChange, timeout_s: float) -> None:
    """By the leader, whichever controllers are named."""
    to_ask = deque(bootstrap)
    asked: list[Address] = []
    reasons: list[str] = []
    while to_ask:
        address = to_ask.popleft()
        asked.append(address)
        try:
            answer, leader = _ask(address, request, timeout_s)
        except (OSError, MalformedFrame) as error:
            reasons.append(f"{_text(address)}: {error or 'no answer in time'}")
            continue
        if answer.error is ErrorCode.NONE:
            return
        if answer.error is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
            raise _refused(address, answer)
        reasons.append(f"{_text(address)}: not the leader")
        to_ask += [named for named in leader if named not in asked and named not in to_ask]
    raise Refusal(
        what="no leader said that it is done; it may be, or be done yet",
        where="; ".join(reasons),
        next_step=f"see who votes: kraft-node quorum --bootstrap {_text(bootstrap[0])} describe",
    )


def _ask(
    address: Address, request: VoterChange, timeout_s: float
) -> tuple[VoterChangeResponse, list[Address]]:
    """The answer, and where the leader is, if somebody else leads."""
    with Client(*address, timeout_s=timeout_s) as client:
        answer = client.ask(request)
        assert isinstance(answer, VoterChangeResponse)
        if answer.error is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return answer, []
        cluster = client.ask(DescribeClusterRequest(endpoint_type=_CONTROLLERS))
    assert isinstance(cluster, DescribeClusterResponse)
    return answer, [(m.host, m.port) for m in cluster.members if m.id == cluster.controller]


def _refused(address: Address, answer: VoterChangeResponse) -> Refusal:
    return Refusal(
        what=f"{answer.error.name} ({answer.error.value}): {answer.message or 'nothing was said'}",
        where=f"the leader at {_text(address)}",
        next_step=f"kraft-node quorum --bootstrap {_text(address)} describe --replication",
    )


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
