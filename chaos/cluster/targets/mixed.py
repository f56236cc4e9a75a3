"""One quorum of both: our own nodes, and controllers of Apache Kafka, voters of the same log.

Nodes 1 to n are ours at first and those after them Apache Kafka's. Every container has both
programs, so that a node can go on as the other one, on the disk that the first has written. Either
all disks are formatted with the same `--initial-controllers` (KIP-853, `quorum=dynamic`), or all
configurations list the same voters, known by their ids alone (`quorum=static`, kraft.version 0).
What both promise is all that is judged: logs, answers to probes, and registers without linearizable
reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.kafka import Kafka
from chaos.cluster.targets.kafka_settings import KafkaSettings, SettingError
from chaos.cluster.targets.node import DYNAMIC, QUORUM, STATIC, OwnNode
from chaos.cluster.targets.target import Seat
from chaos.cluster.topology import inner_port
from chaos.conditions import Conditions

MIXED = "mixed"
SIZE = 3
# Our first leader writes metadata.version 30, at which controllers of older releases end.
_OLDEST = (4, 3)
_KAFKAS = "kafkas"  # the setting
_VALUES = {_KAFKAS: ("1", "2"), QUORUM: (DYNAMIC, STATIC)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """The last `kafkas` of three controllers run a release of Apache Kafka, the others our node;
    but those that are `other` run the other one."""

    release: str
    kafkas: int = 1  # 1 <= kafkas < SIZE
    form: str = DYNAMIC
    other: frozenset[NodeId] = frozenset()
    conditions: Conditions = field(default_factory=Conditions)

    bounds = Kafka.bounds
    traces = False  # a part of the nodes has none
    judged_by_logs = True
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
        """Of the cluster as it is made: nobody is the other program then."""
        return {_KAFKAS: str(self.kafkas), QUORUM: self.form}

    @property
    def promises(self) -> Sequence[str]:
        return self._kafka.promises

    def release_of(self, node: NodeId) -> str:
        del node
        return self.release

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

    def reformat_command(
        self, cluster_id: str, node: NodeId, properties_file: str
    ) -> Sequence[str]:
        return self._of(node).reformat_command(cluster_id, node, properties_file)

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]:
        return self._of(node).start_command(node, properties_file)

    def switched(self, node: NodeId) -> "Mixed":
        return replace(self, other=self.other ^ {node})

    def _of(self, node: NodeId) -> OwnNode | Kafka:
        is_own = (node <= SIZE - self.kafkas) is not (node in self.other)
        return self._own if is_own else self._kafka

    @property
    def _own(self) -> OwnNode:
        return OwnNode(conditions=self.conditions, form=self.form, nodes=SIZE, bootstrap=SIZE)

    @property
    def _kafka(self) -> Kafka:
        """As if all were its own: every node knows where all controllers are."""
        static = self.form == STATIC
        chosen = KafkaSettings(brokers=0, controllers=SIZE, bootstrap=SIZE, static=static)
        return Kafka(release=self.release, chosen=chosen, conditions=self.conditions)


def mixed(release: str, settings: Mapping[str, str], conditions: Conditions) -> Mixed:
    """Raises SettingError."""
    if tuple(map(int, release.split("."))) < _OLDEST:
        raise SettingError(
            f"{MIXED}:{release}: our controllers write metadata.version 30, which Apache Kafka has "
            "since 4.3.0"
        )
    for name, value in settings.items():
        if value not in _VALUES.get(name, ()):
            raise SettingError(
                f"{name}={value}: a quorum of both has {_KAFKAS}=1 or 2 of {SIZE}, and "
                f"{QUORUM}={DYNAMIC} or {STATIC}"
            )
    kafkas = int(settings.get(_KAFKAS, "1"))
    form = settings.get(QUORUM, DYNAMIC)
    return Mixed(release=release, kafkas=kafkas, form=form, conditions=conditions)
