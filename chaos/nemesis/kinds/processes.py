"""Process faults: disk and network are left alone, so that what was written stays."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence, NodeId, NodeStatus
from chaos.cluster.powers import Killable, Pausable, Slowable
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words, one, some
from chaos.nemesis.proof import all_done, of_both, of_lasting, on_each, start_all, statuses
from chaos.nemesis.victims import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """SIGKILL: the process is gone, the page cache with its writes is not. With `latency_ms`, bytes
    between the other nodes take this long each way meanwhile.

    Steps: kill every victim at once, then slow the links if requested. Cure: check that each is
    still off, remove the delays, start all and wait until they answer.

    Evidence: a process ran before, none does after, and it ended by signal 9; it was still off just
    before the cure. Links count as slow if every marked request between two running nodes waited
    for its way there and its answer's way back.

    Limits: the kernel sends the same signal when memory is short. What was written and never synced
    survives: a node that forgets to sync passes.
    """

    kinds: ClassVar[tuple[str, ...]] = ("kill",)
    kind: ClassVar[str] = "kill"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {"kill": {}}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "kill": SwarmSpec(
            make=lambda rng, nodes: Kill(victim=some(rng, nodes)), shortest_s=0.1, longest_s=8
        )
    }

    victim: Victim
    latency_ms: int = 0

    @property
    def needs(self) -> tuple[Ability, ...]:
        return (Ability.KILL, Ability.SLOW) if self.latency_ms else (Ability.KILL,)

    @property
    def harm(self) -> Harm:
        return Harm(ends_process=True, unclean=True, halts=True, degrades=bool(self.latency_ms))

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Killable)
        evidence = await on_each(hit.nodes, cluster.kill)
        if self.latency_ms:
            assert isinstance(cluster, Slowable)
            await cluster.slow_links(self.latency_ms)
        return evidence

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        slowed = None
        if self.latency_ms:
            assert isinstance(cluster, Slowable)
            slowed = await cluster.quicken_links()
        await start_all(cluster, hit.nodes)
        ended = of_lasting(hit.evidence, seen, NodeStatus.OFF)
        return ended if slowed is None else of_both(ended, slowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminate:
    """SIGTERM: the node ends in good order, a leader after it has announced that to its successors.

    Steps: terminate every victim at once, wait for it to end, and kill it if it does not end within
    a bounded time. Cure: check that each is still off, start all and wait until they answer.

    Evidence: the process ran before and does not run after; it was still off just before the cure.

    Limits: what the node did while it shut down is in its traces, and without traces on its disk (a
    clean-shutdown file). A node that fails meanwhile is accused by its exit code
    (`nodes-kept-running`); one that had to be killed in the end counts as stopped.
    """

    kinds: ClassVar[tuple[str, ...]] = ("stop",)
    kind: ClassVar[str] = "stop"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {"stop": {}}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "stop": SwarmSpec(
            make=lambda rng, nodes: Terminate(victim=one(rng, nodes)), shortest_s=0.1, longest_s=8
        )
    }
    needs: ClassVar[tuple[Ability, ...]] = ()
    harm: ClassVar[Harm] = Harm(ends_process=True, halts=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        return await on_each(hit.nodes, partial(stop, cluster))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        return of_lasting(hit.evidence, seen, NodeStatus.OFF)


async def stop(cluster: Cluster, node: NodeId) -> FaultEvidence:
    """Stop it by SIGTERM; whether it ran before and does not run after."""
    ran = await cluster.status(node) is NodeStatus.RUNNING
    await cluster.stop(node)
    runs = await cluster.status(node) is not NodeStatus.OFF
    bit = ran and not runs
    what = "the process ended after SIGTERM" if bit else "no running process was stopped"
    return FaultEvidence(bit=bit, what=what, facts={"ran": ran, "runs": runs})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """SIGSTOP: every thread stands still, connections stay open. To the others it looks like a long
    pause of the garbage collector, or of the virtual machine.

    Steps: stop every victim at once. Cure: check that each still stands, then let all go on.

    Evidence: the node has threads and none of them is running or ready; it stood just before the
    cure.

    Limits: true for the two moments of looking. Clocks go on: when a paused node continues, the
    world has moved on.
    """

    kinds: ClassVar[tuple[str, ...]] = ("pause",)
    kind: ClassVar[str] = "pause"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {"pause": {}}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "pause": SwarmSpec(
            make=lambda rng, nodes: Pause(victim=some(rng, nodes)), shortest_s=0.1, longest_s=10
        )
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.PAUSE,)
    harm: ClassVar[Harm] = Harm(halts=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Pausable)
        return await on_each(hit.nodes, cluster.pause)

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, Pausable)
        seen = await statuses(cluster, hit.nodes)
        await all_done([cluster.resume(node) for node in hit.nodes])
        return of_lasting(hit.evidence, seen, NodeStatus.PAUSED)
