"""Brokers of our own node, with the settings of Apache Kafka's.

Brokers are nodes 1..b, controllers b+1..b+c, as with Apache Kafka; or combined, and 1..b are both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from chaos.cluster.targets.kafka import QUICK
from chaos.cluster.targets.kafka_settings import (
    BROKER_MIN_ISR,
    KafkaSettings,
    given,
    read_settings,
)
from chaos.cluster.targets.target import Seat
from chaos.cluster.topology import OUTER_PORT, second_port

BROKERS, CONTROLLERS = "brokers", "controllers"
ROLES, COMBINED = "roles", "combined"
OF_BROKERS = (
    CONTROLLERS,
    ROLES,
    "elr",
    "replication",
    "min_isr",
    BROKER_MIN_ISR,
    "unclean",
    "defaults",
    "log_dirs",
)
RECOVERY = "recovery"
RECOVERIES = ("off", "none", "balanced", "aggressive")
_OF_ALL = ("broker.session.timeout.ms",)
_OF_BROKER = (
    "broker.heartbeat.interval.ms",
    "replica.lag.time.max.ms",
    "replica.socket.timeout.ms",
)
_MIN_ISR = "min.insync.replicas"
_OFFSETS_REPLICATION = 3  # Kafka's default


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBrokers:
    """The number of brokers, and the promises of topics without settings of their own."""

    count: int = 0
    combined: bool = False  # all of them are controllers as well
    elr: bool = True  # eligible leader replicas (KIP-966)
    replication: int = 1
    min_isr: int = 1
    broker_min_isr: int | None = None  # in the files of brokers alone, as in `KafkaSettings`
    unclean: bool = False  # elections from outside ISR and ELR, at once
    stock: bool = False  # Kafka's own time-outs
    log_dirs: int = 1  # of each, all on its one disk
    recovery: str = RECOVERIES[0]  # the strategy of the unclean recovery manager (KIP-966), if any

    def as_words(self) -> dict[str, str]:
        """Without the controllers."""
        return {
            BROKERS: str(self.count),
            **({ROLES: COMBINED} if self.combined else {}),
            "elr": "on" if self.elr else "off",
            "replication": str(self.replication),
            "min_isr": str(self.min_isr),
            **given(BROKER_MIN_ISR, self.broker_min_isr),
            "unclean": "on" if self.unclean else "off",
            "defaults": "stock" if self.stock else "quick",
            "log_dirs": str(self.log_dirs),
            **({RECOVERY: self.recovery} if self._has_recovery else {}),
        }

    @property
    def _has_recovery(self) -> bool:
        return self.recovery != RECOVERIES[0]

    @property
    def min_isr_of_brokers(self) -> int:
        """min.insync.replicas in the files of brokers."""
        return self.min_isr if self.broker_min_isr is None else self.broker_min_isr

    def properties(self, *, of_broker: bool) -> Mapping[str, str]:
        """The properties that brokers and their controllers must share, and min.insync.replicas."""
        if not self.count:
            return {}
        return {
            # The judge does not know of topics that a request created.
            "auto.create.topics.enable": "false",
            "default.replication.factor": str(self.replication),
            # As many as other topics have, and no fewer than by default: Kafka's brokers get that.
            "offsets.topic.replication.factor": str(max(self.replication, _OFFSETS_REPLICATION)),
            _MIN_ISR: str(self.min_isr_of_brokers if of_broker else self.min_isr),
            "unclean.leader.election.enable": str(self.unclean).lower(),
            **(self._of_recovery() if self._has_recovery else {}),
            **({} if self.stock else {name: QUICK[name] for name in _OF_ALL}),
        }

    def _of_recovery(self) -> Mapping[str, str]:
        return {
            "unclean.recovery.manager.enabled": "true",
            "unclean.recovery.strategy": self.recovery.capitalize(),
        }

    def of_broker(self, seat: Seat) -> Mapping[str, str]:
        """Its id, its role, and where it listens."""
        inner = {"INT": seat.inner.port}
        if self.combined:
            inner["CONTROLLER"] = second_port(seat.node)
        listening = {**inner, "EXT": OUTER_PORT}
        advertised = [f"{name}://{seat.inner.host}:{port}" for name, port in inner.items()]
        return {
            "process.roles": "broker,controller" if self.combined else "broker",
            "node.id": str(seat.node),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "INT",
            "listeners": ",".join(f"{name}://0.0.0.0:{port}" for name, port in listening.items()),
            "advertised.listeners": ",".join(
                [*advertised, f"EXT://{seat.outer.host}:{seat.outer.port}"]
            ),
            **({} if self.stock else {name: QUICK[name] for name in _OF_BROKER}),
        }


def own_brokers(words: Mapping[str, str]) -> tuple[OwnBrokers, int]:
    """Brokers from the words of a command line, and the number of controllers beside them: 0 if
    there are no brokers and the words do not say. Raises SettingError."""
    if words.get(BROKERS, "0") == "0":
        return OwnBrokers(), 0
    named = {name: words[name] for name in (BROKERS, *OF_BROKERS) if name in words}
    chosen = read_settings(named)
    brokers = replace(brokers_of(chosen), recovery=words.get(RECOVERY, RECOVERIES[0]))
    return brokers, chosen.controllers


def brokers_of(chosen: KafkaSettings) -> OwnBrokers:
    return OwnBrokers(
        count=chosen.brokers,
        combined=chosen.combined,
        elr=chosen.elr,
        replication=chosen.replication,
        min_isr=chosen.min_isr,
        broker_min_isr=chosen.broker_min_isr,
        unclean=chosen.unclean,
        stock=chosen.stock,
        log_dirs=chosen.log_dirs,
    )
