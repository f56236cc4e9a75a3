"""`kraft-node quorum describe`: what the leader says of its quorum, in Kafka's form."""

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from node.errors import ErrorCode
from node.ids import uuid_text
from node.server.outcome import Refusal
from node.server.tool_client import Client
from node.wire import MalformedFrame
from node.wire.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaStatus

CONTROLLERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumAnswer:
    cluster_id: str
    answer: DescribeQuorumResponse


Address = tuple[str, int]


def ask_leader(bootstrap: Sequence[Address]) -> QuorumAnswer:
    """The leader's own account, whichever controllers are asked. Raises Refusal.

    Every bootstrap address may be the leader's. If none is, the address is tried under which the
    asked ones know the leader; they may know its inner one only.
    """
    to_ask = deque(bootstrap)
    asked: list[Address] = []
    reasons: list[str] = []
    while to_ask:
        address = to_ask.popleft()
        asked.append(address)
        try:
            answer = _ask(address)
        except (OSError, MalformedFrame) as error:
            reasons.append(f"{_text(address)}: {error}")
            continue
        if isinstance(answer, QuorumAnswer):
            return answer
        reasons.append(f"{_text(address)}: not the leader")
        to_ask += [named for named in answer if named not in asked and named not in to_ask]
    again = f"kraft-node quorum --bootstrap {_text(bootstrap[0])} describe"
    raise Refusal(
        what="no leader answered",
        where="; ".join(reasons),
        next_step=f"again in a moment: {again}",
    )


def _ask(address: Address) -> QuorumAnswer | list[Address]:
    """The quorum if this is the leader, else where it says that the leader is."""
    with Client(*address) as client:
        answer = client.ask(DescribeQuorumRequest())
        cluster = client.ask(DescribeClusterRequest(endpoint_type=CONTROLLERS))
    assert isinstance(answer, DescribeQuorumResponse)
    assert isinstance(cluster, DescribeClusterResponse)
    if ErrorCode.NONE is answer.top_error is answer.error:
        return QuorumAnswer(cluster_id=cluster.cluster_id, answer=answer)
    return [(m.host, m.port) for m in cluster.members if m.id == cluster.controller]


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def status_lines(quorum: QuorumAnswer) -> list[str]:
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


def replication_lines(quorum: QuorumAnswer) -> list[str]:
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
