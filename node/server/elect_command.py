"""`kraft-node elect-leaders`: an operator has leaders elected, as by `kafka-leader-election` with
the election types of KIP-966's second part."""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.server.outcome import Refusal
from node.server.tool_client import BrokerClient
from node.wire.apis import Request, Response
from node.wire.reassignments import (
    DESIGNATED,
    LONGEST_AGGRESSIVE,
    LONGEST_BALANCED,
    MOST_ELECTIONS,
    PREFERRED,
    UNCLEAN,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)

_ANSWER_S = 30.0  # of a broker, beside the elections
_OF_RECOVERY = 3  # the version of ElectLeaders with the types behind UNCLEAN


class ElectionType(IntEnum):
    """By the tool's names (KIP-966), with the protocol's numbers."""

    PREFERRED = PREFERRED
    UNCLEAN = UNCLEAN
    LONGEST_LOG_AGGRESSIVE = LONGEST_AGGRESSIVE
    LONGEST_LOG_BALANCED = LONGEST_BALANCED
    DESIGNATION = DESIGNATED


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtLeader:
    """A partition that is to have a leader. `desired`: the one that the operator designates."""

    topic: str
    index: int
    desired: NodeId | None = None

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"


class Asks(Protocol):
    """`tool_client.BrokerClient`."""

    @property
    def asked(self) -> str: ...

    def send(self, request: Request, *, least: int = 0) -> Response: ...


# --- the options ---


def run(options: argparse.Namespace, print_line: Callable[[str], None]) -> int:
    """Raises Refusal."""
    refuse_wrong_choice(options)
    kind = ElectionType[options.election_type]
    sought = None
    if options.path_to_json_file is not None:
        sought = read_sought(options.path_to_json_file, kind)
    elif options.topic is not None:
        sought = [SoughtLeader(topic=options.topic, index=options.partition)]
    with closing(
        BrokerClient(options.bootstrap_server, options.timeout / 1000 + _ANSWER_S)
    ) as brokers:
        results = elect(brokers, kind, sought, options.timeout)
        for line in as_lines(kind, results):
            print_line(line)
        refuse_failures(results, brokers.asked)
    return 0


def refuse_wrong_choice(options: argparse.Namespace) -> None:
    """As `kafka-leader-election` does; ends the process."""
    chosen = {
        "--topic": options.topic is not None,
        "--all-topic-partitions": options.all_topic_partitions,
        "--path-to-json-file": options.path_to_json_file is not None,
    }
    if sum(chosen.values()) != 1:
        options.wrong(f"One and only one of the following options is required: {', '.join(chosen)}")
    if options.topic is not None and options.partition is None:
        options.wrong("Missing required option(s): --partition")
    if options.topic is None and options.partition is not None:
        options.wrong("Option --partition is only allowed if --topic is used")
    if options.partition is not None and not 0 <= options.partition < 1 << 31:
        options.wrong(f"--partition {options.partition}: partitions are numbered from 0 on")
    if not 0 < options.timeout < 1 << 31:
        options.wrong(f"--timeout {options.timeout}: it is a number of milliseconds, 1 or more")
    is_designated = options.election_type == ElectionType.DESIGNATION.name
    if is_designated and options.path_to_json_file is None:
        options.wrong(
            "Election type designation needs --path-to-json-file, with a desiredLeader for each "
            "partition"
        )


# --- the file ---


def read_sought(path: Path, kind: ElectionType) -> list[SoughtLeader]:
    """The partitions of a JSON file: {"partitions": [{"topic": "foo", "partition": 1,
    "desiredLeader": 0}]}, the last of which is for designations only. Raises Refusal; OSError if
    the file cannot be read.
    """
    try:
        found = list(_sought_leaders(json.loads(path.read_bytes()), kind))
        _refuse_twins(found)
    except (ValueError, RecursionError) as error:
        raise Refusal(
            what=f"the list of partitions cannot be used: {error}",
            where=str(path),
            next_step="correct it by the example of: kraft-node elect-leaders --help",
        ) from error
    return found


def _sought_leaders(read: object, kind: ElectionType) -> Iterator[SoughtLeader]:
    """Raises ValueError."""
    partitions = read.get("partitions") if isinstance(read, dict) else None
    if not isinstance(partitions, list):
        raise ValueError('Replica election data is missing "partitions" field')
    if not partitions:
        raise ValueError('"partitions" names no partition')
    for number, each in enumerate(partitions):
        if not isinstance(each, dict):
            raise ValueError(f"partitions[{number}] is no object")
        topic = each.get("topic")
        if not isinstance(topic, str):
            raise ValueError(f'partitions[{number}] has no "topic"')
        index = _number(each, "partition", number)
        is_designated = kind is ElectionType.DESIGNATION
        desired = NodeId(_number(each, "desiredLeader", number)) if is_designated else None
        yield SoughtLeader(topic=topic, index=index, desired=desired)


def _number(read: dict[str, object], name: str, number: int) -> int:
    value = read.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise ValueError(f'partitions[{number}] has no "{name}" that is a number from 0 on')
    return value


def _refuse_twins(found: Iterable[SoughtLeader]) -> None:
    seen: dict[tuple[str, int], int] = {}
    for each in found:
        seen[each.topic, each.index] = seen.get((each.topic, each.index), 0) + 1
    twins = [f"{topic}-{index}" for (topic, index), count in seen.items() if count > 1]
    if twins:
        told = ", ".join(twins)
        raise ValueError(f"Replica election data contains duplicate topic partitions: {told}")


# --- the elections ---


def elect(
    brokers: Asks, kind: ElectionType, sought: Sequence[SoughtLeader] | None, timeout_ms: int
) -> list[ElectionResult]:
    """The result of each partition; of all that needed an election if `sought` is None. As many are
    asked for at once as a request may name. `timeout_ms` is each request's. Raises Refusal.
    """
    results: list[ElectionResult] = []
    if sought is None:
        told = _sent(brokers, kind, None, timeout_ms)
        left = [at for at in told if at.error is ErrorCode.REQUEST_LIMIT_REACHED]
        results += [at for at in told if at.error is not ErrorCode.REQUEST_LIMIT_REACHED]
        sought = [SoughtLeader(topic=at.partition.topic, index=at.partition.index) for at in left]
    for start in range(0, len(sought), MOST_ELECTIONS):
        results += _sent(brokers, kind, sought[start : start + MOST_ELECTIONS], timeout_ms)
    return results


def _sent(
    brokers: Asks, kind: ElectionType, sought: Sequence[SoughtLeader] | None, timeout_ms: int
) -> tuple[ElectionResult, ...]:
    named = None
    desired: tuple[NodeId | None, ...] = ()
    if sought is not None:
        named = tuple(NamedPartition(topic=each.topic, index=each.index) for each in sought)
        if kind is ElectionType.DESIGNATION:
            desired = tuple(each.desired for each in sought)
    request = ElectLeadersRequest(
        kind=kind, partitions=named, desired=desired, timeout_ms=timeout_ms
    )
    least = kind if kind <= ElectionType.UNCLEAN else _OF_RECOVERY
    response = brokers.send(request, least=least)
    assert isinstance(response, ElectLeadersResponse)
    if response.error is not ErrorCode.NONE:
        raise Refusal(
            what=f"no leader was elected: {response.error.name} ({response.error.value})",
            where=f"the active controller, by the broker at {brokers.asked}",
            next_step=_see(brokers.asked),
        )
    return response.results


def as_lines(kind: ElectionType, results: Iterable[ElectionResult]) -> Iterator[str]:
    """The output of `kafka-leader-election`: all that were elected, all that needed no election,
    and a line for each other one."""
    sorted_ = sorted(results, key=lambda each: (each.partition.topic, each.partition.index))
    elected = [_name(each) for each in sorted_ if each.error is ErrorCode.NONE]
    if elected:
        of = ", ".join(elected)
        yield f"Successfully completed leader election ({kind.name}) for partitions {of}"
    led = [_name(each) for each in sorted_ if each.error is ErrorCode.ELECTION_NOT_NEEDED]
    if led:
        yield f"Valid replica already elected for partitions {', '.join(led)}"
    for each in filter(_failed, sorted_):
        why = f": {each.message}" if each.message else ""
        yield (
            f"Error completing leader election ({kind.name}) for partition: {_name(each)}: "
            f"{each.error.name} ({each.error.value}){why}"
        )


def refuse_failures(results: Iterable[ElectionResult], broker: str) -> None:
    """Raises Refusal if a partition that needed a leader has none."""
    failed = sum(map(_failed, results))
    if failed:
        raise Refusal(
            what=f"{failed} replica(s) could not be elected",
            where=f"the active controller, by the broker at {broker}",
            next_step=_see(broker),
        )


def _see(broker: str) -> str:
    see = "kraft-node topics describe --unavailable-partitions"
    return f"see which have no leader: {see} --bootstrap-server {broker}"


def _failed(result: ElectionResult) -> bool:
    return result.error not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)


def _name(result: ElectionResult) -> str:
    return f"{result.partition.topic}-{result.partition.index}"
