"""Targets by the words of a command line."""

import re
from collections.abc import Mapping

from chaos.cluster.targets.kafka import Kafka
from chaos.cluster.targets.kafka_releases import why_lacking
from chaos.cluster.targets.kafka_settings import SettingError, read_settings
from chaos.cluster.targets.mixed import MIXED as MIXED
from chaos.cluster.targets.mixed import SIZE, Mixed, mixed
from chaos.cluster.targets.node import DYNAMIC, NODES, QUORUM, OwnNode
from chaos.cluster.targets.own_brokers import BROKERS as BROKERS
from chaos.cluster.targets.own_brokers import RECOVERIES, RECOVERY
from chaos.cluster.targets.own_settings import own_node
from chaos.cluster.targets.target import Target
from chaos.conditions import Conditions
from chaos.releases import IMAGE, NEWEST, is_own_build
from chaos.releases import KAFKA as KAFKA

NODE = "node"
WORDS = (
    f"{NODE}, {KAFKA}, {MIXED} (one quorum of both), and {KAFKA}:VERSION or {MIXED}:VERSION with a "
    f"release of 4.x ({KAFKA} is {KAFKA}:{NEWEST}), {KAFKA}:DIR with the jars of a build, and "
    f"{IMAGE}:NAME"
)
_KAFKA = re.compile(rf"({KAFKA}|{MIXED})(?::(4\.\d+\.\d+))?", re.ASCII)
_OWN = re.compile(rf"{KAFKA}:(/.+)|({IMAGE}:[\w./:@-]+)", re.ASCII)


class UnknownTargetError(ValueError):
    """No target has that name."""


def release_of(word: str) -> str:
    """The release of Apache Kafka in the name, alone or in a quorum with our nodes, or the build of
    the user's (`is_own_build`); "" for our own node alone. Raises UnknownTargetError."""
    if own := _OWN.fullmatch(word):
        return own.group(1) or own.group(2)
    found = _KAFKA.fullmatch(word)
    if found is None and word != NODE:
        raise UnknownTargetError(f"no target {word!r}; there are {WORDS}")
    return (found.group(2) or NEWEST) if found else ""


def is_mixed(word: str) -> bool:
    return word.partition(":")[0] == MIXED


def has_brokers(word: str, settings: Mapping[str, str]) -> bool:
    """Without a setting, Apache Kafka's clusters have brokers, and other clusters have none."""
    return settings.get(BROKERS, "3" if is_kafka(word) else "0") != "0"


def is_kafka(word: str) -> bool:
    """Whether all nodes are Apache Kafka's."""
    return word != NODE and not is_mixed(word)


def left_to_no_seed(word: str, *, of_brokers: bool) -> Mapping[str, str]:
    """The settings that a seed which draws a cluster leaves alone: Apache Kafka's voters are in the
    log, it has no unclean recovery manager, and in a swarm of quorums every node is one."""
    if not is_kafka(word):
        return {}
    known = {QUORUM: DYNAMIC}
    return {**known, RECOVERY: RECOVERIES[0]} if of_brokers else {**known, "roles": "combined"}


def target_named(
    word: str,
    settings: Mapping[str, str],
    *,
    mutation: str = "",
    conditions: Conditions | None = None,
) -> Target:
    """The target with that name. Raises UnknownTargetError, or SettingError."""
    release, conditions = release_of(word), conditions or Conditions()
    if release:
        if mutation:
            raise SettingError(f"{mutation} can be planted in our own node only")
        if is_mixed(word):
            return mixed(release, settings, conditions)
        chosen = read_settings(settings)
        if not is_own_build(release):  # which may have settings of its own
            for name, value in chosen.configuration.items():
                if why := why_lacking(release, name):
                    raise SettingError(f"{name}={value}: {why}")
        return Kafka(release=release, chosen=chosen, conditions=conditions)
    return own_node(settings, mutation, conditions)


def layout(
    word: str,
    nodes: int,
    settings: Mapping[str, str],
    *,
    mutation: str = "",
    conditions: Conditions | None = None,
) -> tuple[Target, int]:
    """A target, and the number of its nodes for the requested number: controllers of ours if there
    are no brokers, else brokers, which may have controllers beside them. Raises as `target_named`
    does."""
    if is_mixed(word) and nodes != SIZE:
        raise SettingError(f"a quorum of both has {SIZE} controllers, not {nodes}")
    if is_kafka(word):
        settings = {"brokers": str(nodes), **settings}
    if word == NODE and not has_brokers(word, settings):
        settings = {NODES: str(nodes), **settings}
    made = target_named(word, settings, mutation=mutation, conditions=conditions)
    if isinstance(made, OwnNode) and made.brokers.count:
        return made, made.count
    if isinstance(made, OwnNode) and made.nodes != nodes:
        raise SettingError(f"{NODES}={made.nodes}: the cluster has {nodes} nodes")
    return made, len(made.nodes) if isinstance(made, Kafka | Mixed) else nodes
