"""What is done to a running cluster outside of a run, by commands and by the public API."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from chaos.cluster.interface import Cluster, FaultEvidence, Link, NodeId, NodeStatus
from chaos.cluster.topology import brokers_of, controllers_of
from chaos.errors import OperatorError, UsageError
from chaos.nemesis.abilities import lacking
from chaos.nemesis.aim import NoVictimError, resolve
from chaos.nemesis.awaited import Condition, Sight, Whole
from chaos.nemesis.book import LastingFaults
from chaos.nemesis.fault import Aspect, Fault, Hit, cure, inject, links_of, needs_of
from chaos.nemesis.kinds import BY_AN_OPERATOR
from chaos.nemesis.victims import OF_BROKERS, OneNode
from chaos.probes import QuorumProbe, driver_for
from chaos.progress import Progress
from chaos.run.runtimes import why_lacking
from workloads.leader import Survey
from workloads.wire.header import Api
from workloads.wire.topic_partitions import (
    PartitionClaim,
    describe_topic_partitions,
    read_partitions,
)

_LEADER_WITHIN_S = 15.0
_PAUSE_S = 0.1
_THEN = "\n  try: heal first (kraft-chaos heal, Cluster.heal), or name another node"

_Found = TypeVar("_Found")


async def create(cluster: Cluster, progress: Progress) -> None:
    """Returns when there is a leader; the status says what is waited for."""
    steps = (
        ("making networks, links and disks", cluster.prepare),
        ("starting the nodes", cluster.start_all),
        ("waiting until every node answers", cluster.until_ready),
    )
    for status, step in steps:
        progress.status(status)
        await step()
    progress.status("waiting for a leader")
    await _with_probe(cluster, lambda probe: probe.leader(_LEADER_WITHIN_S))


def require(cluster: Cluster, fault: Fault) -> None:
    """Raises UsageError for a victim that the cluster cannot have, and OperatorError for what
    cannot be done to it."""
    victim = fault.victim
    if isinstance(victim, OneNode) and victim.node not in cluster.nodes:
        known = ", ".join(map(str, cluster.nodes))
        raise UsageError(f"unknown node {victim.node}; known: {known}")
    if isinstance(victim, OF_BROKERS) and not brokers_of(cluster):
        raise UsageError(f"{victim}: this cluster has no brokers")
    if isinstance(fault, BY_AN_OPERATOR):
        raise UsageError(
            f"{fault.kind} changes the voters, which an operator of a run does\n"
            f"  try: kraft-chaos chaos --faults {fault.kind}"
        )
    missing = lacking(cluster, needs_of([fault]))
    if missing:
        raise OperatorError(
            f"cannot {missing[0]} here: {why_lacking(cluster)}\n  try: kraft-chaos doctor"
        )


async def begin(
    cluster: Cluster,
    fault: Fault,
    hits: Sequence[Hit],
    rng: random.Random,
    links: tuple[Link, ...] | None = None,
) -> Hit:
    """Let a fault begin beside those that last, as `aim` aims it."""
    nodes, links = await aim(cluster, fault, hits, rng, links)
    return await inject(cluster, fault, nodes, links)


async def aim(
    cluster: Cluster,
    fault: Fault,
    hits: Sequence[Hit],
    rng: random.Random,
    links: tuple[Link, ...] | None = None,
) -> tuple[tuple[NodeId, ...], tuple[Link, ...]]:
    """The nodes and links that a fault would hit now, beside those that last. `rng` draws among
    several possible victims; `links`: some of those that it would cut. Raises OperatorError where
    there is no victim, or another fault holds it."""
    view = PartitionView(cluster)
    try:
        nodes = await _with_probe(
            cluster,
            lambda probe: resolve(fault.victim, cluster, probe, rng, lookout=view),
        )
    except NoVictimError as error:
        raise OperatorError(f"{error}: there is no node for the fault{_THEN}") from error
    finally:
        view.close()
    links = links_of(fault, nodes, cluster) if links is None else links
    await _require_free(cluster, fault, nodes, links, hits)
    return nodes, links


async def _require_free(
    cluster: Cluster,
    fault: Fault,
    nodes: Sequence[NodeId],
    links: Sequence[Link],
    hits: Sequence[Hit],
) -> None:
    """A second fault of the same kind on one node is refused: there would be no separate evidence
    that each took effect, and lasted until its heal."""
    held = LastingFaults()
    held.hits = list(hits)
    cut = {link for hit in hits for link in hit.links}
    if twice := [link for link in links if link in cut]:
        raise OperatorError(f"{', '.join(map(str, twice))} is cut already{_THEN}")
    if held.is_impossible(fault):
        raise OperatorError(
            f"{fault.kind} is refused while {held.hits[-1].fault.kind} lasts{_THEN}"
        )
    for node in nodes:
        status = await cluster.status(node)
        if fault.aspect is Aspect.MACHINE and status is not NodeStatus.RUNNING:
            raise OperatorError(f"node {node} is {status} already{_THEN}")
        if node in held.nodes(fault):
            raise OperatorError(f"another fault holds node {node}{_THEN}")


async def end(cluster: Cluster, hits: Sequence[Hit]) -> list[tuple[Hit, FaultEvidence]]:
    """Cure them in this order."""
    return [(hit, await cure(cluster, hit)) for hit in hits]


async def _with_probe(cluster: Cluster, ask: Callable[[QuorumProbe], Awaitable[_Found]]) -> _Found:
    probe = QuorumProbe(driver_for(cluster))
    try:
        return await ask(probe)
    finally:
        await probe.close()


async def is_new(cluster: Cluster, within_s: float) -> bool:
    """Whether, within the time, all nodes run, all controllers answer and one leads, and every
    broker says that there are no topics of clients."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    probe = QuorumProbe(driver_for(cluster, controllers_of(cluster)))
    view = PartitionView(cluster)
    try:
        while loop.time() < deadline:
            claims = (await view.look()).claims
            statuses = [await cluster.status(node) for node in cluster.nodes]
            if (
                set(statuses) == {NodeStatus.RUNNING}
                and set(claims) == set(brokers_of(cluster))
                and not any(claims.values())
                and await probe.wait_until_whole(deadline - loop.time())
            ):
                return True
            await asyncio.sleep(_PAUSE_S)
    finally:
        view.close()
        await probe.close()
    return False


class PartitionView:
    """Partitions as the brokers describe them; of one topic, or of one partition of it, if asked.

    Nothing is recorded, and no writes are counted.
    """

    def __init__(self, cluster: Cluster, topic: str = "", partition: int | None = None) -> None:
        self._brokers = brokers_of(cluster)
        self._topic = topic
        self._key = f"{topic}-{partition}" if topic and partition is not None else ""
        self._survey = Survey(
            driver_for(cluster, self._brokers),
            Api.DESCRIBE_TOPIC_PARTITIONS,
            describe_topic_partitions(),
            read_partitions,
        )

    async def look(self) -> Sight:
        """The state of the cluster now. Without brokers there are no answers."""
        answers = await self._survey.take() if self._brokers else {}
        claims = {
            broker: tuple(filter(self._is_asked_for, told)) for broker, told in answers.items()
        }
        return Sight(claims=claims, acknowledged=0)

    async def wait_for(self, condition: Condition, within_s: float) -> bool:
        """Whether the condition became true in time."""
        return not await self.lacks(condition, within_s)

    async def lacks(self, condition: Condition, within_s: float) -> str:
        """Wait; "" once it holds, or what the brokers said when the time was over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while not holds_now(condition, sight := await self.look()):
            if loop.time() >= deadline:
                return str(sight).partition("; ")[2]  # without the writes, of which it knows none
            await asyncio.sleep(_PAUSE_S)
        return ""

    def close(self) -> None:
        self._survey.close()

    def _is_asked_for(self, claim: PartitionClaim) -> bool:
        return self._topic in ("", claim.topic) and self._key in ("", claim.key)


def holds_now(condition: Condition, sight: Sight) -> bool:
    """By the newest answer on each partition: a condition that held once, and is to hold again, is
    still what a broker says that has not heard of anything since."""
    if isinstance(condition, Whole):
        return condition.holds(sight)
    newest: dict[str, tuple[tuple[int, bool], PartitionClaim]] = {}
    for broker, claims in sight.claims.items():
        for claim in claims:
            rank = (claim.epoch, claim.leader == broker)  # the leader knows its ISR first
            if claim.key not in newest or rank > newest[claim.key][0]:
                newest[claim.key] = rank, claim
    return condition.holds(replace(sight, claims={0: [claim for _, claim in newest.values()]}))
