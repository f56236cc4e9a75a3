"""Power failures: all victims lose at one moment what they had not synced."""

# Whether one bit is decided in `chaos.cluster.fault_evidence.of_power_cut`, for both runtimes.

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import (
    Cluster,
    DiskTrouble,
    FaultEvidence,
    NodeId,
    NodeStatus,
    PowerCutMode,
    StoppedDisk,
)
from chaos.cluster.powers import DiskTroubling, PowerCuttable, StoppedPowerCuttable
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Fault, Harm, Hit, SwarmSpec, Words, always, some
from chaos.nemesis.proof import of_lasting, on_each, start_all, statuses
from chaos.nemesis.victims import Victim

# How long syncs go wrong before the power fails: some hundred operations, or some stalled syncs.
TROUBLED_S = {DiskTrouble.SLOW: 1.5, DiskTrouble.STALLED: 2.5, DiskTrouble.LYING: 1.5}


def _power_off(mode: PowerCutMode) -> Callable[[random.Random, int], Fault]:
    return lambda rng, nodes: PowerOff(victim=some(rng, nodes), mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerOff:
    """The power of all victims fails at one moment; what was not synced is lost.

    `mode` says what else a disk may leave: `lose-all` keeps what was synced and nothing else,
    `lose-data` has written its journal (sizes survive, contents are NULs), with `torn` random pages
    survive. With `disks`, each of their syncs takes 40 ms or a second, or is a lie, for some
    seconds before.

    Steps: if requested, make the syncs of the victims go wrong for 1.5 s, stalled ones for 2.5 s
    (if they only take longer, for all but the first of several victims: a leader that waits for its
    own disk counts no follower meanwhile). Then stop every process of all victims, overwrite a
    canary (a block that was synced long ago) without a sync, silence the network, shut the file
    systems down without a last flush, and only then kill: an fsync that is in flight may otherwise
    return although nothing reached the disk. Cure: check that each is still off, mount, start all,
    and read the canaries.

    Evidence: no thread ran during the cut, the new bytes of the canary could be read before it and
    are gone after it, the process ended by the cut, and a sync went wrong if one had to. The node
    was still off just before the cure. Known once the nodes are on again.

    Limits: proves that the disk forgot what had not been written, not that the node had written
    anything unsynced: log bytes lost are a result. A `sync` of the whole machine between canary and
    cut leaves nothing to forget; such a run is void. With `disks=lying`, synced bytes are lost too.
    """

    kinds: ClassVar[tuple[str, ...]] = ("power-off",)
    kind: ClassVar[str] = "power-off"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {"power-off": {}}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        f"power-off {mode}": SwarmSpec(make=_power_off(mode), shortest_s=0.1, longest_s=6)
        for mode in PowerCutMode
    }

    victim: Victim
    mode: PowerCutMode = always(PowerCutMode.LOSE_ALL)
    disks: DiskTrouble | None = None

    @property
    def needs(self) -> tuple[Ability, ...]:
        return (Ability.POWER,) if self.disks is None else (Ability.POWER, Ability.TROUBLE)

    @property
    def harm(self) -> Harm:
        return Harm(
            ends_process=True,
            unclean=True,
            may_lose=True,
            damages_bytes=self.disks is DiskTrouble.LYING,
            halts=True,
        )

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        if self.disks is not None:
            assert isinstance(cluster, DiskTroubling)
            await cluster.trouble_disks(_troubled(hit.nodes, self.disks), self.disks)
            await asyncio.sleep(TROUBLED_S[self.disks])
        assert isinstance(cluster, PowerCuttable)
        await cluster.power_off(hit.nodes, self.mode)
        return {}  # the canary is read when the disk is back

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        return await _power_on(cluster, hit)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopThenPowerOff:
    """The victims end in good order, and the power of their disks fails at once, before the kernel
    writes out the page cache; `disk=synced`: all of it is written out in between.

    Steps: hold the file systems of all victims (an unmount would write everything out); terminate
    all and wait for their end; sync if requested; overwrite the canary without a sync; shut the
    file systems down without a last flush, and let go of them. A victim that does not end in good
    order keeps its power, and the run breaks off. Cure: check that each is still off, mount, start
    all, and read the canaries.

    Evidence: each process ended by itself when terminated, the new bytes of the canary could be
    read before the cut and are gone after it; the node was still off just before the cure. Known
    once the nodes are on again.

    Limits: the kernel writes out by itself what is half a minute old. Nothing here is an unclean
    shutdown: a node that ends in good order states that it has synced all that it vouches for, so a
    loss is never an allowed one.
    """

    kinds: ClassVar[tuple[str, ...]] = ("stop-then-power-off",)
    kind: ClassVar[str] = "stop-then-power-off"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.POWER, Ability.STOPPED_POWER)
    harm: ClassVar[Harm] = Harm(ends_process=True, may_lose=True, halts=True)

    victim: Victim
    disk: StoppedDisk = always(StoppedDisk.UNSYNCED)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, StoppedPowerCuttable)
        await cluster.stop_then_power_off(hit.nodes, synced=self.disk is StoppedDisk.SYNCED)
        return {}  # the canary is read when the disk is back

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        return await _power_on(cluster, hit)


async def _power_on(cluster: Cluster, hit: Hit) -> FaultEvidence:
    assert isinstance(cluster, PowerCuttable)
    seen = await statuses(cluster, hit.nodes)
    await start_all(cluster, hit.nodes)
    evidence = await on_each(hit.nodes, cluster.power_evidence)
    return of_lasting(evidence, seen, NodeStatus.OFF)


def _troubled(nodes: Sequence[NodeId], disks: DiskTrouble) -> Sequence[NodeId]:
    """All disks lie, but only the followers' are slow: a leader that waits for its own disk counts
    no follower meanwhile, and nothing would be in progress at the cut."""
    return nodes if disks is DiskTrouble.LYING or len(nodes) == 1 else nodes[1:]
