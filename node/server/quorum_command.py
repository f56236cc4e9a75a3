"""`kraft-node quorum describe`: what the leader says of its quorum, in Kafka's form."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from node.errors import ErrorCode
from node.ids import ZERO_UUID, uuid_text
from node.server.outcome import Refusal
from node.server.tool_client import (
    Address,
    Client,
    NoLeaderAnsweredError,
    address_text,
    addresses_of_leader,
    ask_leader,
)
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaStatus

Member = dict[str, int | str | list[str]]
Value = int | str | list[Member]
Row = dict[str, Value]  # by Kafka's names, in its order


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumAnswer:
    cluster_id: str
    answer: DescribeQuorumResponse


def describe(bootstrap: Sequence[Address]) -> QuorumAnswer:
    """The leader's own account, whichever controllers are asked. Raises Refusal."""
    try:
        return ask_leader(bootstrap, _ask)
    except NoLeaderAnsweredError as error:
        raise Refusal(
            what="no leader answered", where=str(error), next_step=_next_step(bootstrap, error)
        ) from error


def _next_step(bootstrap: Sequence[Address], error: NoLeaderAnsweredError) -> str:
    again = f"kraft-node quorum --bootstrap {address_text(bootstrap[0])} describe"
    if not error.unled:
        return f"again in a moment: {again}"
    return f"start the voters that are off, for a majority of them elects a leader; then {again}"


def _ask(address: Address) -> QuorumAnswer | list[Address]:
    """The quorum if this is the leader, else where it says that the leader is."""
    with Client(*address) as client:
        answer = client.ask(DescribeQuorumRequest())
        cluster = client.describe_cluster()
    assert isinstance(answer, DescribeQuorumResponse)
    if ErrorCode.NONE is answer.top_error is answer.error:
        return QuorumAnswer(cluster_id=cluster.cluster_id, answer=answer)
    return addresses_of_leader(cluster)


def status(quorum: QuorumAnswer) -> Row:
    """What `kafka-metadata-quorum describe --status` tells, and who could be added to the voters
    (KIP-856: an observer of which id and directory id are known)."""
    answer = quorum.answer
    leader = _leader(answer)
    followers = [status for status in answer.voters if status is not leader]
    lags = [_leader_end(answer) - status.log_end for status in followers]
    could_be = [status for status in answer.observers if status.key.directory != ZERO_UUID]
    return {
        "ClusterId": quorum.cluster_id,
        "LeaderId": answer.leader,
        "LeaderEpoch": answer.epoch,
        "HighWatermark": answer.high_watermark,
        "MaxFollowerLag": max(lags, default=0),
        "MaxFollowerLagTimeMs": _longest(_lag_time_ms(answer, each) for each in followers),
        "CurrentVoters": _members(answer, answer.voters),
        "CurrentObservers": _members(answer, answer.observers),
        "CouldBeVoters": _members(answer, could_be),
    }


def replication(quorum: QuorumAnswer) -> list[Row]:
    """What `kafka-metadata-quorum describe --replication` tells, and KIP-595's LagTimeMs: for how
    long a replica has lacked what the leader has, -1 unknown."""
    answer = quorum.answer
    return [
        {
            "NodeId": status.key.id,
            "DirectoryId": uuid_text(status.key.directory),
            "LogEndOffset": status.log_end,
            "Lag": _leader_end(answer) - status.log_end,
            "LagTimeMs": _lag_time_ms(answer, status),
            "LastFetchTimestamp": status.last_fetch_ms,
            "LastCaughtUpTimestamp": status.last_caught_up_ms,
            "Status": "Leader" if status is _leader(answer) else role,
        }
        for statuses, role in ((answer.voters, "Follower"), (answer.observers, "Observer"))
        for status in statuses
    ]


def as_lines(told: Row | list[Row]) -> list[str]:
    """In Kafka's form: a line a field, or a table of replicas."""
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


def _leader(answer: DescribeQuorumResponse) -> ReplicaStatus | None:
    """Its own row, if it votes. Two directories of its id may (KIP-856): the one that is lost has
    nothing newer."""
    named = [status for status in answer.voters if status.key.id == answer.leader]
    return max(named, key=lambda status: status.last_caught_up_ms, default=None)


def _leader_end(answer: DescribeQuorumResponse) -> int:
    leader = _leader(answer)
    return answer.high_watermark if leader is None else leader.log_end


def _lag_time_ms(answer: DescribeQuorumResponse, status: ReplicaStatus) -> int:
    """How far behind the leader's now it was last caught up; -1 unknown."""
    leader = _leader(answer)
    if leader is None or min(leader.last_caught_up_ms, status.last_caught_up_ms) < 0:
        return -1
    return max(0, leader.last_caught_up_ms - status.last_caught_up_ms)


def _longest(lags_ms: Iterable[int]) -> int:
    """-1 where one is unknown, as Kafka has it: it may be any."""
    found = list(lags_ms)
    return -1 if -1 in found or not found else max(found)


def _members(answer: DescribeQuorumResponse, statuses: Iterable[ReplicaStatus]) -> list[Member]:
    addresses = dict(answer.nodes)
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
