"""Wrong clocks. Time-outs are measured by the monotonic clock; the time of day is for people and
records, and a jump of it must change nothing that a node promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence
from chaos.cluster.powers import ClockShifting
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words, one
from chaos.nemesis.proof import of_nodes, on_each
from chaos.nemesis.victims import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump:
    """The time of day of the victims is wrong by this much.

    Steps: shift the time of day of each victim. Cure: set it right.

    Evidence: read back, it was as far off true time as requested.

    Limits: the monotonic clock is left alone. In simulated clusters only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("clock-jump",)
    kind: ClassVar[str] = "clock-jump"
    aspect: ClassVar[Aspect] = Aspect.CLOCK
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "clock-jump": SwarmSpec(
            make=lambda rng, nodes: ClockJump(
                victim=one(rng, nodes), offset_ms=rng.choice((-1, 1)) * rng.randrange(10, 600_000)
            ),
            shortest_s=0.5,
            longest_s=15,
        )
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.CLOCK,)
    harm: ClassVar[Harm] = Harm(shifts_clock=True)

    victim: Victim
    offset_ms: int

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, ClockShifting)
        return await on_each(hit.nodes, lambda node: cluster.jump_clock(node, self.offset_ms))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, ClockShifting)
        await on_each(hit.nodes, lambda node: cluster.jump_clock(node, 0))
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockRate:
    """The clocks of the victims go too fast or too slow: their time-outs come early or late.

    Steps: let the clocks of each victim go at that rate. Cure: let them go right again.

    Evidence: over some time, a clock was measured to go at that rate, within a thousandth.

    Limits: both clocks go at the same rate. In simulated clusters only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("clock-rate",)
    kind: ClassVar[str] = "clock-rate"
    aspect: ClassVar[Aspect] = Aspect.CLOCK
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "clock-rate": SwarmSpec(
            make=lambda rng, nodes: ClockRate(
                victim=one(rng, nodes), rate=rng.choice((0.5, 0.8, 0.95, 1.05, 1.25, 2.0))
            ),
            shortest_s=2,
            longest_s=20,
        )
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.CLOCK,)
    harm: ClassVar[Harm] = Harm(shifts_clock=True, degrades=True)

    victim: Victim
    rate: float

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, ClockShifting)
        return await on_each(hit.nodes, lambda node: cluster.run_clock(node, self.rate))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, ClockShifting)
        await on_each(hit.nodes, lambda node: cluster.run_clock(node, 1.0))
        return of_nodes(hit.evidence, hit.nodes)
