"""`kraft-node elect-leaders`: its options, its file, what is asked of the controllers, and what an
operator is told."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_server
from threading import Thread

import pytest

from node.errors import ErrorCode
from node.ids import NodeId
from node.server.cli import main
from node.server.elect_command import (
    ElectionType,
    SoughtLeader,
    as_lines,
    elect,
    read_sought,
    refuse_failures,
)
from node.server.framing import FrameCutter, with_size
from node.server.outcome import Refusal
from node.server.tool_client import BrokerClient
from node.wire import broker_frames
from node.wire.api import ApiRange
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import HandedOn, Request, Response
from node.wire.reassignments import (
    MOST_ELECTIONS,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)

USAGE = ("elect-leaders", "--bootstrap-server", "h:1")
TYPE = ("--election-type", "preferred")
ONE_OF = (
    "One and only one of the following options is required: --topic, --all-topic-partitions, "
    "--path-to-json-file"
)


def at(index: int, topic: str = "t") -> NamedPartition:
    return NamedPartition(topic=topic, index=index)


@dataclass
class Controller:
    """Behind a broker: answers as `results` says. `sent`: the requests, each with the version that
    it needs."""

    results: Callable[[ElectLeadersRequest], ElectLeadersResponse]
    sent: list[tuple[ElectLeadersRequest, int]] = field(default_factory=list)
    asked: str = "b:1"

    def send(self, request: Request, *, least: int = 0) -> Response:
        assert isinstance(request, ElectLeadersRequest)
        self.sent.append((request, least))
        return self.results(request)


def elects_all(request: ElectLeadersRequest) -> ElectLeadersResponse:
    assert request.partitions is not None
    return ElectLeadersResponse(
        results=tuple(ElectionResult(partition=each) for each in request.partitions)
    )


# --- the options ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "the following arguments are required: --election-type"),
        (("--election-type", "best"), "invalid choice: 'BEST'"),
        (TYPE, ONE_OF),
        ((*TYPE, "--topic", "t", "--partition", "0", "--all-topic-partitions"), ONE_OF),
        ((*TYPE, "--path-to-json-file", "f", "--all-topic-partitions"), ONE_OF),
        ((*TYPE, "--path-to-json-file", "f", "--topic", "t", "--partition", "0"), ONE_OF),
        ((*TYPE, "--topic", "t"), "Missing required option(s): --partition"),
        (
            (*TYPE, "--all-topic-partitions", "--partition", "0"),
            "Option --partition is only allowed if --topic is used",
        ),
        (
            (*TYPE, "--topic", "t", "--partition", "-1"),
            "--partition -1: partitions are numbered from 0 on",
        ),
        (
            (*TYPE, "--all-topic-partitions", "--timeout", "0"),
            "--timeout 0: it is a number of milliseconds, 1 or more",
        ),
        (
            ("--election-type", "designation", "--topic", "t", "--partition", "0"),
            "Election type designation needs --path-to-json-file",
        ),
        (
            ("--election-type", "designation", "--all-topic-partitions"),
            "Election type designation needs --path-to-json-file",
        ),
    ],
)
def test_wrong_usage_is_told_and_ends_with_254(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*USAGE, *options])
    assert ended.value.code == 254
    assert message in capsys.readouterr().err


def test_a_broker_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["elect-leaders", *TYPE, "--all-topic-partitions"])
    assert ended.value.code == 254
    assert "the following arguments are required: --bootstrap-server" in capsys.readouterr().err


# --- the file ---


def write(path: Path, partitions: object) -> Path:
    file = path / "leaders.json"
    file.write_text(json.dumps({"partitions": partitions}))
    return file


def test_the_file_names_partitions_and_for_designations_their_leaders(tmp_path: Path) -> None:
    partitions = [
        {"topic": "foo", "partition": 1, "desiredLeader": 0},
        {"topic": "foobar", "partition": 2, "desiredLeader": 1},
    ]
    file = write(tmp_path, partitions)
    assert read_sought(file, ElectionType.DESIGNATION) == [
        SoughtLeader(topic="foo", index=1, desired=NodeId(0)),
        SoughtLeader(topic="foobar", index=2, desired=NodeId(1)),
    ]
    assert read_sought(file, ElectionType.UNCLEAN) == [
        SoughtLeader(topic="foo", index=1),
        SoughtLeader(topic="foobar", index=2),
    ]


FOO = {"topic": "foo", "partition": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting property name"),
        ("\xff", "cannot be used"),
        ("[" * 2_000, "maximum recursion depth exceeded"),
        ("[]", 'Replica election data is missing "partitions" field'),
        ("{}", 'Replica election data is missing "partitions" field'),
        ('{"partitions": {}}', 'Replica election data is missing "partitions" field'),
        ('{"partitions": []}', '"partitions" names no partition'),
        ('{"partitions": [1]}', r"partitions\[0\] is no object"),
        ('{"partitions": [{"partition": 1}]}', r'partitions\[0\] has no "topic"'),
        ('{"partitions": [{"topic": "t"}]}', r'partitions\[0\] has no "partition"'),
        ('{"partitions": [{"topic": "t", "partition": -1}]}', 'has no "partition" that'),
        ('{"partitions": [{"topic": "t", "partition": true}]}', 'has no "partition" that'),
        ('{"partitions": [{"topic": "t", "partition": 2147483648}]}', 'has no "partition" that'),
        (
            json.dumps({"partitions": [FOO, {"topic": "foo", "partition": 2}, FOO]}),
            "Replica election data contains duplicate topic partitions: foo-1$",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "leaders.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(Refusal, match=f"(?m){message}"):
        read_sought(file, ElectionType.PREFERRED)


@pytest.mark.parametrize("desired", [None, -1, "1", 1.5])
def test_a_designation_has_a_leader_for_every_partition(tmp_path: Path, desired: object) -> None:
    file = write(tmp_path, [{**FOO, "desiredLeader": 1}, {**FOO, "desiredLeader": desired}])
    with pytest.raises(Refusal, match=r'partitions\[1\] has no "desiredLeader" that is a number'):
        read_sought(file, ElectionType.DESIGNATION)


# --- the elections ---


@pytest.mark.parametrize(
    ("kind", "number", "least"),
    [
        (ElectionType.PREFERRED, 0, 0),
        (ElectionType.UNCLEAN, 1, 1),
        (ElectionType.LONGEST_LOG_AGGRESSIVE, 2, 3),
        (ElectionType.LONGEST_LOG_BALANCED, 3, 3),
        (ElectionType.DESIGNATION, 4, 3),
    ],
)
def test_each_type_has_its_number_and_the_version_that_it_needs(
    kind: ElectionType, number: int, least: int
) -> None:
    controller = Controller(elects_all)
    elect(controller, kind, [SoughtLeader(topic="t", index=0, desired=NodeId(2))], 5000)
    ((request, needed),) = controller.sent
    assert (request.kind, request.timeout_ms, needed) == (number, 5000, least)
    assert request.desired == ((2,) if kind is ElectionType.DESIGNATION else ())


def test_no_more_are_asked_for_at_once_than_are_served() -> None:
    controller = Controller(elects_all)
    sought = [SoughtLeader(topic="t", index=index) for index in range(MOST_ELECTIONS + 1)]
    results = elect(controller, ElectionType.UNCLEAN, sought, 5000)
    sizes = [len(request.partitions or ()) for request, _ in controller.sent]
    assert sizes == [MOST_ELECTIONS, 1]
    assert {each.partition for each in results} == {at(each.index) for each in sought}


def test_those_of_all_partitions_that_were_over_the_limit_are_asked_for_again() -> None:
    over = [at(index, "u") for index in range(MOST_ELECTIONS + 500)]

    def answer(request: ElectLeadersRequest) -> ElectLeadersResponse:
        if request.partitions is not None:
            return elects_all(request)
        limited = (ElectionResult(partition=e, error=ErrorCode.REQUEST_LIMIT_REACHED) for e in over)
        return ElectLeadersResponse(results=(ElectionResult(partition=at(0)), *limited))

    controller = Controller(answer)
    results = elect(controller, ElectionType.LONGEST_LOG_BALANCED, None, 5000)
    assert [each.error for each in results] == [ErrorCode.NONE] * (1 + len(over))
    assert [len(request.partitions or ()) for request, _ in controller.sent] == [0, 1000, 500]


def test_an_answer_that_refuses_all_is_told() -> None:
    refused = ElectLeadersResponse(error=ErrorCode.NOT_CONTROLLER)
    with pytest.raises(Refusal, match=r"no leader was elected: NOT_CONTROLLER \(41\)"):
        elect(Controller(lambda _: refused), ElectionType.PREFERRED, None, 5000)


def test_results_are_told_as_by_kafkas_tool() -> None:
    why = "Broker 3 is not available."
    results = [
        ElectionResult(partition=at(10)),
        ElectionResult(partition=at(2)),
        ElectionResult(partition=at(1), error=ErrorCode.ELECTION_NOT_NEEDED),
        ElectionResult(
            partition=at(3), error=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, message=why
        ),
    ]
    assert list(as_lines(ElectionType.UNCLEAN, results)) == [
        "Successfully completed leader election (UNCLEAN) for partitions t-2, t-10",
        "Valid replica already elected for partitions t-1",
        "Error completing leader election (UNCLEAN) for partition: t-3: "
        "ELIGIBLE_LEADERS_NOT_AVAILABLE (83): Broker 3 is not available.",
    ]
    with pytest.raises(Refusal, match=r"1 replica\(s\) could not be elected") as failed:
        refuse_failures(results, "b:1")
    assert failed.value.code == 1
    refuse_failures(results[:3], "b:1")


# --- by brokers on sockets ---


@pytest.fixture
def broker() -> Iterator[tuple[str, int]]:
    """Of a release that knows ElectLeaders up to 2, for one connection."""
    ranges = (
        ApiRange(api_key=18, min_version=0, max_version=4),
        ApiRange(api_key=43, min_version=0, max_version=2),
    )
    with closing(create_server(("127.0.0.1", 0))) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            cutter = FrameCutter()
            while data := connection.recv(1 << 16):
                for frame in cutter.cut(data):
                    connection.sendall(with_size(_answer(frame, ranges)))
            connection.close()

        thread = Thread(target=serve)
        thread.start()
        yield listening.getsockname()[:2]
        thread.join(30)
        assert not thread.is_alive()


def _answer(frame: bytes, ranges: tuple[ApiRange, ...]) -> bytes:
    header, request = broker_frames.decode_request(frame)
    if isinstance(request, ApiVersionsRequest):
        versions = ApiVersionsResponse(error=ErrorCode.NONE, apis=ranges)
        return broker_frames.encode_response(header, versions)
    assert isinstance(request, HandedOn)
    assert isinstance(request.request, ElectLeadersRequest)
    assert header.api_version == 2
    return broker_frames.encode_response(header, elects_all(request.request))


def test_the_newest_version_is_asked_that_both_know(broker: tuple[str, int]) -> None:
    with closing(create_server(("127.0.0.1", 0))) as closed:
        nowhere = closed.getsockname()[:2]
    sought = [SoughtLeader(topic="t", index=0)]
    with closing(BrokerClient([nowhere, broker], 30.0)) as brokers:
        (result,) = elect(brokers, ElectionType.UNCLEAN, sought, 5000)
        assert (result.partition, result.error) == (at(0), ErrorCode.NONE)
        assert brokers.asked == f"127.0.0.1:{broker[1]}"
        with pytest.raises(Refusal, match="ElectLeaders 3 or newer is needed, and not served"):
            elect(brokers, ElectionType.LONGEST_LOG_BALANCED, sought, 5000)


def test_where_no_broker_answers_each_is_told() -> None:
    with closing(create_server(("127.0.0.1", 0))) as closed:
        nowhere = closed.getsockname()[:2]
    brokers = BrokerClient([nowhere, nowhere], 1.0)
    with pytest.raises(Refusal, match="no broker answered") as refused:
        elect(brokers, ElectionType.PREFERRED, None, 5000)
    assert str(refused.value).count(f"127.0.0.1:{nowhere[1]}: ") == 2
