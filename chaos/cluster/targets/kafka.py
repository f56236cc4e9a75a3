"""Apache Kafka as a target: what its users write into server.properties, and its storage tool.

Brokers are nodes 1..b, controllers b+1..b+c; combined nodes 1..b are both, and if there are more
controllers than brokers, b+1..c are controllers only. Every node has an inner listener for the
others and an outer one for clients; a controller's outer listener is a controller listener too, so
that clients can ask the quorum itself.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.kafka_settings import KafkaSettings
from chaos.cluster.targets.target import Seat, TargetBounds, second_log_directory
from chaos.cluster.topology import OUTER_PORT, host_name, inner_port, second_port
from chaos.conditions import Conditions
from chaos.releases import IMAGE

# On few cores, the C2 compiler and a parallel collector cost more than they gain within a run.
JVM = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
JAVA = (
    "java",
    *JVM,
    "-XX:SharedArchiveFile=/opt/kafka/classes.jsa",
    "-Dlog4j2.configurationFile=/opt/kafka/log4j2.properties",
    "-cp",
    "/opt/kafka/libs/*",
)
LISTENERS = ("INT", "EXT", "CONTROLLER", "EXTERNAL")
# Settings not about time. Kafka's 50 partitions of an internal topic slow every restart, its
# indexes would be 20 MiB a partition of every collected disk, its cleaner takes 128 MiB of memory
# for deduping, and the judge does not know of topics that a request created.
SMALL = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "log.index.size.max.bytes": "1048576",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
# With Kafka's own values a failover would take half a minute: a session of 9 s, 30 s until a
# silent replica leaves the ISR, 30 s until a forwarded request gives a silent controller up.
QUICK = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.socket.timeout.ms": "3000",
    "replica.lag.time.max.ms": "5000",
    "replica.socket.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
}
# The smallest segment of the metadata log that Kafka accepts. The setting that its own tests use
# instead also bounds its batches, and a controller that may not write one ends.
_SEGMENT, _LEAST_SEGMENT = "metadata.log.segment.bytes", 8 << 20
# A broker that is no controller does not start with these settings.
OF_CONTROLLERS = ("controller.quorum.auto.join.enable",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kafka:
    """A release of Apache Kafka in a certain layout.

    `conditions` are the time-outs of the quorum; with `stock` ones they are left to Kafka.
    """

    release: str
    chosen: KafkaSettings = field(default_factory=KafkaSettings)
    conditions: Conditions = field(default_factory=Conditions)

    # On a shared machine a JVM is slow to start, and a broker slow to hand over its work. Records
    # are batched: a disk that fills up within seconds is another matter.
    bounds = TargetBounds(stops_within_s=30, disk_mebibytes=4096)

    traces = False
    judged_by_logs = False

    @property
    def name(self) -> str:
        return f"kafka {self.release}"

    @property
    def word(self) -> str:
        return self.release if self.release.startswith(IMAGE) else f"kafka:{self.release}"

    @property
    def settings(self) -> Mapping[str, str]:
        return self.chosen.as_words()

    @property
    def promises(self) -> Sequence[str]:
        # A controller describes configurations by the part of the metadata log that it has
        # replayed, and does not check what brokers refuse before they forward a request to it.
        return ()

    @property
    def formats_at_start(self) -> bool:
        return not self.chosen.synced_format

    @property
    def waits_when_formatted(self) -> bool:
        return self.chosen.waits_when_formatted

    @property
    def nodes(self) -> Sequence[NodeId]:
        chosen = self.chosen
        beside = chosen.brokers if chosen.combined else 0
        count = chosen.brokers + chosen.controllers - beside
        return [NodeId(number) for number in range(1, count + 1)]

    def release_of(self, node: NodeId) -> str:
        del node
        return self.release

    def roles(self, node: NodeId) -> Roles:
        if node > self.chosen.brokers:
            return Roles.CONTROLLER
        return Roles.BOTH if self.chosen.combined else Roles.BROKER

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        both = self.roles(node) is Roles.BOTH
        return (inner_port(node), second_port(node)) if both else (inner_port(node),)

    def properties(self, seat: Seat, log_directory: str) -> str:
        stock = self.chosen.stock
        settings = {
            "process.roles": self.roles(seat.node),
            "node.id": seat.node,
            **_listeners(self.roles(seat.node), seat),
            **self._quorum(),
            "log.dirs": self._log_dirs(seat.node, log_directory),
            **self._replication(self.roles(seat.node)),
            **SMALL,
            **({} if stock else {**QUICK, **self._conditions()}),
            **self._configuration(self.roles(seat.node)),
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())

    def _conditions(self) -> Mapping[str, int]:
        found = self.conditions.properties()
        small = {_SEGMENT: max(found[_SEGMENT], _LEAST_SEGMENT)} if _SEGMENT in found else {}
        return {**found, **small}

    def _configuration(self, roles: Roles) -> Mapping[str, str]:
        chosen = self.chosen.configuration
        refused = () if roles.is_controller else OF_CONTROLLERS
        return {name: value for name, value in chosen.items() if name not in refused}

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        voters = ",".join(
            f"{one.node}@{self._controller(one.node)}:{one.directory_id}"
            for one in seats
            if self.roles(one.node).is_controller
        )
        named = ("--initial-controllers", voters) if self._votes_by_log(seat.node) else ()
        return (*self._format(cluster_id, properties_file), *named)

    def reformat_command(
        self, cluster_id: str, node: NodeId, properties_file: str
    ) -> Sequence[str]:
        # If voters are identified by their disks, one with another disk has to be added again.
        no_voters = ("--no-initial-controllers",) if self._votes_by_log(node) else ()
        return (*self._format(cluster_id, properties_file), *no_voters)

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]:
        del node
        java, *rest = JAVA
        options = shlex.split(self.chosen.jvm_opts)
        return (
            java,
            *rest[: len(JVM)],
            *options,
            *rest[len(JVM) :],
            "kafka.Kafka",
            properties_file,
        )

    def _format(self, cluster_id: str, properties_file: str) -> Sequence[str]:
        elr = f"eligible.leader.replicas.version={int(self.chosen.elr)}"
        what = ("-t", cluster_id, "-c", properties_file, "--feature", elr)
        return (*JAVA, "kafka.tools.StorageTool", "format", *what)

    def _log_dirs(self, node: NodeId, first: str) -> str:
        """The first one holds the metadata log; controllers have no other."""
        two = self.chosen.log_dirs == 2 and self.roles(node).is_broker
        return f"{first},{second_log_directory(first)}" if two else first

    def _votes_by_log(self, node: NodeId) -> bool:
        """Whether a node learns the voters from its disk (KIP-853; kraft.version 1)."""
        return not self.chosen.static and self.roles(node).is_controller

    def _quorum(self) -> Mapping[str, str]:
        controllers = [node for node in self.nodes if self.roles(node).is_controller]
        if self.chosen.static:
            voters = ",".join(f"{node}@{self._controller(node)}" for node in controllers)
            return {"controller.quorum.voters": voters}
        named = controllers[: self.chosen.bootstrap]
        servers = ",".join(self._controller(node) for node in named)
        return {"controller.quorum.bootstrap.servers": servers}

    def _controller(self, node: NodeId) -> str:
        """The address of a controller for other nodes: in a combined node the second port."""
        return f"{host_name(node)}:{self.inner_ports(node)[-1]}"

    def _replication(self, roles: Roles) -> Mapping[str, str]:
        chosen = self.chosen
        copies, least = str(chosen.replication), str(chosen.min_isr)
        return {
            "default.replication.factor": copies,
            "min.insync.replicas": str(
                chosen.min_isr_of_brokers if roles.is_broker else chosen.min_isr
            ),
            "unclean.leader.election.enable": str(chosen.unclean).lower(),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": least,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": least,
        }


def _listeners(roles: Roles, seat: Seat) -> Mapping[str, str]:
    inner = {"INT": seat.inner.port} if roles.is_broker else {"CONTROLLER": seat.inner.port}
    if roles is Roles.BOTH:
        inner = {**inner, "CONTROLLER": second_port(seat.node)}
    outer = "EXT" if roles.is_broker else "EXTERNAL"
    listening = {**inner, outer: OUTER_PORT}
    advertised = [f"{name}://{seat.inner.host}:{port}" for name, port in inner.items()]
    return {
        "listeners": ",".join(f"{name}://0.0.0.0:{port}" for name, port in listening.items()),
        "advertised.listeners": ",".join(
            [*advertised, f"{outer}://{seat.outer.host}:{seat.outer.port}"]
        ),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in LISTENERS),
        "controller.listener.names": "CONTROLLER" if roles.is_broker else "CONTROLLER,EXTERNAL",
        **({"inter.broker.listener.name": "INT"} if roles.is_broker else {}),
    }
