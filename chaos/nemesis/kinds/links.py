"""Links that are slow or flaky between nodes, or closed to clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence, Link, NodeId
from chaos.cluster.powers import Closable, Slowable, Unsteady
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words, one_side
from chaos.nemesis.kinds.cuts import Ways, grudge
from chaos.nemesis.proof import of_nodes
from chaos.nemesis.victims import AllVoters, Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLinks:
    """Every byte between nodes takes this much longer, each way: on all links, whatever the victim.

    Steps: delay both directions of every link. Cure: time a marked request along each link between
    running nodes, then remove the delays.

    Evidence: every answer took at least twice the delay; void if no two nodes run.

    Limits: one such fault at a time. The delay is the same for all bytes: none overtakes another.
    """

    kinds: ClassVar[tuple[str, ...]] = ("slow-links",)
    kind: ClassVar[str] = "slow-links"
    aspect: ClassVar[Aspect] = Aspect.LATENCY
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "slow-links": SwarmSpec(
            make=lambda rng, _: SlowLinks(latency_ms=rng.choice((20, 100, 300, 700))),
            shortest_s=1,
            longest_s=12,
            least_nodes=2,
        )
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.SLOW,)
    harm: ClassVar[Harm] = Harm(degrades=True)

    latency_ms: int
    victim: Victim = AllVoters()

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        del hit  # of all links
        assert isinstance(cluster, Slowable)
        await cluster.slow_links(self.latency_ms)
        return {}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del hit  # of all links
        assert isinstance(cluster, Slowable)
        return await cluster.quicken_links()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyLinks:
    """Connections between the victims and others break, at this share of the writes on them.

    Steps: let a share of the writes on each link between a victim and the others reset its
    connection. Cure: let all of them pass.

    Evidence: a connection was reset for that reason.

    Limits: the nodes decide when something is written; on an idle link nothing breaks. In simulated
    clusters only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("flaky-links",)
    kind: ClassVar[str] = "flaky-links"
    aspect: ClassVar[Aspect] = Aspect.FLAKINESS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "flaky-links": SwarmSpec(
            make=lambda rng, nodes: FlakyLinks(
                victim=one_side(rng, nodes), share=rng.choice((0.01, 0.05, 0.2))
            ),
            shortest_s=2,
            longest_s=15,
            least_nodes=2,
        )
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.FLAKY,)
    harm: ClassVar[Harm] = Harm(degrades=True)

    victim: Victim
    share: float

    def links(self, cluster: Cluster, nodes: Sequence[NodeId]) -> tuple[Link, ...]:
        return grudge(nodes, cluster.nodes, Ways.BOTH)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Unsteady)
        await cluster.make_flaky(hit.links, self.share)
        return {}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, Unsteady)
        return await cluster.steady(hit.links)


# Clients that do not reach the victims, while all nodes do.


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutOut:
    """No client reaches the victims; the nodes reach each other.

    Steps: stop bytes both ways on the client proxies of the victims. Cure: send a marked request
    in, then let all bytes pass.

    Evidence: the request was taken in, not passed on and not answered, and the proxy reports that
    it stops both ways. Known at the cure.

    Limits: proved for the moment of the cure. Probes of the harness use the same proxies.
    """

    kinds: ClassVar[tuple[str, ...]] = ("shut-out-clients",)
    kind: ClassVar[str] = "shut-out-clients"
    aspect: ClassVar[Aspect] = Aspect.ENTRANCE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
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
