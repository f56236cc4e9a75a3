"""One quorum of our own nodes and controllers of Apache Kafka: voters of the same log.

At first the first ones of three controllers are ours, and those after them Apache Kafka's. Every
container has both programs, so that a controller can go on as the other one, on the disk that the
first has written. Either all disks are formatted with the same `--initial-controllers` (KIP-853,
`quorum=dynamic`), or all configurations list the same voters, known by their ids alone
(`quorum=static`, kraft.version 0). With `brokers=N` there are brokers of Apache Kafka beside them,
nodes 1 to N as in its own clusters, which follow whichever program leads. Only the promises of both
programs are judged: logs, answers to probes, and registers without linearizable reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.kafka import Kafka
from chaos.cluster.targets.kafka_settings import KafkaSettings, SettingError, read_settings
from chaos.cluster.targets.node import DYNAMIC, QUORUM, STATIC, OwnNode
from chaos.cluster.targets.own_brokers import BROKERS, CONTROLLERS, brokers_of
from chaos.cluster.targets.target import Seat
from chaos.conditions import Conditions
from checkers.verdict import counted

MIXED = "mixed"
SIZE = 3  # controllers
# Our first leader writes metadata.version 30; controllers of older releases end at that record.
_OLDEST = (4, 3)
_KAFKAS = "kafkas"  # the setting
_VALUES = {
    _KAFKAS: ("1", "2"),
    QUORUM: (DYNAMIC, STATIC),
    BROKERS: ("0", "1", "2", "3"),
}
_OF_BROKERS = ("elr", "replication", "min_isr", "unclean")  # beside brokers


def _chosen(words: Mapping[str, str]) -> KafkaSettings:
    """The settings as if all controllers were Apache Kafka's. Raises SettingError."""
    return read_settings({BROKERS: "0", **words, CONTROLLERS: str(SIZE)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """The last `kafkas` of three controllers run a release of Apache Kafka, the others our node;
    each of `other` runs the other program. `chosen` are its brokers and voters."""

    release: str
    kafkas: int = 1  # 1 <= kafkas < SIZE
    chosen: KafkaSettings = field(default_factory=lambda: _chosen({}))
    other: frozenset[NodeId] = frozenset()
    conditions: Conditions = field(default_factory=Conditions)

    bounds = Kafka.bounds
    traces = False  # some of the nodes have none
    judged_by_logs = True
    formats_at_start = False
    waits_when_formatted = False

    @property
    def name(self) -> str:
        beside = f", {counted(self.chosen.brokers, 'broker')}" if self.chosen.brokers else ""
        return f"{SIZE - self.kafkas} node, {self.kafkas} kafka {self.release}{beside}"

    @property
    def word(self) -> str:
        return f"{MIXED}:{self.release}"

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings at the cluster's creation, when no node has changed its program."""
        words = self.chosen.as_words()
        of_brokers = (BROKERS, *_OF_BROKERS) if self.chosen.brokers else ()
        return {
            _KAFKAS: str(self.kafkas),
            QUORUM: words[QUORUM],
            **{name: words[name] for name in of_brokers},
        }

    @property
    def promises(self) -> Sequence[str]:
        return self._kafka.promises

    @property
    def nodes(self) -> Sequence[NodeId]:
        return self._kafka.nodes

    def release_of(self, node: NodeId) -> str:
        del node
        return self.release

    def roles(self, node: NodeId) -> Roles:
        return self._kafka.roles(node)

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        return self._kafka.inner_ports(node)

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
        assert self.roles(node).is_controller, "brokers are Apache Kafka's"
        return replace(self, other=self.other ^ {node})

    def _of(self, node: NodeId) -> OwnNode | Kafka:
        if not self.roles(node).is_controller:
            return self._kafka
        is_own = (node - self.chosen.brokers <= SIZE - self.kafkas) is not (node in self.other)
        return self._own if is_own else self._kafka

    @property
    def _own(self) -> OwnNode:
        return OwnNode(
            conditions=self.conditions,
            form=STATIC if self.chosen.static else DYNAMIC,
            nodes=SIZE,
            bootstrap=SIZE,
            brokers=brokers_of(self.chosen),
        )

    @property
    def _kafka(self) -> Kafka:
        """As if all nodes were Kafka's: every node knows the addresses of all controllers."""
        return Kafka(release=self.release, chosen=self.chosen, conditions=self.conditions)


def mixed(release: str, settings: Mapping[str, str], conditions: Conditions) -> Mixed:
    """Raises SettingError."""
    if tuple(map(int, release.split("."))) < _OLDEST:
        raise SettingError(
            f"{MIXED}:{release}: our controllers write metadata.version 30, which Apache Kafka has "
            "since 4.3.0"
        )
    has_brokers = settings.get(BROKERS, "0") != "0"
    for name, value in settings.items():
        if value not in _VALUES.get(name, ()) and not (has_brokers and name in _OF_BROKERS):
            raise SettingError(
                f"{name}={value}: a quorum of both has {_KAFKAS}=1 or 2 of {SIZE}, "
                f"{QUORUM}={DYNAMIC} or {STATIC}, and {BROKERS}=0 to 3 of Apache Kafka beside it, "
                f"with {', '.join(_OF_BROKERS)}"
            )
    kafkas = int(settings.get(_KAFKAS, "1"))
    chosen = _chosen({name: value for name, value in settings.items() if name != _KAFKAS})
    return Mixed(release=release, kafkas=kafkas, chosen=chosen, conditions=conditions)
