"""A node recovered from its disk.

Without sockets, clocks and signals: the server and the simulator start a node in the same way.
"""

import random
from collections.abc import Iterator, Sequence
from uuid import UUID

from node import wire
from node.config import BrokerRole, NodeConfig
from node.core import Life
from node.effects import ElectionState, SegmentLimits, Stop, Trace
from node.ids import ReplicaKey, one_key
from node.lazy_dataclass import dataclass
from node.node import Framing
from node.process_roles import (
    BrokerNode,
    CombinedNode,
    ControllerNode,
    broker_node,
    combined_node,
    controller_node,
)
from node.raft.voter_forms import DYNAMIC, STATIC
from node.raft.voter_history import VoterHistory
from node.raft.voter_set import VoterSet
from node.records.metadata import MetadataRecord
from node.server.outcome import Refusal
from node.storage.disk import META_PROPERTIES, METADATA_DIRECTORY, VOTERS_CHECKPOINT, Disk
from node.storage.election_store import ElectionStore
from node.storage.format import is_static, read_bootstrap, read_voters
from node.storage.log import Log
from node.storage.log_directories import LogDirectories, LogDirectory
from node.storage.meta import MetaProperties, load_meta
from node.wire import broker_frames

VERSION = "kraft-chaos 0.1.0"
AnyNode = ControllerNode | BrokerNode | CombinedNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The node's state on the disk."""

    meta: MetaProperties
    voters: VoterHistory  # before the log
    election: ElectionState
    elections: ElectionStore
    bootstrap: tuple[MetadataRecord, ...]
    log: Log
    key: ReplicaKey  # the node's identity in the quorum

    @property
    def disk_key(self) -> ReplicaKey:
        """The node with its disk's id, whether the quorum uses that or not."""
        return ReplicaKey(self.meta.node_id, self.meta.directory_id)


def recover(config: NodeConfig, disk: Disk, new_directory: UUID) -> Recovered:
    """The state on the disk, cut where a power cut tore it. A disk without a directory id is given
    `new_directory`.

    Raises Refusal if the disk is another node's, StorageError or OSError if it is damaged.
    """
    meta = load_meta(disk, new_directory)
    if meta.node_id != config.node_id:
        raise Refusal(
            what=f"this disk is node {meta.node_id}'s, and the file says node.id={config.node_id}",
            where=f"{config.log_dir}/{META_PROPERTIES}",
            next_step=f"set log.dirs to the directory of node {config.node_id}; or make one with:"
            " kraft-node format -t CLUSTER_ID -c FILE ...",
        )
    elections = ElectionStore(disk)
    static = _is_static(config, disk, meta)
    # If ids alone count, the node with the id is the voter, whatever became of its disk.
    disk_key = ReplicaKey(meta.node_id, meta.directory_id)
    key = one_key(ReplicaKey(meta.node_id) if static else disk_key)
    voters = _static_voters(config) if static else _voters(config, disk, key)
    _check_listener(config, voters.newest)
    return Recovered(
        meta=meta,
        voters=voters,
        election=elections.load(),
        elections=elections,
        bootstrap=read_bootstrap(disk),
        log=Log.open(disk, METADATA_DIRECTORY, config.segment_bytes),
        key=key,
    )


def _is_static(config: NodeConfig, disk: Disk, meta: MetaProperties) -> bool:
    """Do ids alone count? They do on a disk that Apache Kafka's tool formatted for voters that the
    configuration lists: it writes no checkpoint that says so.
    """
    says_nothing = not meta.lists_voters and not disk.exists(VOTERS_CHECKPOINT)
    return is_static(disk) or (bool(config.quorum_voters) and says_nothing)


def _static_voters(config: NodeConfig) -> VoterHistory:
    """The voters in the file, by their ids (kraft.version 0)."""
    if not config.quorum_voters:
        raise Refusal(
            what="this disk was formatted for a static quorum (kraft.version 0), and the file lists"
            " no voters",
            where=f"controller.quorum.voters, and {config.log_dir}/{VOTERS_CHECKPOINT}",
            next_step="set controller.quorum.voters, the same in every node's file; then:"
            " kraft-node start -c FILE",
        )
    listed = ((ReplicaKey(node), at) for node, at in config.quorum_voters.items())
    return VoterHistory.formatted(listed, STATIC)


def _voters(config: NodeConfig, disk: Disk, me: ReplicaKey) -> VoterHistory:
    """The voters from the file, or from the disk, as it was formatted."""
    if not config.quorum_voters:
        # Apache Kafka's tool writes no such file when it formats a node without voters.
        learns = bool(config.bootstrap_servers) and not disk.exists(VOTERS_CHECKPOINT)
        return VoterHistory.formatted(() if learns else read_voters(disk), DYNAMIC)
    if disk.exists(VOTERS_CHECKPOINT):
        raise Refusal(
            what="the file lists the voters (KIP-856), and this disk was formatted for a quorum"
            " without such a list (KIP-853)",
            where=f"controller.quorum.voters, and {config.log_dir}/{VOTERS_CHECKPOINT}",
            next_step="take controller.quorum.voters out of the file; then:"
            " kraft-node start -c FILE",
        )
    return VoterHistory.listed(config.quorum_voters, me)


def _check_listener(config: NodeConfig, voters: VoterSet) -> None:
    """Voters with another listener than the controllers' own would be refused."""
    own = [row for key, row in voters.rows.items() if key.id == config.node_id]
    listed = {(at.host, at.port) for row in own for at in row.endpoints}
    inner = {(at.host, at.port) for at in config.advertised[:1]}
    for at in config.advertised[1:]:
        if (at.host, at.port) in listed and not inner & listed:
            raise Refusal(
                what=f"the other voters reach this node by {at.name} ({at.host}:{at.port}), where"
                " no peer is served",
                where=f"controller.listener.names, and the voters in {config.log_dir}",
                next_step=f"name {at.name} first in controller.listener.names; then:"
                " kraft-node start -c FILE",
            )


def node_on(
    found: Recovered,
    config: NodeConfig,
    rng: random.Random,
    incarnation: UUID,
    framing: Framing = wire,
) -> ControllerNode:
    """The node that continues from the recovered state; `rng` draws its election timeouts, and
    `incarnation` names this life of its process. Raises Refusal if the log is not for it.
    """
    node = controller_node(config, _life(found, rng, incarnation), found.bootstrap, framing)
    _check_log(node, config)
    return node


def _check_log(node: ControllerNode | CombinedNode, config: NodeConfig) -> None:
    fault = node.core.raft.log.voters.fault
    if fault is not None:
        raise Refusal(
            what=fault.what,
            where=f"{config.log_dir}/{METADATA_DIRECTORY}",
            next_step=fault.next_step,
        )


def recover_replicas(role: BrokerRole, directories: Sequence[LogDirectory]) -> LogDirectories:
    """A broker's replicas in its log directories. Raises StorageError or OSError if one is
    damaged.
    """
    limits = SegmentLimits(
        size=role.segment_bytes,
        ms=role.segment_ms,
        index_interval=role.index_interval,
        flush_messages=role.flush_messages,
    )
    return LogDirectories.open(directories, limits)


def broker_on(
    found: Recovered,
    replicas: LogDirectories,
    config: NodeConfig,
    role: BrokerRole,
    rng: random.Random,
    incarnation: UUID,
    framing: Framing = broker_frames,
) -> BrokerNode:
    """As `node_on`, for a broker."""
    life = _life(found, rng, incarnation)
    return broker_node(config, role, life, replicas=replicas, framing=framing)


def combined_on(
    found: Recovered,
    replicas: LogDirectories,
    config: NodeConfig,
    role: BrokerRole,
    rng: random.Random,
    incarnation: UUID,
    framing: Framing = wire,
    broker_framing: Framing = broker_frames,
) -> CombinedNode:
    """As `node_on`, for a combined controller and broker."""
    node = combined_node(
        config,
        role,
        _life(found, rng, incarnation),
        found.bootstrap,
        replicas=replicas,
        framing=framing,
        broker_framing=broker_framing,
    )
    _check_log(node, config)
    return node


def _life(found: Recovered, rng: random.Random, incarnation: UUID) -> Life:
    return Life(
        cluster_id=found.meta.cluster_id,
        key=found.key,
        directory=found.meta.directory_id,
        voters=found.voters,
        election=found.election,
        log=found.log,
        rng=rng,
        incarnation=incarnation,
    )


def start_lines(found: Recovered) -> Iterator[Trace]:
    """The first lines of a life: what was found, what is not vouched for, and the damage left by a
    power cut.
    """
    end = found.log.end()
    yield Trace(
        event="n.start",
        fields={
            "version": VERSION,
            "cluster": found.meta.cluster_id,
            "epoch": found.election.epoch,
            "leader": found.election.leader,
            "log_end": end.offset,
            "log_epoch": end.epoch,
        },
    )
    if found.log.was_unmarked:
        yield Trace(event="n.unmarked", fields={"end": end.offset})
    for damaged in found.log.kept.damaged:
        yield Trace(event="n.damaged", fields={"file": damaged.path, "reason": damaged.reason})
    cut = found.log.cut
    if cut is not None:
        yield Trace(
            event="n.cut",
            fields={
                "segment": cut.segment,
                "end": cut.end,
                "bytes": cut.size,
                "flushed": cut.flushed,
                "reason": cut.reason,
            },
        )


def stop_line(stop: Stop) -> Trace:
    """The last line of a life that ends cleanly."""
    return Trace(event="n.stop", fields={"code": stop.code, "reason": stop.reason})
