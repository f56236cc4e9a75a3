"""Clients and nodes that do not reach each other, while all nodes do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence
from chaos.cluster.powers import Closable
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Hit, Menace, Words
from chaos.nemesis.harm import Harm
from chaos.nemesis.proof import of_nodes
from chaos.nemesis.victims import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutOut:
    """No client reaches the victims; the nodes reach each other.

    Steps: stop bytes both ways on the proxies by which clients enter. Cure: send a marked request
    in, then let all bytes pass.

    Evidence: the request was taken in, not passed on and not answered, and the proxy says that it
    stops both ways. Known at the cure.

    Limits: proved for the moment of the cure. Probes of the harness enter by the same way.
    """

    kinds: ClassVar[tuple[str, ...]] = ("shut-out-clients",)
    kind: ClassVar[str] = "shut-out-clients"
    aspect: ClassVar[Aspect] = Aspect.ENTRANCE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    menaces: ClassVar[Mapping[str, Menace]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.SHUT_OUT,)
    harm: ClassVar[Harm] = Harm()

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Closable)
        await cluster.close_entrances(hit.nodes)
        return {}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, Closable)
        return of_nodes(await cluster.open_entrances(hit.nodes), hit.nodes)
