"""One quorum of both: who runs what, and that all are told of the same voters."""

import pytest

from chaos.cluster.docker.assembly import Images
from chaos.cluster.docker.labels import labels_of, target_of
from chaos.cluster.interface import Address, NodeId, Roles
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.mixed import Mixed
from chaos.cluster.targets.named import layout, release_of, target_named
from chaos.cluster.targets.target import Seat
from chaos.cluster.topology import host_name, inner_port
from chaos.errors import UsageError
from chaos.releases import NEWEST
from chaos.run.planning import Choices, plan_of

NODES = [NodeId(1), NodeId(2), NodeId(3)]


def seat(node: int) -> Seat:
    return Seat(
        node=NodeId(node),
        directory_id="abcdefghijklmnopqrstu" + str(node),
        inner=Address(host_name(NodeId(node)), inner_port(NodeId(node))),
        outer=Address("127.0.0.1", 25000 + node),
    )


SEATS = [seat(node) for node in NODES]
FILE = "/tmp/server.properties"


def target(kafkas: str = "1") -> Mixed:
    made = target_named("mixed", {"kafkas": kafkas})
    assert isinstance(made, Mixed)
    return made


@pytest.mark.parametrize(("kafkas", "own"), [("1", [1, 2]), ("2", [1])])
def test_the_last_ones_are_apache_kafkas(kafkas: str, own: list[int]) -> None:
    made = target(kafkas)
    assert {made.release_of(node) for node in NODES} == {NEWEST}, "every image has both"
    assert {made.roles(node) for node in NODES} == {Roles.CONTROLLER}
    assert ours_of(made) == own


def ours_of(made: Mixed) -> list[NodeId]:
    """The nodes that start as our own."""
    return [node for node in NODES if made.start_command(node, FILE)[0] == "python3"]


def test_a_node_is_the_other_program_and_itself_again() -> None:
    made = target()
    switched = made.switched(NODES[0])
    assert (ours_of(switched), ours_of(switched.switched(NODES[0]))) == ([2], [1, 2])
    assert ours_of(made.switched(NODES[2])) == NODES
    java = switched.reformat_command("cluster", NODES[0], FILE)
    assert "kafka.tools.StorageTool" in java
    for node in NODES:  # never as a voter of a set of its own
        words = switched.reformat_command("cluster", node, FILE)
        assert "--no-initial-controllers" in words
    known = "controller.quorum.bootstrap.servers=node-1:9101,node-2:9102,node-3:9103"
    assert all(known in switched.properties(each, "/data").splitlines() for each in SEATS)


def test_in_a_static_quorum_all_files_list_the_same_voters() -> None:
    made = target_named("mixed", {"quorum": "static"})
    listed = "controller.quorum.voters=1@node-1:9101,2@node-2:9102,3@node-3:9103"
    for each in SEATS:
        assert listed in made.properties(each, "/data/kraft").splitlines()
        words = made.format_command("cluster", each, SEATS, FILE)
        assert not {"--initial-controllers", "--no-initial-controllers"} & set(words)


def test_all_disks_are_told_of_the_same_voters() -> None:
    made = target()
    words = [list(made.format_command("cluster", each, SEATS, FILE)) for each in SEATS]
    voters = {each[each.index("--initial-controllers") + 1] for each in words}
    assert voters == {
        ",".join(
            f"{each.node}@node-{each.node}:910{each.node}:{each.directory_id}" for each in SEATS
        )
    }


def test_both_kinds_listen_alike() -> None:
    made = target()
    found = [
        dict(line.split("=", 1) for line in made.properties(each, "/data/kraft").splitlines())
        for each in SEATS
    ]
    assert {each["controller.listener.names"] for each in found} == {"CONTROLLER,EXTERNAL"}
    assert {each["process.roles"] for each in found} == {"controller"}
    assert [each["node.id"] for each in found] == ["1", "2", "3"]
    kafka = found[2]
    assert kafka["controller.quorum.bootstrap.servers"] == "node-1:9101,node-2:9102,node-3:9103"


@pytest.mark.parametrize("form", ["dynamic", "static"])
def test_a_broker_of_apache_kafka_stands_before_the_controllers(form: str) -> None:
    made, count = layout("mixed", 3, {"brokers": "1", "quorum": form})
    assert isinstance(made, Mixed)
    nodes = [NodeId(number) for number in range(1, count + 1)]
    assert [made.roles(node).is_broker for node in nodes] == [True, False, False, False]
    programs = [made.start_command(node, FILE)[0] for node in nodes]
    assert programs == ["java", "python3", "python3", "java"]
    assert made.name == f"2 node, 1 kafka {NEWEST}, 1 broker"
    seats = [seat(node) for node in nodes]
    files = [made.properties(each, "/data/kraft").splitlines() for each in seats]
    known = {line for lines in files for line in lines if line.startswith("controller.quorum.boot")}
    listed = {line for lines in files for line in lines if "quorum.voters" in line}
    if form == "dynamic":
        assert known == {"controller.quorum.bootstrap.servers=node-2:9102,node-3:9103,node-4:9104"}
        commands = [made.format_command("cluster", each, seats, FILE) for each in seats]
        voters = {each[each.index("--initial-controllers") + 1] for each in commands[1:]}
        assert [each.count("--initial-controllers") for each in commands] == [0, 1, 1, 1]
        assert [word.partition("@")[0] for word in voters.pop().split(",")] == ["2", "3", "4"]
        assert not voters
    else:
        assert listed == {"controller.quorum.voters=2@node-2:9102,3@node-3:9103,4@node-4:9104"}


def test_controllers_of_both_kinds_give_brokers_the_same_time() -> None:
    made = target_named("mixed", {"brokers": "3", "min_isr": "1"})
    files = [made.properties(seat(node), "/data/kraft").splitlines() for node in (4, 6)]
    for wanted in ("broker.session.timeout.ms=3000", "min.insync.replicas=1"):
        assert all(wanted in lines for lines in files)
    assert made.settings == {
        "kafkas": "1", "quorum": "dynamic", "brokers": "3", "elr": "on", "replication": "3",
        "min_isr": "1", "unclean": "off",
    }  # fmt: skip


def test_it_promises_what_both_do() -> None:
    made = target()
    assert made.promises == ()
    assert not made.traces
    assert made.name == f"2 node, 1 kafka {NEWEST}"


@pytest.mark.parametrize("words", [{"kafkas": "2"}, {"brokers": "1"}, {"quorum": "static"}])
def test_another_process_finds_the_same(words: dict[str, str]) -> None:
    made = target_named("mixed", words)
    found = target_of(labels_of(made, "id"))
    assert isinstance(found, Mixed)
    assert found == made
    assert words.items() <= found.settings.items()
    assert release_of("mixed:4.1.0") == "4.1.0"


@pytest.mark.parametrize(
    "words", [{"kafkas": "3"}, {"kafkas": "0"}, {"brokers": "4"}, {"replication": "1"}]
)
def test_what_is_no_quorum_of_both_is_refused(words: dict[str, str]) -> None:
    with pytest.raises(SettingError, match="kafkas=1 or 2 of 3"):
        target_named("mixed", words)


@pytest.mark.parametrize("release", ["4.0.2", "4.2.1"])
def test_a_release_that_does_not_know_what_our_leader_writes_is_refused(release: str) -> None:
    with pytest.raises(SettingError, match=r"metadata.version 30.* since 4\.3\.0"):
        target_named(f"mixed:{release}", {})
    assert target_named("mixed:4.3.0", {}).word == "mixed:4.3.0"


def test_five_of_both_are_refused() -> None:
    with pytest.raises(SettingError, match="3 controllers, not 5"):
        layout("mixed", 5, {})


@pytest.mark.parametrize(
    ("scenario", "asked", "says"),
    [
        ("mixed-quorum", "node", "--target mixed"),
        ("mixed-quorum", "kafka", "--target mixed"),
        ("all-unclean", "mixed", "mixed has none\n.*brokers=3, or --target kafka"),
        ("mixed-broker", "kafka", "--target mixed"),
        ("mixed-broker", "node", "--target mixed"),
    ],
)
def test_a_scenario_that_takes_another_target_is_refused(
    scenario: str, asked: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        plan_of(Choices(scenario=scenario, seed=1, target=asked, runtime="docker"))


def test_scenarios_of_brokers_run_where_there_are_some() -> None:
    asked = Choices(
        scenario="partition-brokers",
        seed=1,
        target="mixed",
        settings={"brokers": "3"},
        runtime="docker",
    )
    plan = plan_of(asked)
    assert layout("mixed", plan.nodes, plan.target_settings)[1] == 6


def test_images_are_told_by_the_nodes_that_run_them() -> None:
    one = Images(nodes=dict.fromkeys(NODES, "ours"), agent="a", proxy="p")
    assert one.by_use() == {"node": "ours", "agent": "a", "proxy": "p"}
    both = Images(nodes={NODES[0]: "ours", NODES[1]: "ours", NODES[2]: "k"}, agent="a", proxy="p")
    assert both.by_use() == {"node 1, 2": "ours", "node 3": "k", "agent": "a", "proxy": "p"}
