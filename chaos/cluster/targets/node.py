"""Our own node as a target: Kafka's configuration names, and Kafka's default time-outs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.own_brokers import CONTROLLERS, OwnBrokers
from chaos.cluster.targets.target import Seat, TargetBounds, second_log_directory
from chaos.cluster.topology import OUTER_PORT, host_name, inner_port, second_port
from chaos.conditions import Conditions
from chaos.setup.shell import module_name
from checkers.history.sealed_run import LINEARIZABLE_READS, STRICT_CONFIGS

PROGRAM = ("python3", "-m", module_name("node.server"))
MUTATED = ("python3", "-m", module_name("chaos.bugs"))
# Settings in the words of a command line, and the ways in which nodes know the voters.
NODES, QUORUM, BOOTSTRAP = "nodes", "quorum", "bootstrap"
LISTED, DYNAMIC, STATIC = "listed", "dynamic", "static"
FORMS = (LISTED, DYNAMIC, STATIC)
# Records are batched: a disk that fills up within seconds is another matter.
_OF_BROKERS = TargetBounds(disk_mebibytes=4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNode:
    """Configured by a `server.properties` like Kafka's; `mutation` names a bug to plant in it. All
    nodes of its cluster vote, except brokers."""

    mutation: str = ""
    conditions: Conditions = field(default_factory=Conditions)
    # Otherwise the node's first start formats its disk, and only the node itself syncs that.
    synced_format: bool = True
    waits_when_formatted: bool = False
    # How many controllers a node knows by controller.quorum.bootstrap.servers. A node that was
    # formatted as a voter needs none; a new disk knows no other node.
    bootstrap: int = 0
    nodes: int = 3  # that vote
    brokers: OwnBrokers = field(default_factory=OwnBrokers)
    # How nodes know the voters. LISTED (KIP-856): controller.quorum.voters lists all nodes in every
    # configuration. STATIC: listed too, and known by their ids alone, whatever happens to their
    # disks (kraft.version 0). DYNAMIC (KIP-853): formatted and recorded, as Apache Kafka's
    # controllers and tools know them.
    form: str = LISTED
    configuration: Mapping[str, str] = field(default_factory=dict)  # Kafka's own names

    word = "node"
    traces = True
    judged_by_logs = False

    @property
    def name(self) -> str:
        return f"node with {self.mutation}" if self.mutation else "node"

    @property
    def settings(self) -> Mapping[str, str]:
        of_brokers = self.brokers.as_words() if self.brokers.count else {}
        found = {
            CONTROLLERS if of_brokers else NODES: str(self.nodes),
            QUORUM: self.form,
            BOOTSTRAP: str(self.bootstrap),
            **of_brokers,
            **self.configuration,
        }
        if not self.synced_format:
            found["synced_format"] = "waits" if self.waits_when_formatted else "off"
        return found

    @property
    def bounds(self) -> TargetBounds:
        return _OF_BROKERS if self.brokers.count else TargetBounds()

    @property
    def promises(self) -> Sequence[str]:
        return (LINEARIZABLE_READS, STRICT_CONFIGS)

    @property
    def formats_at_start(self) -> bool:
        return not self.synced_format

    def release_of(self, node: NodeId) -> str:
        del node
        return ""

    @property
    def count(self) -> int:
        """Of all nodes."""
        return self._first_controller - 1 + self.nodes

    def roles(self, node: NodeId) -> Roles:
        if node > self.brokers.count:
            return Roles.CONTROLLER
        return Roles.BOTH if self.brokers.combined else Roles.BROKER

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        both = self.roles(node) is Roles.BOTH
        return (inner_port(node), second_port(node)) if both else (inner_port(node),)

    def controller_port(self, node: NodeId) -> int:
        """The address of a controller for other nodes: in a combined node the second port."""
        return self.inner_ports(node)[-1]

    def properties(self, seat: Seat, log_directory: str) -> str:
        roles = self.roles(seat.node)
        settings = {
            **(self.brokers.of_broker(seat) if roles.is_broker else _of_controller(seat)),
            "log.dirs": self._log_dirs(log_directory, of_broker=roles.is_broker),
            **self._known(votes=roles.is_controller),
            **self.brokers.properties(of_broker=roles.is_broker),
            **({} if self.brokers.stock else self.conditions.properties()),
            **self.configuration,
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        if not (self._is_dynamic and self.roles(seat.node).is_controller):
            return self.reformat_command(cluster_id, seat.node, properties_file)
        voters = ",".join(
            f"{one.node}@{one.inner.host}:{self.controller_port(one.node)}:{one.directory_id}"
            for one in seats
            if self.roles(one.node).is_controller
        )
        return (*self._format(cluster_id, properties_file), "--initial-controllers", voters)

    def reformat_command(
        self, cluster_id: str, node: NodeId, properties_file: str
    ) -> Sequence[str]:
        """Never with voters: with a set of their own, two wiped disks would be a majority."""
        del node
        no_voters = ("--no-initial-controllers",) if self._is_dynamic else ()
        return (*self._format(cluster_id, properties_file), *no_voters)

    @property
    def has_elr(self) -> bool:
        """Whether its clusters begin with eligible leader replicas."""
        return self.brokers.elr and self.brokers.count > 0

    @property
    def _is_dynamic(self) -> bool:
        return self.form == DYNAMIC

    def _format(self, cluster_id: str, properties_file: str) -> Sequence[str]:
        static = ("--feature", "kraft.version=0") if self.form == STATIC else ()
        elr = ("--feature", "eligible.leader.replicas.version=1") if self.has_elr else ()
        return (*PROGRAM, "format", "-t", cluster_id, "-c", properties_file, *static, *elr)

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]:
        del node
        words = ("start", "-c", properties_file)
        return (*MUTATED, self.mutation, "--", *words) if self.mutation else (*PROGRAM, *words)

    @property
    def _first_controller(self) -> int:
        return 1 if self.brokers.combined else self.brokers.count + 1

    def _log_dirs(self, first: str, *, of_broker: bool) -> str:
        """Controllers have one, which holds the metadata log; brokers have it as their first."""
        two = self.brokers.log_dirs == 2 and of_broker
        return f"{first},{second_log_directory(first)}" if two else first

    def _known(self, *, votes: bool) -> Mapping[str, str]:
        """The controllers in a node's configuration. The disk of a node that is no controller names
        none."""
        nodes = [NodeId(self._first_controller + number) for number in range(self.nodes)]
        controllers = [(node, host_name(node), self.controller_port(node)) for node in nodes]
        named = controllers[: self.bootstrap if votes or not self._is_dynamic else self.nodes]
        servers = ",".join(f"{host}:{port}" for _, host, port in named)
        listed = () if self._is_dynamic else controllers
        voters = ",".join(f"{node}@{host}:{port}" for node, host, port in listed)
        return {
            **({"controller.quorum.bootstrap.servers": servers} if servers else {}),
            **({"controller.quorum.voters": voters} if voters else {}),
        }


def _of_controller(seat: Seat) -> Mapping[str, str]:
    """Its id, its role, and where it listens."""
    return {
        "process.roles": "controller",
        "node.id": str(seat.node),
        "controller.listener.names": "CONTROLLER,EXTERNAL",
        "listeners": f"CONTROLLER://0.0.0.0:{seat.inner.port},EXTERNAL://0.0.0.0:{OUTER_PORT}",
        "advertised.listeners": (
            f"CONTROLLER://{seat.inner.host}:{seat.inner.port},"
            f"EXTERNAL://{seat.outer.host}:{seat.outer.port}"
        ),
    }
