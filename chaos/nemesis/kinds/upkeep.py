"""What operators do to brokers that are well: nobody is hurt, and all goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence, MovedReplica, ReplicaMoving, Syncable
from chaos.nemesis.abilities import Ability
from chaos.nemesis.acts import on_each
from chaos.nemesis.fault import Aspect, ByNode, Hit, Menace, Words
from chaos.nemesis.harm import Harm
from chaos.nemesis.parameters import always
from chaos.nemesis.proof import of_nodes
from chaos.nemesis.victims import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncDisks:
    """All that was written to the victims' disks so far becomes durable.

    Steps: have the kernel write out the whole file system of each victim, as `sync -f` does. Cure:
    nothing.

    Evidence: the kernel says that it is done.

    Limits: what a process still holds in its own memory is not written. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("sync-disks",)
    kind: ClassVar[str] = "sync-disks"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    menaces: ClassVar[Mapping[str, Menace]] = {}
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

    Steps: ask each victim where its replicas lie, tell it to move each of them, and ask again until
    all lie where they were sent. Cure: nothing, they stay there.

    Evidence: the broker says that each replica lies in another log directory than before, and that
    none is on its way.

    Limits: a broker with one log directory has nowhere to move a replica to. Both directories are
    on one disk. In containers only.
    """

    kinds: ClassVar[tuple[str, ...]] = ("move-replicas",)
    kind: ClassVar[str] = "move-replicas"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    menaces: ClassVar[Mapping[str, Menace]] = {}
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
