"""Our own node as a target: Kafka's configuration names, and Kafka's default time-outs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.target import Seat, TargetBounds
from chaos.cluster.topology import OUTER_PORT, host_name, inner_port
from chaos.conditions import Conditions
from checkers.history.sealed_run import LINEARIZABLE_READS, STRICT_CONFIGS

PROGRAM = ("python3", "-m", "node.server.cli")
MUTATED = ("python3", "-m", "chaos.mutations")
BOOTSTRAP, QUORUM_VOTERS = "bootstrap", "quorum_voters"  # settings by which nodes know others


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNode:
    """Configured by a `server.properties` like Kafka's; `mutation` names a bug to plant in it."""

    mutation: str = ""
    conditions: Conditions = field(default_factory=Conditions)
    # Else the node's first start formats its disk, and nobody but the node itself syncs that.
    synced_format: bool = True
    waits_when_formatted: bool = False
    # How many controllers a node knows by controller.quorum.bootstrap.servers. Who was formatted
    # as a voter needs none; a new disk knows nobody else.
    bootstrap: int = 0
    # How many nodes controller.quorum.voters lists, and so who votes (KIP-856); with 0 it is not
    # set, and the disks say who does (KIP-853).
    quorum_voters: int = 0
    # These are known by their ids alone (kraft.version 0), whatever becomes of their disks.
    static: bool = False

    word = "node"
    bounds = TargetBounds()
    traces = True

    @property
    def name(self) -> str:
        return f"node with {self.mutation}" if self.mutation else "node"

    @property
    def settings(self) -> Mapping[str, str]:
        counts = {BOOTSTRAP: self.bootstrap, QUORUM_VOTERS: self.quorum_voters}
        found = {name: str(count) for name, count in counts.items() if count}
        if not self.synced_format:
            found["synced_format"] = "waits" if self.waits_when_formatted else "off"
        if self.static:
            found["quorum"] = "static"
        return found

    @property
    def promises(self) -> Sequence[str]:
        return (LINEARIZABLE_READS, STRICT_CONFIGS)

    @property
    def formats_at_start(self) -> bool:
        return not self.synced_format

    def release_of(self, node: NodeId) -> str:
        del node
        return ""

    def roles(self, node: NodeId) -> Roles:
        del node  # there are no others
        return Roles.CONTROLLER

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        return (inner_port(node),)

    def properties(self, seat: Seat, log_directory: str) -> str:
        settings = {
            "process.roles": "controller",
            "node.id": seat.node,
            "controller.listener.names": "CONTROLLER,EXTERNAL",
            "listeners": (
                f"CONTROLLER://0.0.0.0:{seat.inner.port},EXTERNAL://0.0.0.0:{OUTER_PORT}"
            ),
            "advertised.listeners": (
                f"CONTROLLER://{seat.inner.host}:{seat.inner.port},"
                f"EXTERNAL://{seat.outer.host}:{seat.outer.port}"
            ),
            "log.dirs": log_directory,
            **self._known(),
            **self.conditions.properties(),
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        del seat  # every voter's disk is told the same
        voters = ",".join(
            f"{seat.node}@{seat.inner.host}:{seat.inner.port}:{seat.directory_id}" for seat in seats
        )
        named = self._listed() if self.quorum_voters else ("--initial-controllers", voters)
        return (*PROGRAM, "format", "-t", cluster_id, "-c", properties_file, *named)

    def reformat_command(
        self, cluster_id: str, node: NodeId, properties_file: str
    ) -> Sequence[str]:
        """Never with voters: of a set of their own, two wiped disks would be a majority."""
        del node
        nobody = self._listed() if self.quorum_voters else ("--no-initial-controllers",)
        return (*PROGRAM, "format", "-t", cluster_id, "-c", properties_file, *nobody)

    def _listed(self) -> Sequence[str]:
        """What `format` is told where the file lists the voters."""
        return ("--feature", "kraft.version=0") if self.static else ()

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]:
        del node
        words = ("start", "-c", properties_file)
        return (*MUTATED, self.mutation, "--", *words) if self.mutation else (*PROGRAM, *words)

    def _known(self) -> Mapping[str, str]:
        """The other controllers that its configuration tells a node of."""
        servers = ",".join(f"{host}:{port}" for _, host, port in _first(self.bootstrap))
        voters = ",".join(
            f"{node}@{host}:{port}" for node, host, port in _first(self.quorum_voters)
        )
        return {
            **({"controller.quorum.bootstrap.servers": servers} if servers else {}),
            **({"controller.quorum.voters": voters} if voters else {}),
        }


def _first(count: int) -> Sequence[tuple[NodeId, str, int]]:
    nodes = [NodeId(number) for number in range(1, count + 1)]
    return [(node, host_name(node), inner_port(node)) for node in nodes]
