"""One quorum of both: our own nodes, and controllers of Apache Kafka, voters of the same log.

Every disk is formatted with the same `--initial-controllers` (KIP-853), so either side reads who
votes in the other's words. Nodes 1 to n are ours and those after them Apache Kafka's. What both
promise is all that is judged: logs, answers to probes, and registers without linearizable reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.kafka import Kafka
from chaos.cluster.targets.kafka_settings import KafkaSettings, SettingError
from chaos.cluster.targets.node import DYNAMIC, QUORUM, OwnNode
from chaos.cluster.targets.target import Seat, Target
from chaos.cluster.topology import inner_port
from chaos.conditions import Conditions

MIXED = "mixed"
SIZE = 3
_KAFKAS = "kafkas"  # the setting
_VALUES = {_KAFKAS: ("1", "2"), QUORUM: (DYNAMIC,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """The last `kafkas` of three controllers run a release of Apache Kafka, the others our node."""

    release: str
    kafkas: int = 1  # 1 <= kafkas < SIZE
    conditions: Conditions = field(default_factory=Conditions)

    bounds = Kafka.bounds
    traces = False  # a part of the nodes has none
    formats_at_start = False
    waits_when_formatted = False

    @property
    def name(self) -> str:
        return f"{SIZE - self.kafkas} node, {self.kafkas} kafka {self.release}"

    @property
    def word(self) -> str:
        return f"{MIXED}:{self.release}"

    @property
    def settings(self) -> Mapping[str, str]:
        return {_KAFKAS: str(self.kafkas)}

    @property
    def promises(self) -> Sequence[str]:
        return self._kafka.promises

    def release_of(self, node: NodeId) -> str:
        return self._of(node).release_of(node)

    def roles(self, node: NodeId) -> Roles:
        del node  # there are no others
        return Roles.CONTROLLER

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        return (inner_port(node),)

    def properties(self, seat: Seat, log_directory: str) -> str:
        return self._of(seat.node).properties(seat, log_directory)

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        return self._of(seat.node).format_command(cluster_id, seat, seats, properties_file)

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]:
        return self._of(node).start_command(node, properties_file)

    def _of(self, node: NodeId) -> Target:
        is_own = node <= SIZE - self.kafkas
        return OwnNode(conditions=self.conditions, form=DYNAMIC) if is_own else self._kafka

    @property
    def _kafka(self) -> Kafka:
        """As if all were its own: every node knows where all controllers are."""
        chosen = KafkaSettings(brokers=0, controllers=SIZE, bootstrap=SIZE)
        return Kafka(release=self.release, chosen=chosen, conditions=self.conditions)


def mixed(release: str, settings: Mapping[str, str], conditions: Conditions) -> Mixed:
    """Raises SettingError."""
    for name, value in settings.items():
        if value not in _VALUES.get(name, ()):
            raise SettingError(
                f"{name}={value}: a quorum of both has {_KAFKAS}=1 or 2 of {SIZE}, and is {DYNAMIC}"
            )
    kafkas = int(settings.get(_KAFKAS, "1"))
    return Mixed(release=release, kafkas=kafkas, conditions=conditions)
