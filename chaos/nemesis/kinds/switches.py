"""Nodes that go on as the other of two programs, in a quorum of both."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence, NodeId, NodeStatus
from chaos.cluster.powers import Killable, Switchable, Wipeable
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words
from chaos.nemesis.kinds.disks import OF_A_LOST_DISK
from chaos.nemesis.kinds.voters import added, removed
from chaos.nemesis.proof import of_both, of_lasting, of_nodes, on_each, start_all, statuses
from chaos.nemesis.victims import Victim
from workloads.operator import Voter

_BEFORE = "program_before"  # a fact


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchProgram:
    """A node goes on as the other program, on its own disk: the same replica, with the log and vote
    that the first program has written.

    Steps: kill every victim at once, and let each be the other program of its cluster. Cure: check
    that each is still off, start all and wait until they answer.

    Evidence: as for `kill`; and another program runs in the node than before.

    Limits: one quorum has to have nodes of both programs. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("switched-program",)
    kind: ClassVar[str] = "switched-program"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.KILL, Ability.SWITCH)
    harm: ClassVar[Harm] = Harm(ends_process=True, unclean=True, halts=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        return await on_each(hit.nodes, lambda node: _switched(cluster, node))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        lasted = of_lasting(hit.evidence, seen, NodeStatus.OFF)
        return of_both(lasted, await _other_programs(cluster, hit))


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchVoter:
    """A voter is removed, and one of the other program is added in its place (KIP-853).

    Steps: ask the leader to remove the victim, one after the other, until the leader no longer
    reports it as a voter; a leader that is removed resigns. Kill it, let its node be the other
    program, give it a new, empty file system and format that without voters. Cure: check that it is
    still off, start it and wait until it answers; wait until the leader reports it as an observer
    that holds all that is committed, and add it.

    Evidence: as for `wipe` and `removed-voter`; and another program runs in the node than before.

    Limits: one dynamic quorum has to have nodes of both programs. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("switched-voter",)
    kind: ClassVar[str] = "switched-voter"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.KILL, Ability.WIPE, Ability.SWITCH)
    harm: ClassVar[Harm] = OF_A_LOST_DISK

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        return {node: await self._remove(cluster, node, hit) for node in hit.nodes}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        lasted = of_lasting(hit.evidence, seen, NodeStatus.OFF)
        switched = await _other_programs(cluster, hit)
        come = {node: await self._add(node, hit) for node in hit.nodes}
        return of_both(of_both(lasted, switched), of_nodes(come, hit.nodes))

    async def _remove(self, cluster: Cluster, node: NodeId, hit: Hit) -> FaultEvidence:
        assert hit.operator is not None, "a run without an operator changes voters"
        assert isinstance(cluster, Wipeable)
        gone = await removed(hit.operator, node)
        switched = await _switched(cluster, node)
        return of_both(of_both(gone, switched), await cluster.wipe(node))

    async def _add(self, node: NodeId, hit: Hit) -> FaultEvidence:
        assert hit.operator is not None
        new = str(hit.evidence[node].facts["directory_id_after"])
        return await added(hit.operator, Voter(node, new))


async def _switched(cluster: Cluster, node: NodeId) -> FaultEvidence:
    """Kill a node, which runs the other program from its next start on."""
    assert isinstance(cluster, Killable)
    assert isinstance(cluster, Switchable)
    before = await cluster.program(node)
    killed = await cluster.kill(node)
    await cluster.switch_program(node)
    return replace(killed, facts={**killed.facts, _BEFORE: before})


async def _other_programs(cluster: Cluster, hit: Hit) -> FaultEvidence:
    return of_nodes(
        await on_each(hit.nodes, lambda node: _other_program(cluster, node, hit)), hit.nodes
    )


async def _other_program(cluster: Cluster, node: NodeId, hit: Hit) -> FaultEvidence:
    assert isinstance(cluster, Switchable)
    before, after = str(hit.evidence[node].facts[_BEFORE]), await cluster.program(node)
    return FaultEvidence(
        bit="" not in (before, after) and before != after,
        what=f"it was {before or 'off'}, and is {after or 'off'}",
        facts={_BEFORE: before, "program_after": after},
    )
