"""Real processes are sent what only voters may say: by clients, and where voters come in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from node.errors import ErrorCode
from node.ids import Epoch, NodeId, ReplicaKey
from node.raft.roles import LAST_EPOCH
from node.server.real_disk import RealDisk
from node.server.tool_client import Client
from node.storage.election_store import ElectionStore
from node.wire.apis import Request
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.vote import BeginQuorumEpochRequest, QuorumEpochResponse, VoteRequest, VoteResponse
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    make_quorum,
    quorum_processes,
    run_kraft_node,
    stop_all,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumProcesses]:
    with quorum_processes(tmp_path_factory.mktemp("three"), 3) as quorum:
        yield quorum


def described(quorum: QuorumProcesses) -> DescribeQuorumResponse:
    def look(leader: NodeProcess) -> DescribeQuorumResponse:
        with leader.client() as client:
            answer = client.send(DescribeQuorumRequest())
        assert isinstance(answer, DescribeQuorumResponse)
        return answer

    return quorum.under_one_leader(look)


def claims(quorum: QuorumProcesses, epoch: int) -> list[Request]:
    """That somebody stands for election, and that somebody leads."""
    return [
        VoteRequest(
            cluster_id=quorum.cluster_id,
            voter=NodeId(-1),
            voter_directory=None,
            epoch=Epoch(epoch),
            candidate=ReplicaKey(NodeId(9)),
            last_epoch=0,
            last_offset=0,
            pre_vote=False,
        ),
        BeginQuorumEpochRequest(
            cluster_id=quorum.cluster_id,
            voter=NodeId(-1),
            voter_directory=None,
            leader=NodeId(3),
            epoch=Epoch(epoch),
        ),
    ]


def told(port: int, request: Request) -> tuple[ErrorCode, ErrorCode]:
    with Client("127.0.0.1", port) as client:
        answer = client.send(request)
    assert isinstance(answer, VoteResponse | QuorumEpochResponse | FetchResponse)
    return answer.top_error, answer.error


def stored_epoch(node: NodeProcess) -> int:
    return ElectionStore(RealDisk(node.directory / "data")).load().epoch


def test_clients_have_no_say_in_the_quorum(three: QuorumProcesses) -> None:
    three.write("before", 1000)
    quorum = described(three)
    far = quorum.epoch + 1_000_000
    refused = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE)
    for node in three.nodes.values():
        for request in claims(three, far):
            assert told(node.outer, request) == refused
        for voter in quorum.voters:
            fetch = FetchRequest(
                cluster_id=three.cluster_id,
                replica=voter.key,
                epoch=quorum.epoch,
                fetch_offset=1,
                last_epoch=quorum.epoch,
                max_wait_ms=0,
                max_bytes=1000,
            )
            assert told(node.outer, fetch) == refused
    assert max(stored_epoch(node) for node in three.nodes.values()) < far
    three.write("after", 1000)


def test_no_request_ends_elections(three: QuorumProcesses) -> None:
    three.write("before", 1000)
    none, invalid = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
    # A leader of Kafka's would end where the partition is what is invalid.
    refused = {VoteRequest: (none, invalid), BeginQuorumEpochRequest: (invalid, none)}
    for epoch in (LAST_EPOCH, LAST_EPOCH - 1, 2**31 - 2**16):
        for node in three.nodes.values():
            for request in claims(three, epoch):
                assert told(node.inner, request) == refused[type(request)]
    assert max(stored_epoch(node) for node in three.nodes.values()) < 1_000_000
    leader = three.leader()
    leader.kill()
    three.write("after", 2000)
    leader.start()
    assert three.read("after") == "2000"


def test_who_is_reached_by_another_listener_than_its_peers_says_so(tmp_path: Path) -> None:
    quorum = make_quorum(tmp_path, 1)
    node = quorum.nodes[1]
    text = node.config.read_text()
    names = "controller.listener.names=CONTROLLER,EXTERNAL"
    assert names in text
    node.config.write_text(text.replace(names, "controller.listener.names=EXTERNAL,CONTROLLER"))
    try:
        done = run_kraft_node("start", "-c", node.config)
    finally:
        stop_all(quorum)
    assert done.returncode != 0
    assert "reach this node by CONTROLLER" in done.stderr
    assert "name CONTROLLER first" in done.stderr
