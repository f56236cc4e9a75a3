"""What operators ask of a cluster through a broker, once, in either runtime: the level of a feature
(KIP-584), min.insync.replicas (KIP-339), elections of leaders (KIP-966), and reassignments
(KIP-455).

If an answer is lost, it is not known whether it was done.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from chaos.cluster.interface import Address, AlteredMinIsr, ElectionType, FaultEvidence, NodeId
from checkers.verdict import counted
from workloads.connection import Brokers, ClientEntry, LostError, NotSentError, TcpDriver
from workloads.wire.client_metrics import TOPIC, Alteration, ConfigChange, alter, read_altered
from workloads.wire.describe_quorum import read_updated, update_feature
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api
from workloads.wire.topic_partitions import (
    PartitionClaim,
    describe_topic_partitions,
    read_partitions,
)
from workloads.wire.topic_requests import (
    LONGEST_AGGRESSIVE,
    LONGEST_BALANCED,
    designate_leaders,
    elect_every_leader,
    read_elected,
    read_reassigned,
    reassign,
)

_ELR = "eligible.leader.replicas.version"
_MIN_ISR = "min.insync.replicas"
_ANSWER_S = 10.0
_ELECTION_S = 20.0  # for which replicas that a recovery needs are waited for
_NOT_NEEDED = 84  # ELECTION_NOT_NEEDED
_NOT_UNDER_WAY = 85  # NO_REASSIGNMENT_IN_PROGRESS
_KINDS = {ElectionType.BALANCED: LONGEST_BALANCED, ElectionType.AGGRESSIVE: LONGEST_AGGRESSIVE}

Errors = Mapping[str, int]  # of each partition or topic, by its name; of the whole request by ""


async def set_elr_level(node: NodeId, entry: Address, level: int) -> FaultEvidence:
    body = update_feature(_ELR, level, timeout_ms=int(_ANSWER_S * 1000))

    async def ask(brokers: Brokers) -> Errors:
        return {"": await brokers.send(node, Api.UPDATE_FEATURES, body, read_updated)}

    return await _asked(node, entry, ask, lambda _: f"level {level} is final", {"level": level})


async def set_min_isr(node: NodeId, entry: Address, value: AlteredMinIsr) -> FaultEvidence:
    """Of each topic of clients that the broker knows."""
    if value is AlteredMinIsr.UNTOUCHED:
        return FaultEvidence(bit=True, what="no change was asked for")

    async def ask(brokers: Brokers) -> Errors:
        topics = sorted({claim.topic for claim in await _described(brokers, node)})
        change = ConfigChange(name=_MIN_ISR, value=str(value))
        body = alter([Alteration(resource=each, changes=(change,), type=TOPIC) for each in topics])
        errors = await brokers.send(
            node, Api.INCREMENTAL_ALTER_CONFIGS, body, lambda answer: read_altered(answer, topics)
        )
        return dict(zip(topics, errors, strict=True))

    return await _asked(
        node,
        entry,
        ask,
        lambda errors: f"{_MIN_ISR} is {value} for {counted(len(errors), 'topic')}",
    )


async def elect_leaders(node: NodeId, entry: Address, election: ElectionType) -> FaultEvidence:
    """Partitions that have a leader need none."""
    timeout_ms = int(_ELECTION_S * 1000)

    async def ask(brokers: Brokers) -> Errors:
        if election is not ElectionType.DESIGNATION:
            body = elect_every_leader(_KINDS[election], timeout_ms=timeout_ms)
            return await brokers.send(node, Api.ELECT_LEADERS, body, read_elected)
        leaders = {
            _place(each): int(node)
            for each in await _described(brokers, node)
            if each.leader < 0 and node in each.replicas
        }
        if not leaders:
            return {}
        body = designate_leaders(leaders, timeout_ms=timeout_ms)
        return await brokers.send(node, Api.ELECT_LEADERS, body, read_elected)

    def told(errors: Errors) -> str:
        done = sum(error == 0 for key, error in errors.items() if key)
        return f"{counted(done, 'leader was', 'leaders were')} elected, and all others are led"

    return await _asked(node, entry, ask, told, spared=_NOT_NEEDED)


async def reassign_partitions(node: NodeId, entry: Address) -> FaultEvidence:
    """The broker gets a replica of each partition that it has none of, in place of the first."""

    async def ask(brokers: Brokers) -> Errors:
        moved = [each for each in await _described(brokers, node) if node not in each.replicas]
        return {
            each.key: await _reassigned(brokers, node, each, (*each.replicas[1:], int(node)))
            for each in moved
        }

    found = await _asked(
        node,
        entry,
        ask,
        lambda errors: f"{counted(len(errors), 'partition')} moved to it",
    )
    if found.bit and not found.facts["asked"]:
        return FaultEvidence(bit=False, what="it has a replica of every partition already")
    return found


async def cancel_reassignments(node: NodeId, entry: Address) -> FaultEvidence:
    """Of all partitions of clients; one that is under no reassignment is left alone."""

    async def ask(brokers: Brokers) -> Errors:
        return {
            each.key: await _reassigned(brokers, node, each, None)
            for each in await _described(brokers, node)
        }

    def told(errors: Errors) -> str:
        done = sum(error == 0 for error in errors.values())
        return f"{counted(done, 'reassignment was', 'reassignments were')} cancelled"

    return await _asked(node, entry, ask, told, spared=_NOT_UNDER_WAY)


# --- requests ---


async def _described(brokers: Brokers, node: NodeId) -> tuple[PartitionClaim, ...]:
    body = describe_topic_partitions()
    return await brokers.send(node, Api.DESCRIBE_TOPIC_PARTITIONS, body, read_partitions)


async def _reassigned(
    brokers: Brokers, node: NodeId, claim: PartitionClaim, replicas: tuple[int, ...] | None
) -> int:
    """The error. `replicas`: None cancels."""
    topic, index = _place(claim)
    body = reassign(topic, index, replicas, timeout_ms=int(_ANSWER_S * 1000))
    return await brokers.send(
        node,
        Api.ALTER_PARTITION_REASSIGNMENTS,
        body,
        lambda answer: read_reassigned(answer, topic, index),
    )


def _place(claim: PartitionClaim) -> tuple[str, int]:
    return claim.topic, int(claim.key.rpartition("-")[2])


async def _asked(
    node: NodeId,
    entry: Address,
    ask: Callable[[Brokers], Awaitable[Errors]],
    told: Callable[[Errors], str],
    facts: Mapping[str, int] | None = None,
    spared: int = 0,
) -> FaultEvidence:
    """Whether nothing was refused; `spared`: the error of what needed nothing."""
    try:
        async with _connected(node, entry) as brokers:
            errors = await ask(brokers)
    except (NotSentError, LostError) as lost:
        return FaultEvidence(bit=False, what=str(lost), facts=facts or {})
    wrong = {key: error for key, error in errors.items() if error not in (0, spared)}
    refused = "; ".join(f"{key or 'it'} is refused: {error_name(it)}" for key, it in wrong.items())
    done = sum(error == 0 for key, error in errors.items() if key)
    return FaultEvidence(
        bit=not wrong, what=refused or told(errors), facts={"asked": done, **(facts or {})}
    )


@asynccontextmanager
async def _connected(node: NodeId, entry: Address) -> AsyncIterator[Brokers]:
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, _ANSWER_S + _ELECTION_S)
    try:
        yield brokers
    finally:
        brokers.close()
