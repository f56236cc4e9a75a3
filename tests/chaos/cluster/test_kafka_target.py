"""How Apache Kafka is laid out, configured and formatted."""

from dataclasses import replace

import pytest

from chaos.cluster.docker.labels import labels_of, target_of
from chaos.cluster.interface import Address, NodeId, Roles
from chaos.cluster.targets.kafka import Kafka
from chaos.cluster.targets.kafka_settings import SettingError, read_settings
from chaos.cluster.targets.named import UnknownTargetError, layout, release_of, target_named
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.target import Reformatting, Seat
from chaos.cluster.topology import host_name, inner_port
from chaos.conditions import Conditions
from chaos.errors import UsageError
from chaos.releases import NEWEST, setup_command
from chaos.run.planning import Choices, plan_of, require_layout
from chaos.scenario import SIM

FILE = "/tmp/server.properties"
BROKER, COMBINED, CONTROLLER = NodeId(1), NodeId(1), NodeId(4)


def kafka(**words: str) -> Kafka:
    made = target_named("kafka", words)
    assert isinstance(made, Kafka)
    return made


def seat(target: Kafka, node: NodeId) -> Seat:
    return Seat(
        node=node,
        directory_id="abcdefghijklmnopqrstu" + str(node),
        inner=Address(host_name(node), target.inner_ports(node)[0]),
        outer=Address("127.0.0.1", 25000 + node),
    )


def properties(target: Kafka, node: NodeId) -> dict[str, str]:
    text = target.properties(seat(target, node), "/data/kraft")
    return dict(line.split("=", 1) for line in text.splitlines())


def formatting(target: Kafka, node: NodeId) -> str:
    seats = [seat(target, each) for each in target.nodes]
    return " ".join(target.format_command("cluster", seats[node - 1], seats, FILE))


def test_brokers_come_first_and_controllers_after_them() -> None:
    apart, together = kafka(brokers="2", controllers="3"), kafka(roles="combined")
    broker, controller = Roles.BROKER, Roles.CONTROLLER
    assert [*map(apart.roles, apart.nodes)] == [broker, broker, controller, controller, controller]
    assert [*map(together.roles, together.nodes)] == 3 * [Roles.BOTH]


def test_a_broker_listens_to_others_and_to_clients() -> None:
    found = properties(kafka(), BROKER)
    assert found["process.roles"] == "broker"
    assert found["listeners"] == "INT://0.0.0.0:9101,EXT://0.0.0.0:9200"
    assert found["advertised.listeners"] == "INT://node-1:9101,EXT://127.0.0.1:25001"
    assert found["inter.broker.listener.name"] == "INT"
    assert found["controller.quorum.bootstrap.servers"] == "node-4:9104"
    assert found["log.dirs"] == "/data/kraft"


def test_clients_reach_a_controller_by_a_controller_listener() -> None:
    found = properties(kafka(), CONTROLLER)
    assert found["process.roles"] == "controller"
    assert found["controller.listener.names"] == "CONTROLLER,EXTERNAL"
    assert found["advertised.listeners"] == "CONTROLLER://node-4:9104,EXTERNAL://127.0.0.1:25004"
    assert "inter.broker.listener.name" not in found


def test_a_combined_node_is_reached_by_two_inner_ports() -> None:
    target = kafka(roles="combined")
    assert target.inner_ports(COMBINED) == (9101, 9301)
    found = properties(target, COMBINED)
    assert found["process.roles"] == "broker,controller"
    assert found["listeners"] == "INT://0.0.0.0:9101,CONTROLLER://0.0.0.0:9301,EXT://0.0.0.0:9200"
    servers = "node-1:9301,node-2:9302,node-3:9303"
    assert found["controller.quorum.bootstrap.servers"] == servers


def test_a_static_quorum_is_in_the_configuration_and_not_in_the_format() -> None:
    target = kafka(controllers="3", quorum="static")
    voters = "4@node-4:9104,5@node-5:9105,6@node-6:9106"
    assert properties(target, BROKER)["controller.quorum.voters"] == voters
    assert "controllers" not in formatting(target, CONTROLLER)
    assert "controllers" not in " ".join(target.reformat_command("cluster", CONTROLLER, FILE))


def test_a_dynamic_quorum_is_formatted_with_its_voters_disks() -> None:
    target = kafka()
    voters = "--initial-controllers 4@node-4:9104:abcdefghijklmnopqrstu4"
    assert formatting(target, CONTROLLER).endswith(voters)
    assert "controllers" not in formatting(target, BROKER)
    assert isinstance(target, Reformatting)
    anew = target.reformat_command("cluster", CONTROLLER, FILE)
    assert anew[-1] == "--no-initial-controllers"
    assert "controllers" not in " ".join(target.reformat_command("cluster", BROKER, FILE))


@pytest.mark.parametrize(("word", "level"), [("on", 1), ("off", 0)])
def test_eligible_leader_replicas_are_a_feature_of_the_format(word: str, level: int) -> None:
    target = kafka(elr=word)
    for node in target.nodes:
        feature = f"--feature eligible.leader.replicas.version={level}"
        assert feature in formatting(target, node)
        assert feature in " ".join(target.reformat_command("cluster", node, FILE))


def test_time_outs_are_quick_unless_kafkas_own_are_asked_for() -> None:
    assert properties(kafka(), BROKER)["broker.session.timeout.ms"] == "3000"
    stock = properties(kafka(defaults="stock"), BROKER)
    assert not [name for name in stock if name.endswith(".ms")]


def test_kafkas_own_names_pass_through_and_win() -> None:
    target = target_named(
        "kafka", {"broker.session.timeout.ms": "9000", "log.flush.interval.messages": "1"}
    )
    assert isinstance(target, Kafka)
    found = properties(target, BROKER)
    assert found["broker.session.timeout.ms"] == "9000"
    assert found["log.flush.interval.messages"] == "1"


def test_copies_are_no_more_than_brokers() -> None:
    for brokers, copies, least in (("1", "1", "1"), ("2", "2", "2"), ("5", "3", "2")):
        found = properties(kafka(brokers=brokers), BROKER)
        assert found["default.replication.factor"] == copies
        assert found["offsets.topic.replication.factor"] == copies
        assert found["min.insync.replicas"] == least


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"colour": "red"}, "no such setting; there are roles, quorum, elr"),
        ({"elr": "maybe"}, "it is on or off"),
        ({"controllers": "2"}, "1 or 3"),
        ({"controllers": "1", "roles": "combined"}, "all 3 brokers are controllers"),
        ({"brokers": "6"}, "a number from 0 to 5"),
        ({"brokers": "0", "roles": "combined"}, "a number from 1 to 5"),
        ({"brokers": "2", "replication": "3"}, "a number from 1 to 2"),
        ({"replication": "1", "min_isr": "2"}, "a number from 1 to 1"),
        ({"log_dirs": "3"}, "a number from 1 to 2"),
        ({"broker_min_isr": "4"}, "a number from 1 to 3"),
        ({"broker_min_isr": "1", "roles": "combined"}, "brokers have the files of controllers"),
        ({"bootstrap": "2"}, "a quorum beside the brokers has 1 or 3"),
        ({"bootstrap": "2", "controllers": "1"}, "a number from 1 to 1"),
        (
            {"bootstrap": "1", "controllers": "3", "quorum": "static"},
            "with quorum=static, nodes know every controller",
        ),
        ({"min.insync.replicas": "1"}, "use min_isr=N instead"),
        ({"kraft.version": "0"}, "use quorum=dynamic or static instead"),
        ({"log.dirs": "/tmp"}, "the harness sets it"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(words: dict[str, str], why: str) -> None:
    with pytest.raises(SettingError, match=why):
        read_settings(words)


def test_a_broker_may_have_two_log_directories_on_its_disk() -> None:
    two = kafka(log_dirs="2")
    assert properties(two, BROKER)["log.dirs"] == "/data/kraft,/data/kraft.second"
    assert properties(two, CONTROLLER)["log.dirs"] == "/data/kraft"
    assert properties(kafka(), BROKER)["log.dirs"] == "/data/kraft"


def test_the_files_of_brokers_may_have_another_min_isr() -> None:
    differing = kafka(broker_min_isr="1")
    name = "min.insync.replicas"
    assert (properties(differing, BROKER)[name], properties(differing, CONTROLLER)[name]) == (
        "1",
        "2",
    )
    assert properties(kafka(), BROKER)[name] == properties(kafka(), CONTROLLER)[name] == "2"
    assert read_settings(differing.chosen.as_words()) == differing.chosen


def test_nodes_may_know_fewer_controllers_than_there_are() -> None:
    one = kafka(controllers="3", bootstrap="1")
    name = "controller.quorum.bootstrap.servers"
    assert properties(one, BROKER)[name] == properties(one, CONTROLLER)[name] == "node-4:9104"
    assert properties(kafka(controllers="3"), BROKER)[name].count(",") == 2


def test_who_knows_three_controllers_has_three() -> None:
    assert kafka(bootstrap="3").chosen.controllers == 3
    assert kafka(bootstrap="1").chosen.controllers == 1


def test_a_quorum_may_have_no_brokers() -> None:
    alone = kafka(brokers="0", bootstrap="3")
    assert [alone.roles(node) for node in alone.nodes] == [Roles.CONTROLLER] * 3
    assert properties(alone, NodeId(1))["node.id"] == "1"


def test_no_segment_is_smaller_than_kafka_takes() -> None:
    name = "metadata.log.segment.bytes"
    small = target_named("kafka", {}, conditions=Conditions(segment_bytes=2_048))
    assert isinstance(small, Kafka)
    assert properties(small, BROKER)[name] == str(8 << 20)
    assert name not in properties(kafka(), BROKER)


def test_a_broker_has_no_setting_with_which_it_would_not_start() -> None:
    name = "controller.quorum.auto.join.enable"
    joins = kafka(**{name: "true"})
    assert properties(joins, CONTROLLER)[name] == "true"
    assert name not in properties(joins, BROKER)
    assert properties(kafka(**{name: "true", "roles": "combined"}), BROKER)[name] == "true"


def test_settings_survive_the_record() -> None:
    words = {
        "elr": "off",
        "log_dirs": "2",
        "roles": "combined",
        "brokers": "5",
        "num.io.threads": "2",
    }
    chosen = read_settings(words)
    assert read_settings(chosen.as_words()) == chosen
    assert chosen.as_words().items() >= {**words, "min_isr": "2", "controllers": "5"}.items()


def test_a_cluster_that_is_up_is_known_by_its_labels() -> None:
    target = kafka(elr="off", brokers="2")
    assert target_of(labels_of(target, "id")) == target
    assert target_of(labels_of(OwnNode(), "id")) == OwnNode()
    assert target_of({}) == OwnNode()


@pytest.mark.parametrize(
    ("word", "release"),
    [
        ("node", ""),
        ("kafka", NEWEST),
        ("kafka:4.1.0", "4.1.0"),
        ("kafka:/my fork/libs", "/my fork/libs"),
        ("kafka-image:host:5000/mine/kafka:4.4", "kafka-image:host:5000/mine/kafka:4.4"),
    ],
)
def test_targets_have_words(word: str, release: str) -> None:
    assert release_of(word) == release


@pytest.mark.parametrize(
    "word",
    ["", "kafka:", "kafka:3.9.0", "kafka:4.3", "kafka:4.3.1 ", "zk", "mixed:/dir", "kafka-image:"],
)
def test_other_words_are_refused_with_those_that_there_are(word: str) -> None:
    with pytest.raises(UnknownTargetError, match="kafka:VERSION"):
        release_of(word)


@pytest.mark.parametrize("word", ["kafka:/my/libs", "kafka-image:mine/kafka:1"])
def test_a_build_of_the_users_is_known_by_its_labels_and_has_settings_of_its_own(word: str) -> None:
    target = target_named(word, {"jvm_opts": "-Xmx1g -Da='b c'", "mine.only.ms": "3"})
    assert target.word == word
    assert target_of(labels_of(target, "id")) == target
    start = target.start_command(NodeId(1), "file")
    assert list(start[start.index("-Xmx1g") :][:2]) == ["-Xmx1g", "-Da=b c"]
    assert start.index("-Xmx384m") < start.index("-Xmx1g") < start.index("-cp")
    assert setup_command(target.release_of(NodeId(1))) == f"kraft-chaos setup --target {word}"


@pytest.mark.parametrize("value", ["-Xmx1g 'open", "Xmx1g"])
def test_odd_options_of_a_jvm_are_refused(value: str) -> None:
    with pytest.raises(SettingError, match="jvm_opts="):
        kafka(jvm_opts=value)


def test_only_what_is_not_the_newest_is_spelled_out() -> None:
    assert setup_command(NEWEST) == "kraft-chaos setup --target kafka"
    assert setup_command("4.1.0") == "kraft-chaos setup --target kafka:4.1.0"


def test_nodes_are_controllers_of_ours_and_brokers_of_kafkas() -> None:
    assert layout("node", 5, {})[1] == 5
    assert layout("kafka", 5, {})[1] == 6
    assert layout("kafka", 2, {"controllers": "3"})[1] == 5
    assert layout("kafka", 3, {"roles": "combined"})[1] == 3
    with pytest.raises(UsageError, match="3 or 5"):
        require_layout("node", 4, {})
    assert layout("node", 1, {})[1] == 1  # a failure that was shrunk to one node
    with pytest.raises(SettingError, match="our own node has synced_format"):
        layout("node", 3, {"elr": "off"})


def test_a_cluster_that_a_seed_draws_must_be_one_that_can_be_made() -> None:
    asked = Choices(scenario="swarm", seed=98, runtime=SIM, settings={"nodes": "3"})
    with pytest.raises(UsageError, match="nodes=3: the cluster has 6 nodes"):
        plan_of(asked)
    assert plan_of(replace(asked, nodes=3)).nodes == 3
    with pytest.raises(SettingError, match="our own node only"):
        layout("kafka", 3, {}, mutation="q-zombie")


def test_a_seed_draws_a_quorum_of_apache_kafkas_whose_voters_can_change() -> None:
    for seed in range(4):
        plan = plan_of(Choices(scenario="swarm", seed=seed, target="kafka"))
        target, count = layout(plan.target, plan.nodes, plan.target_settings)
        assert isinstance(target, Kafka)
        assert (count, plan.settings["quorum"]) == (3, "dynamic")
        assert all(target.roles(node) is Roles.BOTH for node in target.nodes)
    asked = Choices(scenario="swarm", seed=1, target="kafka", settings={"quorum": "static"})
    assert plan_of(asked).settings["quorum"] == "static"


def test_no_seed_draws_a_quorum_of_both() -> None:
    with pytest.raises(UsageError, match="run mixed-quorum --target mixed"):
        plan_of(Choices(scenario="swarm", seed=1, target="mixed"))


def test_a_scenario_of_brokers_has_some() -> None:
    alone = Choices(scenario="power-off-brokers", target="kafka", settings={"brokers": "0"})
    with pytest.raises(UsageError, match="and kafka has none"):
        plan_of(alone)
    of_controllers = replace(
        alone, scenario="power-off", settings={"brokers": "0", "controllers": "3"}
    )
    assert plan_of(of_controllers).settings["brokers"] == "0"


@pytest.mark.parametrize("name", ["disk-loss", "disk-loss-majority", "snapshot-catch-up"])
def test_a_scenario_of_controllers_says_by_itself_what_it_needs_of_kafka(name: str) -> None:
    plan = plan_of(Choices(scenario=name, seed=1, target="kafka"))
    made, count = layout(plan.target, plan.nodes, plan.target_settings)
    assert isinstance(made, Kafka)
    assert (count, made.chosen.brokers, made.chosen.controllers, made.chosen.bootstrap) == (
        3,
        0,
        3,
        3,
    )
    asked = Choices(scenario=name, seed=1, target="kafka", settings={"brokers": "1"}, duration_s=9)
    assert (plan_of(asked).settings["brokers"], plan_of(asked).duration_s) == ("1", 9)
    own = plan_of(Choices(scenario=name, seed=1))
    assert "brokers" not in own.settings
    assert own.duration_s == own.scenario.default_duration_s


def test_a_follower_of_kafka_is_away_for_longer_than_its_cleaner_waits() -> None:
    plan = plan_of(Choices(scenario="snapshot-catch-up", seed=1, target="kafka"))
    (away, _) = plan.scenario.schedule(seed=1, nodes=3, duration_s=plan.duration_s).windows
    assert away.hold_s > 60
    made = target_named(plan.target, plan.target_settings, conditions=plan.conditions)
    seat = Seat(
        node=NodeId(1),
        directory_id="abcdefghijklmnopqrstuv",
        inner=Address(host_name(NodeId(1)), inner_port(NodeId(1))),
        outer=Address("127.0.0.1", 25001),
    )
    told = made.properties(seat, "/data").splitlines()
    assert "metadata.log.segment.ms=2000" in told
    assert "metadata.log.segment.bytes=8388608" in told
