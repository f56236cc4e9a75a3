"""What operators do to healthy nodes, right or wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import (
    Advertised,
    AlteredMinIsr,
    Cluster,
    ElectionType,
    ElrLevel,
    FaultEvidence,
    MovedReplica,
    MoveEnd,
)
from chaos.cluster.powers import (
    ConfigAltering,
    FeatureSetting,
    LeaderElecting,
    Readdressing,
    Reassigning,
    ReplicaMoving,
    Syncable,
)
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Harm, Hit, SwarmSpec, Words, always
from chaos.nemesis.proof import all_done, of_both, of_nodes, on_each
from chaos.nemesis.victims import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncDisks:
    """All writes so far to the victims' disks become durable.

    Steps: have the kernel write out the whole file system of each victim, as `sync -f` does. Cure:
    nothing.

    Evidence: the kernel reports that it is done.

    Limits: what a process still holds in its own memory is not written. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("sync-disks",)
    kind: ClassVar[str] = "sync-disks"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.SYNC,)
    harm: ClassVar[Harm] = Harm(syncs=True)

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Syncable)
        return await on_each(hit.nodes, cluster.sync_disk)

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReplicas:
    """Every replica of clients' topics on the victims goes to the other log directory of its broker
    (KIP-113, AlterReplicaLogDirs); `replica=synced`: their disks are written out as soon as it is
    done.

    Steps: ask each victim for the directories of its replicas, ask it to move each of them, and ask
    again until all are where they were sent. Cure: nothing, they stay there.

    Evidence: the broker reports each replica in another log directory than before, and none on its
    way.

    Limits: a broker with one log directory has nowhere to move a replica to. Both directories are
    on one disk. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("move-replicas",)
    kind: ClassVar[str] = "move-replicas"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    harm: ClassVar[Harm] = Harm()

    victim: Victim
    replica: MovedReplica = always(MovedReplica.UNSYNCED)

    @property
    def needs(self) -> tuple[Ability, ...]:
        synced = self.replica is MovedReplica.SYNCED
        return (Ability.MOVE_REPLICAS, Ability.SYNC) if synced else (Ability.MOVE_REPLICAS,)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, ReplicaMoving)
        moved = await on_each(hit.nodes, cluster.move_replicas)
        if self.replica is MovedReplica.SYNCED:
            assert isinstance(cluster, Syncable)
            await on_each(hit.nodes, cluster.sync_disk)
        return moved

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readdress:
    """The victims are started again one by one with another advertised host, which they announce to
    the leader of the quorum (KIP-853, UpdateRaftVoter): one under which it cannot be reached, or
    with `advertised=reachable` another name of their own.

    Steps: stop a victim in good order, start it with the other host, wait until the leader names it
    there and that is committed; then the next. Cure: start all again with the hosts that they had,
    at once, and wait until they answer.

    Evidence: the leader reported the new host for the voter (DescribeQuorum), and that all that it
    had written by then is committed.

    Limits: controllers of a dynamic quorum only. Names are those of the nodes' own table of hosts;
    the unreachable one is in a network that no node has a route to. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("readdress",)
    kind: ClassVar[str] = "readdress"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.READDRESS,)
    harm: ClassVar[Harm] = Harm(ends_process=True)

    victim: Victim
    advertised: Advertised = always(Advertised.UNREACHABLE)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Readdressing)
        # All at once, they would be no majority meanwhile, and another one might lead then.
        return {node: await cluster.readdress(node, self.advertised) for node in hit.nodes}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, Readdressing)
        await all_done(cluster.address_as_before(node) for node in hit.nodes)
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetElrLevel:
    """An operator asks a broker for another level of eligible.leader.replicas.version (KIP-966,
    UpdateFeatures): `level=0` takes eligible leader replicas away, `level=1` leaves them as they
    are.

    Steps: ask the victim, which forwards the request to the active controller, and wait for the
    answer. Cure: nothing, the level stays.

    Evidence: the answer confirms it.

    Limits: for a cluster that was formatted with level 1. A broker is asked once: if the answer is
    lost, it is not known whether it was done.
    """

    kinds: ClassVar[tuple[str, ...]] = ("set-elr-level",)
    kind: ClassVar[str] = "set-elr-level"
    aspect: ClassVar[Aspect] = Aspect.FEATURES
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.FEATURES,)
    harm: ClassVar[Harm] = Harm()

    victim: Victim
    level: ElrLevel = always(ElrLevel.NONE)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, FeatureSetting)
        node, *_ = hit.nodes  # one is enough: it is the level of the whole cluster
        return dict.fromkeys(hit.nodes, await cluster.set_elr_level(node, int(self.level)))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeaders:
    """An operator asks a broker for leaders of all partitions that have none (KIP-966, part two,
    ElectLeaders 3): `election=longest-log-balanced` for those with the longest log, once all are
    there that may have everything; `longest-log-aggressive` for those of the replicas that are
    there; `designation` for that broker itself.

    Steps: ask the victim, which forwards the request to the active controller, and wait for the
    answer. Cure: nothing, leaders stay.

    Evidence: the answer confirms that each partition was given a leader, or that none needed one.

    Limits: for our own node, as no released Kafka has these types. The first victim is asked, once:
    if the answer is lost, it is not known whether it was done. The controller waits 20 s for
    replicas.
    """

    kinds: ClassVar[tuple[str, ...]] = ("elect-leaders",)
    kind: ClassVar[str] = "elect-leaders"
    aspect: ClassVar[Aspect] = Aspect.LEADERS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.ELECT,)
    harm: ClassVar[Harm] = Harm()

    victim: Victim
    election: ElectionType = always(ElectionType.BALANCED)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, LeaderElecting)
        node, *_ = hit.nodes
        return dict.fromkeys(hit.nodes, await cluster.elect_leaders(node, self.election))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMinIsr:
    """An operator asks a broker for another min.insync.replicas of all topics of clients (KIP-339,
    IncrementalAlterConfigs), which have 3 replicas and a value of 2: `min_isr=3` raises it, `1`
    lowers it, `2` sets what is set already; with `untouched` nothing is asked for.

    Steps: ask the victim for its topics and then for the change, which it forwards to the active
    controller, and wait for the answer. Cure: nothing, the value stays.

    Evidence: the answer confirms it for each topic.

    Limits: the first victim is asked, once: if the answer is lost, it is not known whether it was
    done.
    """

    kinds: ClassVar[tuple[str, ...]] = ("set-min-isr",)
    kind: ClassVar[str] = "set-min-isr"
    aspect: ClassVar[Aspect] = Aspect.CONFIGS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.ALTER,)
    harm: ClassVar[Harm] = Harm()

    victim: Victim
    min_isr: AlteredMinIsr = always(AlteredMinIsr.RAISED)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, ConfigAltering)
        node, *_ = hit.nodes
        return dict.fromkeys(hit.nodes, await cluster.set_min_isr(node, self.min_isr))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        del cluster  # there is nothing to undo
        return of_nodes(hit.evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignPartitions:
    """An operator asks a broker that it be given a replica of each partition of clients' topics
    that it has none of, in place of the first replica (KIP-455, AlterPartitionReassignments); with
    `end=cancelled` it is to be cancelled later.

    Steps: ask the victim for its partitions and then for the change, which it forwards to the
    active controller, and wait for the answer; the move itself goes on. Cure: ask the victim to
    cancel what is under way; or nothing, the replicas stay where they are sent.

    Evidence: the answer confirms it for each partition, and there is one; so does the answer to the
    cancellation, where nothing was done by then.

    Limits: the first victim is asked, once: if the answer is lost, it is not known whether it was
    done.
    """

    kinds: ClassVar[tuple[str, ...]] = ("reassign-partitions",)
    kind: ClassVar[str] = "reassign-partitions"
    aspect: ClassVar[Aspect] = Aspect.REPLICAS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.REASSIGN,)
    harm: ClassVar[Harm] = Harm()

    victim: Victim
    end: MoveEnd = always(MoveEnd.DONE)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Reassigning)
        node, *_ = hit.nodes
        return dict.fromkeys(hit.nodes, await cluster.reassign_partitions(node))

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, Reassigning)
        begun = of_nodes(hit.evidence, hit.nodes)
        if self.end is MoveEnd.DONE:
            return begun
        node, *_ = hit.nodes
        return of_both(begun, await cluster.cancel_reassignments(node))
