"""`kraft-node quorum describe`: what the leader says of its quorum, in Kafka's form."""

import json
from dataclasses import dataclass

from node.errors import ErrorCode
from node.ids import uuid_text
from node.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaStatus,
)
from node.server.client import Client
from node.server.outcome import Refusal

CONTROLLERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    cluster_id: str
    answer: DescribeQuorumResponse


def ask_leader(host: str, port: int) -> Quorum:
    """Ask any controller for the leader, and the leader for the quorum.

    The leader is reached by the listener that the question came in by, at its advertised address.
    Raises Refusal.
    """
    where = f"at {host}:{port}"
    again = f"again in a moment: kraft-node quorum --bootstrap {host}:{port} describe"
    try:
        with Client(host, port) as client:
            cluster = client.ask(DescribeClusterRequest(endpoint_type=CONTROLLERS))
        assert isinstance(cluster, DescribeClusterResponse)
        leaders = [member for member in cluster.members if member.id == cluster.controller]
        if not leaders:
            raise Refusal(
                what="the quorum has no leader now",
                where=f"{where}; {len(cluster.members)} controllers are known",
                next_step=again,
            )
        where = f"at {leaders[0].host}:{leaders[0].port}, the leader"
        with Client(leaders[0].host, leaders[0].port) as client:
            answer = client.ask(DescribeQuorumRequest())
    except OSError as error:
        raise Refusal(
            what=f"no answer: {error}",
            where=where,
            next_step="is the node up and this its advertised address? kraft-node start -c FILE",
        ) from error
    assert isinstance(answer, DescribeQuorumResponse)
    error_code = answer.top_error or answer.error
    if error_code is not ErrorCode.NONE:
        raise Refusal(
            what=f"the node refused: {error_code.name} ({error_code.value})",
            where=where,
            next_step=again,
        )
    return Quorum(cluster_id=cluster.cluster_id, answer=answer)


def status_lines(quorum: Quorum) -> list[str]:
    """The form of `kafka-metadata-quorum describe --status`."""
    answer = quorum.answer
    followers = [status for status in answer.voters if status.key.id != answer.leader]
    lags = [_leader_end(answer) - status.log_end for status in followers]
    rows = [
        ("ClusterId", quorum.cluster_id),
        ("LeaderId", answer.leader),
        ("LeaderEpoch", answer.epoch),
        ("HighWatermark", answer.high_watermark),
        ("MaxFollowerLag", max(lags, default=0)),
        ("MaxFollowerLagTimeMs", _lag_time_ms(answer, followers)),
        ("CurrentVoters", _members(answer, answer.voters)),
        ("CurrentObservers", _members(answer, answer.observers)),
    ]
    return [f"{name + ':':<24}{value}" for name, value in rows]


def replication_lines(quorum: Quorum) -> list[str]:
    """The form of `kafka-metadata-quorum describe --replication`."""
    answer = quorum.answer
    header = (
        "NodeId",
        "DirectoryId",
        "LogEndOffset",
        "Lag",
        "LastFetchTimestamp",
        "LastCaughtUpTimestamp",
        "Status",
    )
    rows = [header]
    for statuses, role in ((answer.voters, "Follower"), (answer.observers, "Observer")):
        rows += [_replica_row(answer, status, role) for status in statuses]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _replica_row(
    answer: DescribeQuorumResponse, status: ReplicaStatus, role: str
) -> tuple[str, str, str, str, str, str, str]:
    return (
        str(status.key.id),
        uuid_text(status.key.directory),
        str(status.log_end),
        str(_leader_end(answer) - status.log_end),
        str(status.last_fetch_ms),
        str(status.last_caught_up_ms),
        "Leader" if status.key.id == answer.leader else role,
    )


def _leader_end(answer: DescribeQuorumResponse) -> int:
    ends = [status.log_end for status in answer.voters if status.key.id == answer.leader]
    return max(ends, default=answer.high_watermark)


def _lag_time_ms(answer: DescribeQuorumResponse, followers: list[ReplicaStatus]) -> int:
    """How far behind the leader's now the slowest follower was last caught up; -1 unknown."""
    leader = [s.last_caught_up_ms for s in answer.voters if s.key.id == answer.leader]
    times = [status.last_caught_up_ms for status in followers]
    if not leader or not times or min(times) < 0 or leader[0] < 0:
        return -1
    return max(0, leader[0] - min(times))


def _members(answer: DescribeQuorumResponse, statuses: tuple[ReplicaStatus, ...]) -> str:
    addresses = dict(answer.nodes)
    return json.dumps(
        [
            {
                "id": status.key.id,
                "directoryId": uuid_text(status.key.directory),
                "endpoints": [
                    f"{e.name}://{e.host}:{e.port}" for e in addresses.get(status.key.id, ())
                ],
            }
            for status in statuses
        ]
    )
