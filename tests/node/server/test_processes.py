"""Real processes on loopback: a node's life from format to SIGKILL, and a quorum of three."""

import fcntl
import json
import os
import resource
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from node.errors import ErrorCode
from node.ids import NO_NODE
from node.server import cli
from node.server.output import TRACE_FIELDS
from node.server.tool_client import Client
from node.wire import API_RANGES
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse
from tests.support.quorum_processes import (
    CONTROLLERS,
    PATIENCE_S,
    NodeProcess,
    QuorumProcesses,
    get_interval,
    make_quorum,
    quorum_processes,
    run_kraft_node,
    set_interval,
    stop_all,
    wait_until,
)

pytestmark = pytest.mark.slow

Done = subprocess.CompletedProcess[str]
FOUND = ("n.cut", "n.unmarked")


def trace_lines(node: NodeProcess) -> list[dict[str, object]]:
    return [json.loads(line) for line in node.traces.read_text().splitlines()]


def test_one_node_from_format_to_its_last_word(tmp_path: Path) -> None:
    # Without no-ops, of which one may be under way when the process is killed.
    with quorum_processes(tmp_path, 1, "metadata.max.idle.interval.ms=0\n") as quorum:
        node = quorum.nodes[1]
        quorum.write("r", 100)
        assert quorum.read("r") == "100"
        assert node.terminate() == 0
        node.start()
        assert quorum.read("r") == "100"
        quorum.write("r", 200)
        node.kill()
        (segment,) = node.directory.rglob("*0.log")
        flushed = segment.stat().st_size
        os.truncate(segment, flushed + 300)  # as a power cut leaves a size without its bytes
        node.start()
        assert quorum.read("r") == "200"
        assert node.terminate() == 0
        (mark,) = node.directory.rglob("flushed-*")
        mark.unlink()
        node.start()
        assert quorum.read("r") == "200"
        node.kill()
    lines = trace_lines(node)
    by_life: dict[object, list[dict[str, object]]] = {}
    for line in lines:
        by_life.setdefault(line["inc"], []).append(line)
    for life in by_life.values():
        assert [line["seq"] for line in life] == list(range(len(life)))
        assert life[0]["ev"] == "n.start"
    _, _, torn, unmarked = lives = list(by_life.values())
    assert [life[-1]["ev"] == "n.stop" for life in lives] == [True, False, True, False]
    found = [[line["ev"] for line in life if line["ev"] in FOUND] for life in lives]
    assert found == [[], [], ["n.cut"], ["n.unmarked"]]
    start, cut = torn[:2]
    assert (cut["ev"], cut["end"], cut["bytes"]) == ("n.cut", start["log_end"], 300)
    assert cut["reason"] == "magic is 0, not 2"
    before, found_then, found_last = (int(str(life[0]["log_end"])) for life in lives[1:])
    # What a start finds is vouched for, and not all that was flushed since.
    assert before <= int(str(cut["flushed"])) <= found_then
    assert found_then <= int(mark.name.removeprefix("flushed-")) <= found_last
    assert found_last == unmarked[1]["end"]
    common = ("ev", "node", "dir", "inc", "seq", "mono", "wall")
    for line in lines:
        assert tuple(line) == common + TRACE_FIELDS[str(line["ev"])]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumProcesses]:
    with quorum_processes(tmp_path_factory.mktemp("three"), 3) as quorum:
        yield quorum


def test_three_elect_write_and_read(three: QuorumProcesses) -> None:
    three.write("written", 12345)
    assert three.read("written") == "12345"
    assert three.read("never written") == ""


def test_every_node_names_the_leader_and_the_address_it_was_asked_at(
    three: QuorumProcesses,
) -> None:
    for node in three.nodes.values():
        answer, leader = three.under_one_leader(partial(_described, node))
        assert answer.cluster_id == three.cluster_id
        assert answer.controller == leader.id
        named = {int(member.id): member.port for member in answer.members}
        assert sorted(named) == [1, 2, 3]
        assert named[node.id] == node.outer


def _described(
    node: NodeProcess, leader: NodeProcess
) -> tuple[DescribeClusterResponse, NodeProcess] | None:
    """None from one that knows of no leader just now."""
    with node.client() as client:
        answer = client.send(DescribeClusterRequest(endpoint_type=CONTROLLERS))
    assert isinstance(answer, DescribeClusterResponse)
    return None if answer.controller == NO_NODE else (answer, leader)


def test_api_versions_in_every_version(three: QuorumProcesses) -> None:
    with three.nodes[2].client() as client:
        for version in range(5):
            answer = client.send(ApiVersionsRequest(), version=version)
            assert isinstance(answer, ApiVersionsResponse)
            assert answer.apis == API_RANGES


def test_topics_need_brokers(three: QuorumProcesses) -> None:
    answer = three.told("an active controller", _created_by_who_is_active)
    assert answer.results[0].error == 38


def _created_by_who_is_active(client: Client) -> CreateTopicsResponse | None:
    """A leader is active once it has replayed its log, and is named before that."""
    answer = client.send(CreateTopicsRequest(topics=(NewTopic(name="t"),)))
    assert isinstance(answer, CreateTopicsResponse)
    return None if answer.results[0].error == ErrorCode.NOT_CONTROLLER else answer


def test_followers_refuse_reads(three: QuorumProcesses) -> None:
    def read_there(leader: NodeProcess) -> list[str | None]:
        read = []
        for node in three.nodes.values():
            if node is not leader:
                with node.client() as client:
                    read.append(get_interval(client, "written"))
        return read

    assert three.under_one_leader(read_there) == [None, None]


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_quorum_describe_asks_the_leader_whoever_is_asked(
    three: QuorumProcesses, asked: int
) -> None:
    ask = ("quorum", "--bootstrap", f"127.0.0.1:{three.nodes[asked].outer}", "describe")

    def describe(leader: NodeProcess) -> tuple[Done, Done, NodeProcess] | None:
        """None where the one that is asked knows of no leader just now."""
        done = run_kraft_node(*ask), run_kraft_node(*ask, "--replication")
        unknown = any("no leader answered" in each.stderr for each in done)
        return None if unknown else (*done, leader)

    status, replication, leader = three.under_one_leader(describe)
    assert status.returncode == 0, status.stderr
    assert replication.returncode == 0, replication.stderr
    shown = dict(line.split(":", 1) for line in status.stdout.splitlines())
    assert shown["ClusterId"].strip() == three.cluster_id
    assert int(shown["LeaderId"]) == leader.id
    assert [voter["id"] for voter in json.loads(shown["CurrentVoters"])] == [1, 2, 3]
    rows = [line.split() for line in replication.stdout.splitlines()]
    assert rows[0][:4] == ["NodeId", "DirectoryId", "LogEndOffset", "Lag"]
    assert sorted((row[0], row[-1] == "Leader") for row in rows[1:]) == [
        (str(node), node == leader.id) for node in (1, 2, 3)
    ]


def test_a_dead_leader_is_replaced_and_comes_back(three: QuorumProcesses) -> None:
    three.write("before", 1000)
    dead = three.leader()
    dead.kill()
    three.write("after", 2000)
    assert three.leader() is not dead
    assert three.read("before") == "1000"
    dead.start()
    assert three.read("after") == "2000"


def test_power_is_given_up_in_good_order(three: QuorumProcesses) -> None:
    leader = three.leader()
    assert leader.terminate() == 0, leader.errors
    # By the account: it may have lost its office before the signal came.
    told = [line["ev"] for line in trace_lines(leader) if line["ev"] in ("c.active", "c.resign")]
    assert told
    assert told[-1] == "c.resign"
    three.write("resigned", 3000)
    leader.start()
    leader.client().close()


def test_all_killed_at_once_remember(three: QuorumProcesses) -> None:
    three.write("kept", 4000)
    stop_all(three)
    three.start()
    assert three.read("kept") == "4000"


# --- refusals ---


def test_a_directory_that_was_not_formatted(tmp_path: Path) -> None:
    node = make_quorum(tmp_path, 1).nodes[1]
    data = node.directory / "data"
    data.rename(node.directory / "elsewhere")
    done = run_kraft_node("start", "-c", node.config)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the log directory does not exist")
    data.mkdir()
    done = run_kraft_node("start", "-c", node.config)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the log directory is not formatted")
    assert "try: kraft-node format" in done.stderr


def test_a_directory_of_another_node(tmp_path: Path) -> None:
    node = make_quorum(tmp_path, 1).nodes[1]
    node.config.write_text(node.config.read_text().replace("node.id=1", "node.id=2"))
    done = run_kraft_node("start", "-c", node.config)
    assert done.returncode == 1
    assert "this disk is node 1's, and the file says node.id=2" in done.stderr


def test_a_directory_in_use(tmp_path: Path) -> None:
    node = make_quorum(tmp_path, 1).nodes[1]
    descriptor = os.open(node.directory / "data" / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    done = run_kraft_node("start", "-c", node.config)
    os.close(descriptor)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the log directory is used by another process")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 1) as quorum:
        other = make_quorum(tmp_path / "other", 1).nodes[1]
        text = other.config.read_text().replace(str(other.outer), str(quorum.nodes[1].outer))
        other.config.write_text(text)
        done = run_kraft_node("start", "-c", other.config)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot listen")


def test_formatting_twice(tmp_path: Path) -> None:
    node = make_quorum(tmp_path, 1).nodes[1]
    meta = dict(
        line.split("=", 1)
        for line in (node.directory / "data" / "meta.properties").read_text().splitlines()
        if "=" in line
    )
    voters = f"1@127.0.0.1:{node.inner}:{meta['directory.id']}"
    again: list[str | Path] = [
        "format",
        "-t",
        meta["cluster.id"],
        "-c",
        node.config,
        "--initial-controllers",
        voters,
    ]
    done = run_kraft_node(*again)
    assert done.returncode == 1
    assert "formatted already" in done.stderr
    assert run_kraft_node(*again, "--ignore-formatted").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["begin"],
        ["start"],
        ["quorum", "describe"],
        ["quorum", "--bootstrap", "here", "describe"],
        ["format", "-t", "x", "-c", "f", "--initial-controllers", "1@host:9"],
        ["format", "-t", "x", "-c", "f", "--initial-controllers", "1@host:9:short"],
    ],
)
def test_wrong_usage_is_254(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main(arguments)
    assert leaving.value.code == 254
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "--help" in said


def test_a_process_ends_with_the_code_of_its_usage() -> None:
    wrong, asked = run_kraft_node("begin"), run_kraft_node("--help")
    assert (wrong.returncode, asked.returncode) == (254, 0)
    assert wrong.stderr.startswith("error: ")
    assert "example" in asked.stdout


@pytest.mark.parametrize("command", ["format", "start", "quorum", "quorum describe", "dump-log"])
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main([*command.split(), "--help"])
    assert leaving.value.code == 0
    assert "example" in capsys.readouterr().out


def test_a_file_that_is_missing_or_wrong(tmp_path: Path) -> None:
    done = run_kraft_node("start", "-c", tmp_path / "none.properties")
    assert done.returncode == 1
    assert "none.properties" in done.stderr
    (tmp_path / "wrong.properties").write_text("process.roles=observer\n")
    done = run_kraft_node("start", "-c", tmp_path / "wrong.properties")
    assert done.returncode == 1
    assert "process.roles=observer: it is controller, broker, or both" in done.stderr


def test_nobody_there() -> None:
    done = run_kraft_node("quorum", "--bootstrap", "127.0.0.1:1", "describe")
    assert done.returncode == 1
    assert done.stderr.startswith("error: no leader answered")


def write_much(node: NodeProcess) -> None:
    with Client("127.0.0.1", node.outer, PATIENCE_S) as client:
        for value in range(100, 200):
            set_interval(client, "r", value)


def test_a_failed_disk_ends_the_node_at_once(tmp_path: Path) -> None:
    """The log's descriptor is limited to what it holds: the next append is EFBIG."""
    with quorum_processes(tmp_path, 1) as quorum:
        quorum.write("r", 1000)
        node = quorum.nodes[1]
        process = node.process
        assert process is not None
        segment = node.directory / "data/__cluster_metadata-0/00000000000000000000.log"
        limit = segment.stat().st_size + 10
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        with pytest.raises(ConnectionError):
            write_much(node)
        wait_until(process.poll, "the node ends")
        assert process.returncode == 1
        node.process = None
    last = node.errors.splitlines()[-1]
    assert "the disk failed" in last
    assert "errno 27" in last
