"""Settings of clusters of our own node: by the names of Apache Kafka's side, or refused by name."""

import pytest

from chaos.cluster.docker.labels import labels_of, target_of
from chaos.cluster.interface import Address, NodeId, Roles
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.named import layout, target_named
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.own_settings import BESIDE_BROKERS, OF_NODES
from chaos.cluster.targets.target import Seat
from chaos.conditions import Conditions
from node.config import RecoveryStrategy
from node.server.properties import KNOWN_KEYS, REFUSED, Settings, parse_settings
from node.server.property_values import COARSE_KEYS

BROKER, CONTROLLER = (
    Seat(
        node=NodeId(number),
        directory_id="",
        inner=Address(f"node-{number}", 9100 + number),
        outer=Address("127.0.0.1", 25000 + number),
    )
    for number in (1, 2)
)
# What the harness says itself, has a word for, or never asks of a node.
NOT_CHOSEN = {
    "advertised.listeners",
    "auto.create.topics.enable",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "default.replication.factor",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "metrics.listener",
    "min.insync.replicas",
    "node.id",
    "process.roles",
    "unclean.leader.election.enable",
    "unclean.recovery.manager.enabled",
    "unclean.recovery.strategy",
}
# What has words for values, or a finer name that can be chosen.
WORDS = {
    "auto.leader.rebalance.enable",
    "log.message.timestamp.type",
    *COARSE_KEYS,
    *REFUSED,
}


def made(**settings: str) -> OwnNode:
    target = target_named("node", {"brokers": "1", **settings})
    assert isinstance(target, OwnNode)
    return target


def read(target: OwnNode, seat: Seat) -> Settings:
    return parse_settings(target.properties(seat, "/data/kraft"))


@pytest.mark.parametrize(("replication", "copies"), [("1", 3), ("3", 3), ("4", 4), ("5", 5)])
def test_committed_offsets_have_as_many_replicas_as_other_topics(
    replication: str, copies: int
) -> None:
    brokers = {"brokers": "5", "replication": replication}
    assert read(made(**brokers), BROKER).config.groups.topic_replication == copies
    chosen = {"offsets.topic.replication.factor": "2"}
    assert read(made(**brokers, **chosen), BROKER).config.groups.topic_replication == 2


@pytest.mark.parametrize("strategy", list(RecoveryStrategy))
def test_a_word_chooses_the_strategy_of_a_recovery_manager(strategy: RecoveryStrategy) -> None:
    config = read(made(recovery=strategy.lower()), BROKER).config
    assert (config.brokers.recovery_manager, config.brokers.recovery_strategy) == (True, strategy)
    assert not read(made(recovery="off"), BROKER).config.brokers.recovery_manager
    with pytest.raises(SettingError, match="that is a setting of brokers"):
        target_named("node", {"recovery": strategy.lower()})


def test_names_are_those_that_the_node_has() -> None:
    assert {*OF_NODES, *BESIDE_BROKERS} == KNOWN_KEYS - NOT_CHOSEN - WORDS
    assert not {*OF_NODES} & {*BESIDE_BROKERS}


def test_kafkas_names_go_into_the_configuration_of_every_node_as_they_are() -> None:
    names = (*OF_NODES, *BESIDE_BROKERS)
    target = target_named("node", {"brokers": "1", **dict.fromkeys(names, "2000")})
    assert isinstance(target, OwnNode)
    for seat in (BROKER, CONTROLLER):
        lines = target.properties(seat, "/data/kraft").splitlines()
        assert {f"{name}=2000" for name in names} <= set(lines)
        assert read(target, seat).unknown == ()
    assert target_of(labels_of(target, "cluster")) == target


def test_elections_from_outside_are_the_words_of_kafkas_side() -> None:
    assert read(made(unclean="on"), CONTROLLER).config.brokers.unclean
    assert not read(made(), CONTROLLER).config.brokers.unclean
    assert made(unclean="on").settings["unclean"] == "on"


def test_stock_is_what_kafka_waits_unless_told_otherwise() -> None:
    short = Conditions(election_timeout_ms=77)
    quick, stock = (
        target_named("node", {"brokers": "1", "defaults": word}, conditions=short)
        for word in ("quick", "stock")
    )
    assert isinstance(quick, OwnNode)
    assert isinstance(stock, OwnNode)
    for target, session_ms, lag_ms, election_ms in (
        (quick, 3000, 5000, 77),
        (stock, 9000, 30_000, 1000),
    ):
        config = read(target, BROKER).config
        assert config.role is not None
        found = (config.brokers.session_ms, config.role.lag_ms, config.timeouts.election_ms)
        assert found == (session_ms, lag_ms, election_ms)
        assert target_of(labels_of(target, "cluster")).settings == target.settings


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"roles": "both"}, "roles=both: it is separate or combined"),
        (
            {"brokers": "3", "roles": "combined", "controllers": "1"},
            "with roles=combined all 3 brokers are controllers, and there may be more",
        ),
        ({"log_dirs": "3"}, "log_dirs=3: a number from 1 to 2"),
        ({"log.cleaner.threads": "2"}, "log.cleaner.threads=2: our own node has no such setting"),
        (
            {"log.flush.start.offset.checkpoint.interval.ms": "1"},
            "where logs of ours begin is durable before a client is told",
        ),
        ({"log.retention.ms": "long"}, "log.retention.ms=long: it is a whole number"),
        ({"min.insync.replicas": "2"}, "use min_isr=N instead"),
        ({"node.id": "2"}, "node.id=2: the harness sets it"),
        ({"brokers": "0", "log.retention.ms": "1"}, "a setting of brokers, and there are none"),
        ({"unclean": "maybe"}, "unclean=maybe: it is off or on"),
    ],
)
def test_what_no_node_of_ours_can_have_is_refused_by_name(
    settings: dict[str, str], why: str
) -> None:
    with pytest.raises(SettingError, match=why):
        target_named("node", {"brokers": "1", **settings})


def test_brokers_may_have_two_log_directories_and_controllers_have_one() -> None:
    target = made(log_dirs="2", controllers="1")
    assert target.settings["log_dirs"] == "2"
    assert read(target, BROKER).config.log_dirs == ("/data/kraft", "/data/kraft.second")
    assert read(target, CONTROLLER).config.log_dirs == ("/data/kraft",)
    assert read(made(), BROKER).config.log_dirs == ("/data/kraft",)


@pytest.mark.parametrize(("controllers", "kinds"), [("3", "bbb"), ("5", "bbbcc")])
@pytest.mark.parametrize("quorum", ["listed", "dynamic", "static"])
def test_combined_nodes_are_voters_by_their_second_port(
    quorum: str, controllers: str, kinds: str
) -> None:
    words = {"brokers": "3", "roles": "combined", "quorum": quorum, "controllers": controllers}
    target, count = layout("node", 3, words)
    assert isinstance(target, OwnNode)
    nodes = [NodeId(number) for number in range(1, count + 1)]
    of_kind = {"b": Roles.BOTH, "c": Roles.CONTROLLER}
    assert [target.roles(node) for node in nodes] == [of_kind[kind] for kind in kinds]
    assert target_of(labels_of(target, "cluster")).settings == target.settings
    config = read(target, BROKER).config
    assert config.role is not None
    assert [(at.name, at.port) for at in config.role.advertised] == [("INT", 9101), ("EXT", 25001)]
    assert [(at.name, at.port) for at in config.advertised] == [("CONTROLLER", 9301)]
    assert target.inner_ports(NodeId(1)) == (9101, 9301)
    ports = [target.controller_port(node) for node in nodes]
    assert ports == [9301, 9302, 9303, 9104, 9105][:count]
    if quorum != "dynamic":
        assert [at.port for (at,) in config.quorum_voters.values()] == ports
