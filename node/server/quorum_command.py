"""`kraft-node quorum`: describes the quorum in Kafka's form, and adds and removes voters."""

import json
from collections.abc import Iterable, Sequence
from functools import partial

from node.errors import ErrorCode
from node.ids import ZERO_UUID, Endpoint, ReplicaKey, uuid_text
from node.lazy_dataclass import dataclass
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
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveVoterRequest,
    ReplicaStatus,
    VoterChangeResponse,
)

Member = dict[str, int | str | list[str]]
Value = int | str | list[Member]
Row = dict[str, Value]  # by Kafka's names, in its order


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    cluster_id: str
    response: DescribeQuorumResponse


def describe(bootstrap: Sequence[Address]) -> QuorumDescription:
    """The leader's own account, whichever controllers are asked. Raises Refusal."""
    try:
        return send_to_leader(bootstrap, _send)
    except NoLeaderFoundError as error:
        raise Refusal(
            what="no leader answered", where=str(error), next_step=_next_step(bootstrap, error)
        ) from error


def _next_step(bootstrap: Sequence[Address], error: NoLeaderFoundError) -> str:
    again = f"kraft-node quorum --bootstrap {address_text(bootstrap[0])} describe"
    if not error.unled:
        return f"again in a moment: {again}"
    return f"start the voters that are off, for a majority of them elects a leader; then {again}"


def _send(address: Address) -> QuorumDescription | list[Address]:
    """The quorum if the controller asked is the leader, otherwise the address of the leader."""
    with Client(*address) as client:
        response = client.send(DescribeQuorumRequest())
        cluster = client.describe_cluster()
    assert isinstance(response, DescribeQuorumResponse)
    if ErrorCode.NONE is response.top_error is response.error:
        return QuorumDescription(cluster_id=cluster.cluster_id, response=response)
    return addresses_of_leader(cluster)


def status(quorum: QuorumDescription) -> Row:
    """The output of `kafka-metadata-quorum describe --status`, and the candidates for new voters
    (KIP-856): observers with a directory id and known endpoints. This node names those that may
    vote, no brokers; Kafka names only voters.
    """
    response = quorum.response
    leader = _leader(response)
    followers = [status for status in response.voters if status is not leader]
    lags = [_leader_end(response) - status.log_end for status in followers]
    named = dict(response.nodes)
    could_be = [
        status
        for status in response.observers
        if status.key.directory != ZERO_UUID and status.key.id in named
    ]
    return {
        "ClusterId": quorum.cluster_id,
        "LeaderId": response.leader,
        "LeaderEpoch": response.epoch,
        "HighWatermark": response.high_watermark,
        "MaxFollowerLag": max(lags, default=0),
        "MaxFollowerLagTimeMs": _longest(_lag_time_ms(response, each) for each in followers),
        "CurrentVoters": _members(response, response.voters),
        "CurrentObservers": _members(response, response.observers),
        "CouldBeVoters": _members(response, could_be),
    }


def replication(quorum: QuorumDescription) -> list[Row]:
    """The output of `kafka-metadata-quorum describe --replication`, and KIP-595's LagTimeMs: for
    how long a replica has lacked what the leader has, -1 unknown.
    """
    response = quorum.response
    return [
        {
            "NodeId": status.key.id,
            "DirectoryId": uuid_text(status.key.directory),
            "LogEndOffset": status.log_end,
            "Lag": _leader_end(response) - status.log_end,
            "LagTimeMs": _lag_time_ms(response, status),
            "LastFetchTimestamp": status.last_fetch_ms,
            "LastCaughtUpTimestamp": status.last_caught_up_ms,
            "Status": "Leader" if status is _leader(response) else role,
        }
        for statuses, role in ((response.voters, "Follower"), (response.observers, "Observer"))
        for status in statuses
    ]


def as_lines(told: Row | list[Row]) -> list[str]:
    """Kafka's form: a line a field, or a table of replicas."""
    if isinstance(told, dict):
        return [f"{name + ':':<24}{_shown(value)}" for name, value in told.items()]
    rows = [list(told[0])] + [[_shown(value) for value in row.values()] for row in told]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _shown(value: Value) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)


def _leader(response: DescribeQuorumResponse) -> ReplicaStatus | None:
    """The leader's own row, if it votes. Two directories of its id may be voters (KIP-856): the
    lost one has nothing newer.
    """
    named = [status for status in response.voters if status.key.id == response.leader]
    return max(named, key=lambda status: status.last_caught_up_ms, default=None)


def _leader_end(response: DescribeQuorumResponse) -> int:
    leader = _leader(response)
    return response.high_watermark if leader is None else leader.log_end


def _lag_time_ms(response: DescribeQuorumResponse, status: ReplicaStatus) -> int:
    """How long before the leader's now it was last caught up; -1 unknown."""
    leader = _leader(response)
    if leader is None or min(leader.last_caught_up_ms, status.last_caught_up_ms) < 0:
        return -1
    return max(0, leader.last_caught_up_ms - status.last_caught_up_ms)


def _longest(lags_ms: Iterable[int]) -> int:
    """-1 if one is unknown, as in Kafka: it may be any."""
    found = list(lags_ms)
    return -1 if -1 in found or not found else max(found)


def _members(response: DescribeQuorumResponse, statuses: Iterable[ReplicaStatus]) -> list[Member]:
    addresses = dict(response.nodes)
    return [
        {
            "id": status.key.id,
            "directoryId": uuid_text(status.key.directory),
            "endpoints": [
                f"{e.name}://{e.host}:{e.port}" for e in addresses.get(status.key.id, ())
            ],
        }
        for status in statuses
    ]


# `kraft-node quorum add-voter` and `remove-voter`: an operator changes the voters.


ChangeRequest = AddVoterRequest | RemoveVoterRequest
_ANSWER_S = 5.0  # beside the leader's own timeout
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
    """The change made, as a text or as JSON."""
    done, directory = _DONE[action], uuid_text(voter.directory)
    if as_json:
        return json.dumps({"id": voter.id, "directoryId": directory, "done": done})
    return f"node {voter.id} with directory {directory} was {done}"


def _change(bootstrap: Sequence[Address], request: ChangeRequest, timeout_s: float) -> None:
    try:
        address, response = send_to_leader(bootstrap, partial(_send_change, request, timeout_s))
    except NoLeaderFoundError as error:
        where = address_text(bootstrap[0])
        raise Refusal(
            what="no leader said that it is done; it may be, or be done yet",
            where=str(error),
            next_step=f"see the voters with: kraft-node quorum --bootstrap {where} describe",
        ) from error
    if response.error is not ErrorCode.NONE:
        raise _refused(address, response)


def _send_change(
    request: ChangeRequest, timeout_s: float, address: Address
) -> tuple[Address, VoterChangeResponse] | list[Address]:
    """The response, or the leader's address if the controller asked is not the leader. Raises
    NoLeaderAnsweredError if a response is lost: the change may be done, and would be refused if
    requested again.
    """
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
