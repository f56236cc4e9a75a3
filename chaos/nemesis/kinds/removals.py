"""Voters that are removed for good: they stay observers.

Brokers that an operator asks to be made voters.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from chaos.cluster.interface import (
    Addition,
    Cluster,
    FaultEvidence,
    NodeId,
    NodeStatus,
    Removal,
    Voted,
)
from chaos.cluster.powers import Killable, VoteReading
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words, always
from chaos.nemesis.kinds.processes import stop
from chaos.nemesis.kinds.voters import NO_VOTER, WITHIN_S, of_change, removed, voter_of
from chaos.nemesis.proof import of_both, of_lasting, of_nodes, on_each, start_all, statuses
from chaos.nemesis.victims import FollowerThatVoted, Victim
from workloads.operator import NeverChangedError, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class AddBroker:
    """An operator asks for a broker to be made a voter (KIP-853, AddRaftVoter), by its own id,
    directory id and address; with `addition=unasked` it reads the voters, and asks for nothing.

    Steps: wait until the leader reports the victim as an observer that holds all that is committed,
    and ask it to add that one, until the leader confirms or refuses. Cure: nothing, the voters stay
    as they are.

    Evidence: the leader reported the victim as no voter, and then as a voter if it confirmed the
    addition, and as no voter if it refused or was not asked.

    Limits: controllers of a dynamic quorum, and a node that is a broker and nothing else. Whether
    the leader refuses is for the judge: it bites either way.
    """

    kinds: ClassVar[tuple[str, ...]] = ("add-broker",)
    kind: ClassVar[str] = "add-broker"
    aspect: ClassVar[Aspect] = Aspect.VOTERS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = ()
    harm: ClassVar[Harm] = Harm(degrades=True)

    victim: Victim
    addition: Addition = always(Addition.ASKED)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        del cluster  # clients ask for it
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        return await on_each(hit.nodes, partial(self._add, operator))

    async def _add(self, operator: Operator, node: NodeId) -> FaultEvidence:
        before = await operator.voters(WITHIN_S)
        found = of_change(before, before)
        is_voter = voter_of(node, before) is not None
        if is_voter or self.addition is Addition.UNASKED:
            return replace(found, bit=not is_voter)
        replica, refusal = await operator.request_addition(node, WITHIN_S)
        after = await operator.voters(WITHIN_S)
        if not refusal:
            return of_change(before, after, come=replica)
        found = of_change(before, after)
        what = f"the leader refused it with {refusal}; {found.what}"
        return replace(found, bit=replica not in (*before, *after), what=what)

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


# A leader without followers resigns after 1.5 fetch time-outs.
_STILL_LEADS_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartRemoved:
    """An operator removes a voter for good, and starts its node again.

    Steps: read the victim's vote from its disk, ask the leader to remove it from the voters until
    the leader no longer reports it as one, and stop it in good order. Cure: start it and wait until
    it answers.

    Evidence: the leader reported the victim as a voter, then as none; the process ran before and
    does not run after, and was still off just before the cure. Its vote is part of the evidence.

    Limits: controllers of a dynamic quorum. It stays an observer. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("restart-removed",)
    kind: ClassVar[str] = "restart-removed"
    aspect: ClassVar[Aspect] = Aspect.VOTERS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.VOTES,)
    harm: ClassVar[Harm] = Harm(ends_process=True, halts=True)

    victim: Victim = FollowerThatVoted(Voted.ITSELF)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        gone = await on_each(hit.nodes, lambda node: self._remove(operator, cluster, node))
        stopped = await on_each(hit.nodes, lambda node: stop(cluster, node))
        return {node: of_both(gone[node], stopped[node]) for node in hit.nodes}

    async def _remove(self, operator: Operator, cluster: Cluster, node: NodeId) -> FaultEvidence:
        assert isinstance(cluster, VoteReading)
        vote = await cluster.vote(node)
        found = await removed(operator, node)
        what = f"it had voted for {'none' if vote is None else vote}; {found.what}"
        return replace(found, what=what)

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        return of_lasting(hit.evidence, seen, NodeStatus.OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveForGood:
    """An operator removes a voter; its process goes on as an observer's.

    Steps: ask the leader to remove the victim from the voters until the leader no longer reports it
    as one. Cure: nothing, it stays an observer.

    Evidence: the leader reported the victim as a voter, then as none.

    Limits: if the leader itself was removed, another one has to be elected.
    """

    kinds: ClassVar[tuple[str, ...]] = ("removed-for-good",)
    kind: ClassVar[str] = "removed-for-good"
    aspect: ClassVar[Aspect] = Aspect.VOTERS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = ()
    harm: ClassVar[Harm] = Harm(degrades=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        del cluster  # clients ask for it
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        return await on_each(hit.nodes, partial(removed, operator))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRemoved:
    """The leader is asked once to remove itself from the voters, and killed as soon as its own log
    says that it is none; with `removal=unasked` it is killed, and nothing else.

    Steps: ask the victim, which leads, and do not wait for the answer; look until it reports itself
    as no voter, for two seconds at most, and kill it. Cure: check that it is still off, start it
    and wait until it answers.

    Evidence: as for `kill`; and the victim reported itself as a voter, and just before it was
    killed as none: it goes by its log, committed or not.

    Limits: another fault has to keep the record from the other voters, by cutting them off from the
    leader. A leader that is cut off leads for seconds only: on a slow machine it may have resigned
    before it is asked, and the fault has not bitten.
    """

    kinds: ClassVar[tuple[str, ...]] = ("kill-removed",)
    kind: ClassVar[str] = "kill-removed"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.KILL,)
    harm: ClassVar[Harm] = Harm(ends_process=True, unclean=True, halts=True)

    victim: Victim
    removal: Removal = always(Removal.ASKED)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Killable)
        if self.removal is Removal.UNASKED:
            return await on_each(hit.nodes, cluster.kill)
        operator = hit.operator
        assert operator is not None, "a run without an operator changes voters"
        return await on_each(hit.nodes, partial(_kill_removed, operator, cluster))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        return of_lasting(hit.evidence, seen, NodeStatus.OFF)


async def _kill_removed(operator: Operator, cluster: Killable, node: NodeId) -> FaultEvidence:
    """It is killed in any case; the evidence says whether it was removed before."""
    try:
        before = await operator.voters(_STILL_LEADS_S)
    except NeverChangedError as error:
        gone = FaultEvidence(bit=False, what=str(error))
        return of_both(gone, await cluster.kill(node))
    voter = voter_of(node, before)
    if voter is None:
        return of_both(NO_VOTER, await cluster.kill(node))
    asked = asyncio.create_task(operator.request_removal(voter))
    try:
        after = await operator.voters_without(voter, _STILL_LEADS_S)
    except NeverChangedError:
        after = before
    killed = await cluster.kill(node)
    await asked  # its answer, if there is one, is lost by now
    return of_both(of_change(before, after, gone=voter), killed)
