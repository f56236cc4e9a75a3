"""Voters that are lost, and voters that an operator removes and adds."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence, NodeId, NodeStatus
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Fault, Harm, Hit, SwarmSpec, Words, one
from chaos.nemesis.kinds.disks import OF_A_LOST_DISK, kill_and_wipe
from chaos.nemesis.proof import of_both, of_lasting, of_nodes, on_each, start_all, statuses
from chaos.nemesis.victims import SomeNodes, Victim
from workloads.operator import Operator, Voter

# The bound for changes of the voters: elections, and other faults in progress, take their time.
# It is as long as a swarm's schedule, and half a minute more.
WITHIN_S = 120.0
_TWO_SHARE = 0.4
NO_VOTER = FaultEvidence(bit=False, what="it was no voter")


def _lost(rng: random.Random, nodes: int) -> Fault:
    """Now and then two disks, if two are a minority."""
    two = nodes >= 5 and rng.random() < _TWO_SHARE
    return LoseDisk(victim=SomeNodes(2) if two else one(rng, nodes))


def _removed(rng: random.Random, nodes: int) -> Fault:
    """Often two at the same time, if two others are left."""
    two = nodes >= 4 and rng.random() < _TWO_SHARE
    return RemoveVoter(victim=SomeNodes(2) if two else one(rng, nodes))


class LostVoter(StrEnum):
    """What happens to the voter with the lost disk."""

    REMOVED = "removed"
    KEPT = "kept"  # beside the new one (KIP-856)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseDisk:
    """A controller's disk is lost and replaced, and an operator makes its node a voter again
    (KIP-856, "Disk Failure Recovery Scenario").

    Steps: kill every victim at once, then give each a new, empty file system and format it without
    voters: a new directory id, and nothing else that the node knew. Cure: check that each is still
    off, start all and wait until they answer. Then for one after the other: wait until the leader
    reports it as an observer that holds all that is committed, add it to the voters, and remove the
    voter that it was, before or after that as the quorum requires; with `lost_voter` kept, leave it
    there.

    Evidence: as for `wipe`; and the leader reported the lost disk's replica as a voter, and at the
    end as none, or as one still if it was to be kept, and the new one as a voter that holds all
    that is committed.

    Limits: a quorum that loses more disks at once than a minority stays without a leader.
    """

    kinds: ClassVar[tuple[str, ...]] = ("lose-disk",)
    kind: ClassVar[str] = "lose-disk"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "lose disk": SwarmSpec(make=_lost, shortest_s=0.1, longest_s=6, least_nodes=3)
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.KILL, Ability.WIPE)
    harm: ClassVar[Harm] = OF_A_LOST_DISK

    victim: Victim
    lost_voter: LostVoter = LostVoter.REMOVED

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        return await kill_and_wipe(cluster, hit.nodes)

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        replaced = {node: await self._replace(operator, node, hit) for node in hit.nodes}
        lasted = of_lasting(hit.evidence, seen, NodeStatus.OFF)
        return of_both(lasted, of_nodes(replaced, hit.nodes))

    async def _replace(self, operator: Operator, node: NodeId, hit: Hit) -> FaultEvidence:
        facts = hit.evidence[node].facts
        lost = Voter(node, str(facts["directory_id_before"]))
        new = Voter(node, str(facts["directory_id_after"]))
        is_kept = self.lost_voter is LostVoter.KEPT
        before = await operator.voters(WITHIN_S)
        after = await operator.add(new, WITHIN_S, alone=not is_kept)
        return of_change(before, after, gone=lost, come=new, stays=is_kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoter:
    """An operator removes a voter, and adds it again.

    Steps: ask the leader to remove the victims from the voters, all at the same time, until the
    leader no longer reports them as voters; a leader that is removed resigns. Cure: wait until the
    leader reports each as an observer that holds all that is committed, and add them.

    Evidence: the leader reported the victim as a voter, then as none, and at the end as one that
    holds all that is committed.

    Limits: all processes go on, and clients are disturbed only if the leader was removed.
    """

    kinds: ClassVar[tuple[str, ...]] = ("removed-voter",)
    kind: ClassVar[str] = "removed-voter"
    aspect: ClassVar[Aspect] = Aspect.VOTERS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "remove voter": SwarmSpec(make=_removed, shortest_s=0.1, longest_s=6, least_nodes=2)
    }
    needs: ClassVar[tuple[Ability, ...]] = ()
    harm: ClassVar[Harm] = Harm(degrades=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        del cluster  # clients ask for it
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        return await on_each(hit.nodes, lambda node: removed(operator, node))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster
        operator = hit.operator
        assert operator is not None
        come = await on_each(hit.nodes, lambda node: self._add(operator, node, hit))
        return of_both(of_nodes(hit.evidence, hit.nodes), of_nodes(come, hit.nodes))

    async def _add(self, operator: Operator, node: NodeId, hit: Hit) -> FaultEvidence:
        gone = hit.evidence[node].facts.get("removed")
        if gone is None:
            return hit.evidence[node]
        return await added(operator, Voter(node, str(gone)))


async def removed(operator: Operator, node: NodeId) -> FaultEvidence:
    """Have a node's voter removed; the fact `removed` is the directory id of that voter."""
    before = await operator.voters(WITHIN_S)
    voter = voter_of(node, before)
    if voter is None:
        return NO_VOTER
    after = await operator.remove(voter, WITHIN_S)
    found = of_change(before, after, gone=voter)
    facts = {**found.facts, "removed": voter.directory_id}
    return FaultEvidence(bit=found.bit, what=found.what, facts=facts)


async def added(operator: Operator, voter: Voter) -> FaultEvidence:
    """Have a replica added to the voters, once it holds all that is committed."""
    before = await operator.voters(WITHIN_S)
    after = await operator.add(voter, WITHIN_S)
    return of_change(before, after, come=voter)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLeadingDirectory:
    """An operator asks a leader to remove the directory by which it leads, while another directory
    of its node stays a voter (KIP-856, "Removing Voters").

    Steps: ask the victim to remove the voter as which it leads, until a leader no longer reports it
    as a voter, and wait until another node leads. Cure: wait until the leader reports the removed
    one as an observer that holds all that is committed, add it, and remove the other one of its
    node.

    Evidence: the victim reported that it led, and two directories of its node as voters; then
    another node reported that it leads, and one of the two still as a voter and the other as none;
    and at the end a leader reported the reverse.

    Limits: takes a node that votes by two disks, one of which is lost; no other can be asked to
    remove the directory by which it leads. All processes go on.
    """

    kinds: ClassVar[tuple[str, ...]] = ("removed-directory",)
    kind: ClassVar[str] = "removed-directory"
    aspect: ClassVar[Aspect] = Aspect.VOTERS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = ()
    harm: ClassVar[Harm] = Harm(degrades=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        del cluster
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        return await on_each(hit.nodes, lambda node: self._remove(operator, node))

    async def _remove(self, operator: Operator, node: NodeId) -> FaultEvidence:
        leading, before = await operator.leading(WITHIN_S)
        other = next((each for each in before if each.node == node and each != leading), None)
        if leading is None or leading.node != node or other is None:
            return FaultEvidence(bit=False, what="it did not lead, as one voter of two of its node")
        await operator.remove(leading, WITHIN_S)
        leader, after = await operator.led_without(node, WITHIN_S)
        found = of_change(before, after, gone=leading)
        return FaultEvidence(
            bit=found.bit and other in after,
            what=f"it led as {leading}, and node {leader} leads; {found.what}",
            facts={**found.facts, "removed": leading.directory_id, "left": other.directory_id},
        )

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster
        operator = hit.operator
        assert operator is not None
        come = await on_each(hit.nodes, lambda node: self._restore(operator, node, hit))
        return of_both(of_nodes(hit.evidence, hit.nodes), of_nodes(come, hit.nodes))

    async def _restore(self, operator: Operator, node: NodeId, hit: Hit) -> FaultEvidence:
        facts = hit.evidence[node].facts
        if "removed" not in facts:
            return hit.evidence[node]
        back, left = Voter(node, str(facts["removed"])), Voter(node, str(facts["left"]))
        before = await operator.voters(WITHIN_S)
        return of_change(before, await operator.add(back, WITHIN_S), gone=left, come=back)


def voter_of(node: NodeId, voters: Sequence[Voter]) -> Voter | None:
    return next((each for each in voters if each.node == node), None)


def of_change(
    before: Sequence[Voter],
    after: Sequence[Voter],
    *,
    gone: Voter | None = None,
    come: Voter | None = None,
    stays: bool = False,
) -> FaultEvidence:
    """Voters were changed if the replica to remove was a voter and no longer is, and the reverse
    for the added one; with `stays`, if the replica to remove still is one."""
    went = gone is None or (gone in before and (gone in after) is stays)
    came = come is None or (come in after and come not in before)
    return FaultEvidence(
        bit=went and came,
        what=f"voters were {_list(before)}, and are {_list(after)}",
        facts={"voters_before": _list(before), "voters_after": _list(after)},
    )


def _list(voters: Sequence[Voter]) -> str:
    return " ".join(map(str, voters))
