"""The smallest requests to a Kafka process: whether it answers, which brokers it knows; and what
operators ask of a cluster through a broker: the level of a feature, elections of leaders."""

import asyncio
import struct
from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, retry_if_not_result, stop_after_delay, wait_fixed

from chaos.cluster.interface import Address, ElectionType, FaultEvidence, NodeId
from checkers.verdict import counted
from workloads.connection import Brokers, ClientEntry, LostError, NotSentError, TcpDriver
from workloads.wire.describe_quorum import read_updated, update_feature
from workloads.wire.elections import (
    LONGEST_AGGRESSIVE,
    LONGEST_BALANCED,
    designate_leaders,
    elect_every_leader,
    read_elected,
)
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api
from workloads.wire.topic_partitions import describe_topic_partitions, read_partitions

API_VERSIONS = 18
METADATA = 3
CLIENT_ID = b"kraft-chaos-probe"
CORRELATION_ID = 7
LARGEST_ANSWER = 1 << 16


def api_versions_request(correlation_id: int) -> bytes:
    """An ApiVersions v0 request with its size before it; any node of any version answers one."""
    return _frame(API_VERSIONS, 0, correlation_id, b"")


async def answers(address: Address, timeout_s: float) -> bool:
    """Whether a process answers ApiVersions there; the proxy alone only accepts and closes."""
    return await _ask(address, api_versions_request(CORRELATION_ID), timeout_s) is not None


async def brokers_known(address: Address, timeout_s: float) -> frozenset[int]:
    """The brokers that a broker tells clients of, none fenced; empty when it does not answer.

    Metadata v1 about no topic: a broker is listed by what the asked one has read of the metadata.
    """
    request = _frame(METADATA, 1, CORRELATION_ID, struct.pack(">i", 0))
    answer = await _ask(address, request, timeout_s)
    return frozenset(_broker_ids(answer)) if answer is not None else frozenset()


async def until_it_answers(address: Address, within_s: float) -> bool:
    """Ask again and again; False when it never answered in that time."""

    async def look() -> bool:
        return await answers(address, timeout_s=1.0)

    return await _until(look, within_s)


async def until_it_knows(address: Address, brokers: frozenset[int], within_s: float) -> bool:
    """Ask a broker until it tells of all these; False when it never did in that time."""

    async def look() -> bool:
        return brokers <= await brokers_known(address, timeout_s=1.0)

    return await _until(look, within_s)


def _frame(api: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A request of a version without tagged fields, with its size before it."""
    header = struct.pack(">hhih", api, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header) + len(body)) + header + body


async def _ask(address: Address, request: bytes, timeout_s: float) -> bytes | None:
    """The answer behind its correlation id; None where there is none."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(request)
                size, correlation_id = struct.unpack(">ii", await reader.readexactly(8))
                if correlation_id != CORRELATION_ID or not 4 <= size <= LARGEST_ANSWER:
                    return None
                return await reader.readexactly(size - 4)
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return None


def _broker_ids(answer: bytes) -> list[int]:
    """Of a Metadata v1 answer, which begins with the brokers: id, host, port, rack."""
    (count,) = struct.unpack_from(">i", answer)
    position, found = 4, []
    for _ in range(count):
        node, host = struct.unpack_from(">ih", answer, position)
        position += 6 + host + 4
        (rack,) = struct.unpack_from(">h", answer, position)
        position += 2 + max(rack, 0)
        found.append(node)
    return found


async def _until(look: Callable[[], Awaitable[bool]], within_s: float) -> bool:
    asking = AsyncRetrying(
        retry=retry_if_not_result(bool),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(0.01),
        retry_error_callback=lambda _: False,
    )
    return await asking(look)


# Levels of features, set by a request to a broker (KIP-584), and elections of leaders (KIP-966), in
# either runtime.


_ELR = "eligible.leader.replicas.version"
_ANSWER_S = 10.0
_ELECTION_S = 20.0  # for which replicas that a recovery needs are waited for
_NOT_NEEDED = 84  # ELECTION_NOT_NEEDED
_KINDS = {ElectionType.BALANCED: LONGEST_BALANCED, ElectionType.AGGRESSIVE: LONGEST_AGGRESSIVE}


async def set_elr_level(node: NodeId, entry: Address, level: int) -> FaultEvidence:
    """Asks once; where the answer is lost, it is not known whether it was done."""
    trouble = await _trouble(node, entry, level)
    what = trouble or f"level {level} is final"
    return FaultEvidence(bit=not trouble, what=what, facts={"level": level})


async def elect_leaders(node: NodeId, entry: Address, election: ElectionType) -> FaultEvidence:
    """As `set_elr_level`. Partitions that have a leader need none."""
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, _ANSWER_S + _ELECTION_S)
    try:
        errors = await _elected(brokers, node, election)
    except (NotSentError, LostError) as lost:
        return FaultEvidence(bit=False, what=str(lost))
    finally:
        brokers.close()
    wrong = {key: error for key, error in errors.items() if error not in (0, _NOT_NEEDED)}
    told = "; ".join(f"{key or 'all'}: {error_name(error)}" for key, error in wrong.items())
    done = sum(error == 0 for key, error in errors.items() if key)
    what = told or f"{counted(done, 'leader was', 'leaders were')} elected, and all others are led"
    return FaultEvidence(bit=not wrong, what=what, facts={"elected": done})


async def _elected(brokers: Brokers, node: NodeId, election: ElectionType) -> dict[str, int]:
    """The error of each partition that needed a leader."""
    timeout_ms = int(_ELECTION_S * 1000)
    if election is not ElectionType.DESIGNATION:
        body = elect_every_leader(_KINDS[election], timeout_ms=timeout_ms)
        return await brokers.send(node, Api.ELECT_LEADERS, body, read_elected)
    claims = await brokers.send(
        node, Api.DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions(), read_partitions
    )
    leaders = {
        (each.topic, int(each.key.rpartition("-")[2])): int(node)
        for each in claims
        if each.leader < 0 and node in each.replicas
    }
    if not leaders:
        return {}
    body = designate_leaders(leaders, timeout_ms=timeout_ms)
    return await brokers.send(node, Api.ELECT_LEADERS, body, read_elected)


async def _trouble(node: NodeId, entry: Address, level: int) -> str:
    """Why the broker does not say that it is done; "" where it does."""
    body = update_feature(_ELR, level, timeout_ms=int(_ANSWER_S * 1000))
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, _ANSWER_S)
    try:
        error = await brokers.send(node, Api.UPDATE_FEATURES, body, read_updated)
    except (NotSentError, LostError) as lost:
        return str(lost)
    finally:
        brokers.close()
    return f"it is refused: {error_name(error)}" if error else ""
