"""The settings of an Apache Kafka cluster, read from the words of `--set NAME=VALUE`.

Plain words are the harness's own, since judges have to know them. A name with a dot is Kafka's: it
goes into every node's configuration as it is.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST = 5  # brokers
BROKER_MIN_ISR = "broker_min_isr"
JVM_OPTS = "jvm_opts"


class SettingError(ValueError):
    """An unknown setting, or an invalid value; names the valid ones."""


_CHOICES = {
    "roles": ("separate", "combined"),
    "quorum": ("dynamic", "static"),
    "elr": ("on", "off"),
    "unclean": ("off", "on"),
    "defaults": ("quick", "stock"),
    "synced_format": ("on", "off", "waits"),
    "recovery": ("off",),  # the manager of KIP-966's part two, which no release has
}
_COUNTS = (
    "brokers",
    "controllers",
    "replication",
    "min_isr",
    BROKER_MIN_ISR,
    "log_dirs",
    "bootstrap",
)
# Settings with a word of ours, which the judges read.
_OURS = {
    "kraft.version": "quorum",
    "eligible.leader.replicas.version": "elr",
    "min.insync.replicas": "min_isr",
    "default.replication.factor": "replication",
    "unclean.leader.election.enable": "unclean",
    "process.roles": "roles",
}
# Settings by which the harness knows the address of every node.
_FIXED = (
    "node.id",
    "broker.id",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "advertised.listeners",
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
)


_LISTENING = ("listeners",)  # without a dot


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """The layout of a cluster, and its promises."""

    combined: bool = False  # every broker is a controller as well
    brokers: int = 3  # none if a quorum alone is hurt
    controllers: int = 1
    static: bool = False  # voters by configuration (kraft.version 0), not in the log
    elr: bool = True  # eligible leader replicas (KIP-966)
    replication: int = 3  # of topics without a value of their own
    min_isr: int = 2
    # min.insync.replicas in the files of brokers, if it is to differ from that in the controllers'
    # files (`min_isr`). Topics have no value of their own then.
    broker_min_isr: int | None = None
    unclean: bool = False  # elections from outside ISR and ELR, at once
    stock: bool = False  # Kafka's own time-outs
    log_dirs: int = 1  # of a broker, all on its one disk
    # How many of the controllers a node knows by controller.quorum.bootstrap.servers.
    bootstrap: int = 1
    # The format is on the disk before a node starts. Otherwise the node's first start writes it,
    # and a power cut soon afterwards finds it unsynced.
    synced_format: bool = True
    waits_when_formatted: bool = False  # the first start formats, and does not serve
    jvm_opts: str = ""  # of nodes that are started, behind those of the harness
    configuration: Mapping[str, str] = field(default_factory=dict)  # Kafka's own names

    @property
    def min_isr_of_brokers(self) -> int:
        """min.insync.replicas in the files of brokers."""
        return self.min_isr if self.broker_min_isr is None else self.broker_min_isr

    def as_words(self) -> dict[str, str]:
        """The words from which `read_settings` makes the same settings."""
        return {
            "roles": "combined" if self.combined else "separate",
            "brokers": str(self.brokers),
            "controllers": str(self.controllers),
            "quorum": "static" if self.static else "dynamic",
            "elr": _switch(self.elr),
            "replication": str(self.replication),
            "min_isr": str(self.min_isr),
            **given(BROKER_MIN_ISR, self.broker_min_isr),
            "unclean": _switch(self.unclean),
            "defaults": "stock" if self.stock else "quick",
            "log_dirs": str(self.log_dirs),
            "bootstrap": str(self.bootstrap),
            "synced_format": "waits" if self.waits_when_formatted else _switch(self.synced_format),
            **({JVM_OPTS: self.jvm_opts} if self.jvm_opts else {}),
            **self.configuration,
        }


def read_settings(words: Mapping[str, str]) -> KafkaSettings:
    """Settings from the words of a command line. Raises SettingError."""
    for name, value in words.items():
        _require_known(name, value)
    chosen = {name: words.get(name, usual) for name, (usual, *_) in _CHOICES.items()}
    combined = chosen["roles"] == "combined"
    brokers = _count(words, "brokers", 3, MOST, least=1 if combined else 0)
    known = _count(words, "bootstrap", 1, MOST)  # by default all of them
    controllers = _count(words, "controllers", brokers if combined else known, MOST)
    if combined and controllers < brokers:
        what = f"all {brokers} brokers are controllers, and there may be more"
        raise SettingError(f"controllers={controllers}: with roles=combined {what}")
    if not combined and controllers not in (1, 3):
        raise SettingError(
            f"controllers={controllers}: a quorum beside the brokers has 1 or 3 controllers"
        )
    bootstrap = _count(words, "bootstrap", controllers, controllers)
    if chosen["quorum"] == "static" and bootstrap != controllers:
        raise SettingError(
            f"bootstrap={bootstrap}: with quorum=static, nodes know every controller"
        )
    copies = max(1, brokers)  # for a cluster without brokers
    replication = _count(words, "replication", min(3, copies), copies)
    return KafkaSettings(
        combined=combined,
        brokers=brokers,
        controllers=controllers,
        static=chosen["quorum"] == "static",
        elr=chosen["elr"] == "on",
        replication=replication,
        min_isr=_count(words, "min_isr", min(2, replication), replication),
        broker_min_isr=_broker_min_isr(words, replication, combined=combined),
        unclean=chosen["unclean"] == "on",
        stock=chosen["defaults"] == "stock",
        log_dirs=_count(words, "log_dirs", 1, 2),
        bootstrap=bootstrap,
        synced_format=chosen["synced_format"] == "on",
        waits_when_formatted=chosen["synced_format"] == "waits",
        jvm_opts=words.get(JVM_OPTS, ""),
        configuration={name: value for name, value in words.items() if "." in name},
    )


def _require_known(name: str, value: str) -> None:
    ours = _OURS.get(name)
    if ours is not None:
        raise SettingError(f"{name}={value}: use {ours}={_values(ours)} instead")
    if name in _FIXED:
        raise SettingError(f"{name}={value}: the harness sets it")
    if "." in name:
        return
    if name == JVM_OPTS:
        _require_words(value)
        return
    if name not in _CHOICES and name not in _COUNTS:
        known = ", ".join([*_CHOICES, *_COUNTS, JVM_OPTS])
        raise SettingError(
            f"{name}={value}: no such setting; there are {known}, and Kafka's own names with a dot"
        )
    if name in _CHOICES and value not in _CHOICES[name]:
        raise SettingError(f"{name}={value}: it is {_values(name)}")


def _require_words(value: str) -> None:
    try:
        options = shlex.split(value)
    except ValueError as error:
        raise SettingError(f"{JVM_OPTS}={value}: {error}") from None
    if odd := [each for each in options if not each.startswith("-")]:
        raise SettingError(f"{JVM_OPTS}={value}: {odd[0]} is no option of a JVM, as -Xmx1g is")


def why_not_in_a_file(name: str) -> str:
    """Why a user's server.properties may not have this setting; "" if it may."""
    if name in _FIXED or name in _LISTENING:
        return "the harness sets it"
    if name in _OURS:
        return f"use --set {_OURS[name]}={_values(_OURS[name])}"
    return "" if "." in name else "a name of Kafka's has a dot"


def _values(name: str) -> str:
    return " or ".join(_CHOICES[name]) if name in _CHOICES else "N"


def _count(words: Mapping[str, str], name: str, usual: int, most: int, least: int = 1) -> int:
    text = words.get(name, str(usual))
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise SettingError(f"{name}={text}: a number from {least} to {most}")
    return int(text)


def _broker_min_isr(words: Mapping[str, str], most: int, *, combined: bool) -> int | None:
    if BROKER_MIN_ISR not in words:
        return None
    if combined:
        raise SettingError(
            f"{BROKER_MIN_ISR}={words[BROKER_MIN_ISR]}: with roles=combined brokers have the files "
            "of controllers"
        )
    return _count(words, BROKER_MIN_ISR, most, most)


def given(name: str, value: int | None) -> dict[str, str]:
    """A word, if it was given."""
    return {} if value is None else {name: str(value)}


def _switch(on: bool) -> str:
    return "on" if on else "off"
