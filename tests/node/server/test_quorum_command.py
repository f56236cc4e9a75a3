"""What `kraft-node quorum describe` makes of a leader's answer."""

import json
from dataclasses import replace
from uuid import UUID

from node.ids import ZERO_UUID, Endpoint, Epoch, NodeId, ReplicaKey, uuid_text
from node.server.quorum_command import QuorumDescription, as_lines, replication, status
from node.wire.raft_voters import DescribeQuorumResponse, ReplicaStatus

AT = Endpoint(name="CONTROLLER", host="node-1", port=9101)


def replica(node: int, end: int, caught_up_ms: int, directory: UUID | None = None) -> ReplicaStatus:
    key = ReplicaKey(NodeId(node), UUID(int=node << 64) if directory is None else directory)
    return ReplicaStatus(
        key=key, log_end=end, last_fetch_ms=caught_up_ms + 1, last_caught_up_ms=caught_up_ms
    )


def answered(
    *observers: ReplicaStatus, third_ms: int = 9_985, named: tuple[int, ...] = (1,)
) -> QuorumDescription:
    """Node 1 leads; its clock says 10 s, and it says where these nodes are."""
    return QuorumDescription(
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        response=DescribeQuorumResponse(
            leader=NodeId(1),
            epoch=Epoch(15),
            high_watermark=234_130,
            voters=(
                replica(1, 234_134, 10_000),
                replica(2, 234_130, 9_990),
                replica(3, 234_100, third_ms),
            ),
            observers=observers,
            nodes=tuple((NodeId(node), (AT,) if node == 1 else ()) for node in named),
        ),
    )


def test_the_status_is_kafkas_with_those_who_could_be_voters() -> None:
    candidate, old = replica(4, 234_124, 9_988), replica(5, 234_130, 9_985, ZERO_UUID)
    broker = replica(6, 234_130, 9_985)
    lines = as_lines(status(answered(candidate, old, broker, named=(1, 4, 5))))
    assert lines[:6] == [
        "ClusterId:              4L6g3nShT-eMCtK--X86sw",
        "LeaderId:               1",
        "LeaderEpoch:            15",
        "HighWatermark:          234130",
        "MaxFollowerLag:         34",
        "MaxFollowerLagTimeMs:   15",
    ]
    members = {name: json.loads(text) for name, text in (line.split(": ", 1) for line in lines[6:])}
    assert members["CurrentVoters"][0] == {
        "id": 1,
        "directoryId": "AAAAAAAAAAEAAAAAAAAAAA",
        "endpoints": ["CONTROLLER://node-1:9101"],
    }
    assert [each["id"] for each in members["CurrentObservers"]] == [4, 5, 6]
    assert [each["id"] for each in members["CouldBeVoters"]] == [4]


def test_each_replica_has_its_lag_in_offsets_and_in_time() -> None:
    lines = as_lines(replication(answered(replica(4, 234_124, -1))))
    assert [line.split() for line in lines] == [
        [
            *("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LagTimeMs"),
            *("LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"),
        ],
        ["1", "AAAAAAAAAAEAAAAAAAAAAA", "234134", "0", "0", "10001", "10000", "Leader"],
        ["2", "AAAAAAAAAAIAAAAAAAAAAA", "234130", "4", "10", "9991", "9990", "Follower"],
        ["3", "AAAAAAAAAAMAAAAAAAAAAA", "234100", "34", "15", "9986", "9985", "Follower"],
        ["4", "AAAAAAAAAAQAAAAAAAAAAA", "234124", "10", "-1", "0", "-1", "Observer"],
    ]
    starts = [line.index(word) for line, word in zip(lines[1:], ("234134", "234130"), strict=False)]
    assert len(set(starts)) == 1, "columns stand below each other"


def test_a_follower_that_never_fetched_may_be_behind_by_any_time() -> None:
    assert status(answered(third_ms=-1))["MaxFollowerLagTimeMs"] == -1


def test_a_leader_alone_has_nobody_behind() -> None:
    quorum = answered()
    alone = DescribeQuorumResponse(leader=NodeId(1), voters=quorum.response.voters[:1])
    told = status(QuorumDescription(cluster_id="c", response=alone))
    assert (told["MaxFollowerLag"], told["MaxFollowerLagTimeMs"]) == (0, -1)
    assert told["CouldBeVoters"] == []


def test_of_two_directories_of_the_leaders_id_one_leads() -> None:
    """KIP-856: the lost one votes until it is removed, and fetches no more."""
    quorum = answered()
    lost = replica(1, -1, -1, UUID(int=99))
    for voters in ((lost, *quorum.response.voters), (*quorum.response.voters, lost)):
        both = replace(quorum, response=replace(quorum.response, voters=voters))
        rows = {row["DirectoryId"]: row for row in replication(both)}
        assert rows[uuid_text(lost.key.directory)]["Status"] == "Follower"
        assert rows[uuid_text(lost.key.directory)]["Lag"] == 234_135
        assert sum(row["Status"] == "Leader" for row in rows.values()) == 1
        assert status(both)["MaxFollowerLag"] == 234_135
        assert status(both)["MaxFollowerLagTimeMs"] == -1


def test_a_script_gets_the_same_fields() -> None:
    quorum = answered(replica(4, 1, 1))
    for told in (status(quorum), replication(quorum)):
        assert json.loads(json.dumps(told)) == told
