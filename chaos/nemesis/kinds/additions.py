"""Brokers that an operator asks to be made voters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from chaos.cluster.interface import Addition, Cluster, FaultEvidence, NodeId
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words
from chaos.nemesis.kinds.voters import WITHIN_S, of_change, voter_of
from chaos.nemesis.parameters import always
from chaos.nemesis.proof import of_nodes, on_each
from chaos.nemesis.victims import Victim
from workloads.operator import Operator


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
