"""Real processes are sent what once ended or blocked one: they answer or hang up, and go on."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from node import limits
from node.errors import ErrorCode
from node.ids import Epoch, NodeId, Offset
from node.records.batch import encode_batch
from node.server.framing import FrameCutter, with_size
from node.server.tool_client import Client
from node.wire import decode_request, encode_response
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceChange,
    ResourceQuery,
)
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.vote import BeginQuorumEpochRequest
from tests.support.quorum_processes import (
    PATIENCE_S,
    NodeProcess,
    QuorumProcesses,
    make_quorum,
    quorum_processes,
    stop_all,
    wait_until,
)

pytestmark = pytest.mark.slow

LONGEST = "x" * limits.MAX_STRING_BYTES


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumProcesses]:
    with quorum_processes(tmp_path_factory.mktemp("three"), 3) as quorum:
        yield quorum


def set_config(resource: str, key: str, value: str) -> AlterConfigsRequest:
    change = ConfigChange(name=key, operation=0, value=value)
    return AlterConfigsRequest(
        resources=(ResourceChange(type=16, name=resource, changes=(change,)),),
        validate_only=False,
    )


def processes(quorum: QuorumProcesses) -> list[int]:
    return [node.process.pid for node in quorum.running() if node.process is not None]


def alive(quorum: QuorumProcesses) -> bool:
    return all(node.process and node.process.poll() is None for node in quorum.nodes.values())


def told_of(quorum: QuorumProcesses, key: str, value: str, version: int) -> ErrorCode:
    """What the active controller answers to a value of the resource `limit`."""

    def answered(client: Client) -> ErrorCode | None:
        answer = client.send(set_config("limit", key, value), version=version)
        assert isinstance(answer, AlterConfigsResponse)
        found = answer.results[0].error
        return None if found is ErrorCode.NOT_CONTROLLER else found

    return quorum.told("an answer of the active controller", answered)


@pytest.mark.parametrize(
    ("key", "value", "version", "error"),
    [
        ("match", "client_id=a{99999999999}", 1, ErrorCode.INVALID_CONFIG),
        ("match", "client_id=" + "(" * 1000 + ")" * 1000, 1, ErrorCode.INVALID_CONFIG),
        ("interval.ms", "x" * 32_700, 0, ErrorCode.INVALID_CONFIG),
        ("metrics", "x" * 40_000, 1, ErrorCode.INVALID_CONFIG),
        ("metrics", LONGEST, 1, ErrorCode.NONE),
    ],
    ids=["repetitions", "parentheses", "echoed", "not for version 3", "the longest"],
)
def test_a_value_at_the_limit_is_answered(
    three: QuorumProcesses, key: str, value: str, version: int, error: ErrorCode
) -> None:
    before = processes(three)
    assert told_of(three, key, value, version) is error
    three.write("after", 1000)
    assert three.read("after") == "1000"
    assert alive(three)
    assert processes(three) == before


def test_what_was_taken_is_described_in_every_version(three: QuorumProcesses) -> None:
    assert told_of(three, "metrics", LONGEST, version=1) is ErrorCode.NONE
    query = DescribeConfigsRequest(resources=(ResourceQuery(type=16, name="limit", keys=None),))
    for version in (1, 2, 3, 4):

        def described(client: Client, version: int = version) -> dict[str, str | None] | None:
            answer = client.send(query, version=version)
            assert isinstance(answer, DescribeConfigsResponse)
            (result,) = answer.results
            if result.error is not ErrorCode.NONE:
                return None
            return {entry.name: entry.value for entry in result.entries}

        assert three.told(f"version {version}", described)["metrics"] == LONGEST
    assert alive(three)


def test_a_request_that_is_larger_than_a_node_takes_ends_its_connection(
    three: QuorumProcesses,
) -> None:
    before = processes(three)
    with three.leader().client() as client, pytest.raises(ConnectionError):
        client.send(set_config("limit", "metrics", "x" * 60 * 1024 * 1024))
    three.write("after", 2000)
    assert three.read("after") == "2000"
    assert alive(three)
    assert processes(three) == before


def test_an_idle_interval_of_zero_writes_nothing(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 1, "metadata.max.idle.interval.ms=0\n") as quorum:
        node = quorum.nodes[1]
        quorum.write("r", 1000)
        (segment,) = (node.directory / "data").glob("*/*.log")
        size = segment.stat().st_size
        # As long as it takes to answer so many: the node that spun wrote 9,000 no-ops a second.
        for _ in range(50):
            assert quorum.read("r") == "1000"
        assert segment.stat().st_size == size


# --- a leader that sends what no node could replay ---

PATIENT = """\
controller.quorum.fetch.timeout.ms=60000
controller.quorum.request.timeout.ms=60000
"""


class FalseLeader:
    """The voter 2 of a quorum of two, which answers each Fetch with `records`."""

    def __init__(self, node: NodeProcess, port: int) -> None:
        self._node = node
        self._listener = socket.create_server(("127.0.0.1", port))
        self._listener.settimeout(PATIENCE_S)

    def announce(self, epoch: int) -> None:
        """By the listener of the voters; others may not say who leads."""
        with Client("127.0.0.1", self._node.inner, PATIENCE_S) as client:
            client.send(
                BeginQuorumEpochRequest(
                    cluster_id=None,
                    voter=NodeId(1),
                    voter_directory=None,
                    leader=NodeId(2),
                    epoch=Epoch(epoch),
                )
            )

    def serve_one(self, epoch: int, records: bytes) -> None:
        """Answer the Fetches of one connection, until the node or something else ends it."""
        connection, _ = self._listener.accept()
        connection.settimeout(PATIENCE_S)
        cutter = FrameCutter()
        with connection, suppress(ConnectionError):
            while data := connection.recv(1 << 16):
                for frame in cutter.cut(data):
                    header, request = decode_request(frame)
                    if not isinstance(request, FetchRequest):
                        return
                    answer = FetchResponse(leader=NodeId(2), epoch=Epoch(epoch), records=records)
                    connection.sendall(with_size(encode_response(header, answer)))

    def close(self) -> None:
        self._listener.close()


def test_a_follower_hangs_up_on_what_nobody_can_replay(tmp_path: Path) -> None:
    # It waits for this process as long as the test does.
    quorum = make_quorum(tmp_path, 2, PATIENT)
    node, other = quorum.nodes[1], quorum.nodes[2]
    leader = FalseLeader(node, other.inner)
    unframed = encode_batch(
        [(None, b"\2\x7f\0")], base_offset=Offset(0), leader_epoch=Epoch(1), timestamp_ms=1
    )
    try:
        node.start()
        node.client().close()

        def garbled() -> bool | None:
            leader.announce(epoch=7)
            leader.serve_one(epoch=7, records=unframed)
            return True if '"q.garbled"' in node.traces.read_text() else None

        wait_until(garbled, "the follower says so")
        assert node.process is not None
        assert node.process.poll() is None
        assert '"q.append"' not in node.traces.read_text()
    finally:
        leader.close()
        stop_all(quorum)


def test_a_follower_keeps_what_only_others_can_replay_and_says_that_it_will_not_lead(
    tmp_path: Path,
) -> None:
    quorum = make_quorum(tmp_path, 2, PATIENT)
    node, other = quorum.nodes[1], quorum.nodes[2]
    leader = FalseLeader(node, other.inner)
    quota = encode_batch(
        [(None, b"\1\x0e\0any body")], base_offset=Offset(0), leader_epoch=Epoch(1), timestamp_ms=1
    )
    says = "a ClientQuotaRecord (type 14, version 0) at offset 0, which this node cannot replay"
    log = node.directory / "data" / "__cluster_metadata-0" / f"{0:020}.log"
    try:
        node.start()
        node.client().close()

        def kept() -> bool | None:
            leader.announce(epoch=7)
            leader.serve_one(epoch=7, records=quota)
            return True if '"q.unfit"' in node.traces.read_text() else None

        wait_until(kept, "the follower says so")
        assert says in node.errors
        assert log.read_bytes() == quota
        # And after a restart, in which nobody tells it anything.
        node.kill()
        node.start()
        wait_until(lambda: node.errors.count(says) == 2 or None, "it says so again")
    finally:
        leader.close()
        stop_all(quorum)
