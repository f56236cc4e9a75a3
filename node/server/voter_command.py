"""`kraft-node quorum add-voter` and `remove-voter`: an operator changes who votes."""

import json
from collections.abc import Sequence
from functools import partial

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import ReplicaKey, uuid_text
from node.server.outcome import Refusal
from node.server.tool_client import (
    Address,
    Client,
    NoLeaderFoundError,
    address_text,
    addresses_of_leader,
    send_to_leader,
)
from node.wire import MalformedFrame
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest, VoterChangeResponse

ChangeRequest = AddVoterRequest | RemoveVoterRequest
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


def _change(bootstrap: Sequence[Address], request: ChangeRequest, timeout_s: float) -> None:
    try:
        address, response = send_to_leader(bootstrap, partial(_send, request, timeout_s))
    except NoLeaderFoundError as error:
        where = address_text(bootstrap[0])
        raise Refusal(
            what="no leader said that it is done; it may be, or be done yet",
            where=str(error),
            next_step=f"see who votes with: kraft-node quorum --bootstrap {where} describe",
        ) from error
    if response.error is not ErrorCode.NONE:
        raise _refused(address, response)


def _send(
    request: ChangeRequest, timeout_s: float, address: Address
) -> tuple[Address, VoterChangeResponse] | list[Address]:
    """The answer, or where the leader is if somebody else leads. Raises NoLeaderAnsweredError where
    an answer is lost: what was asked for may be done, and asked again it would be refused."""
    with Client(*address, timeout_s=timeout_s) as client:
        try:
            response = client.send(request)
        except (OSError, MalformedFrame) as error:
            lost = f"{address_text(address)}: {error or 'no answer in time'}"
            raise NoLeaderFoundError(lost) from error
        assert isinstance(response, VoterChangeResponse)
        if response.error is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return address, response
        return addresses_of_leader(client.describe_cluster())


def _refused(address: Address, response: VoterChangeResponse) -> Refusal:
    leader = address_text(address)
    why = f": {response.message}" if response.message else "; the leader gave no reason"
    return Refusal(
        what=f"{response.error.name} ({response.error.value}){why}",
        where=f"the leader at {leader}",
        next_step=f"kraft-node quorum --bootstrap {leader} describe --replication",
    )
