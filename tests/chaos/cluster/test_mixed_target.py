"""One quorum of both: who runs what, and that all are told of the same voters."""

import pytest

from chaos.cluster.docker.assembly import Images
from chaos.cluster.docker.identity import labels_of, target_of
from chaos.cluster.interface import Address, NodeId, Roles
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.mixed import Mixed
from chaos.cluster.targets.named import layout, release_of, target_named
from chaos.cluster.targets.target import Seat
from chaos.cluster.topology import host_name, inner_port
from chaos.operator_errors import UsageError
from chaos.planning import Choices, plan_of
from chaos.releases import NEWEST

NODES = [NodeId(1), NodeId(2), NodeId(3)]
SEATS = [
    Seat(
        node=node,
        directory_id="abcdefghijklmnopqrstu" + str(node),
        inner=Address(host_name(node), inner_port(node)),
        outer=Address("127.0.0.1", 25000 + node),
    )
    for node in NODES
]
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
    assert all(known in switched.properties(seat, "/data").splitlines() for seat in SEATS)


def test_in_a_static_quorum_all_files_list_the_same_voters() -> None:
    made = target_named("mixed", {"quorum": "static"})
    listed = "controller.quorum.voters=1@node-1:9101,2@node-2:9102,3@node-3:9103"
    for seat in SEATS:
        assert listed in made.properties(seat, "/data/kraft").splitlines()
        words = made.format_command("cluster", seat, SEATS, FILE)
        assert not {"--initial-controllers", "--no-initial-controllers"} & set(words)


def test_all_disks_are_told_of_the_same_voters() -> None:
    made = target()
    words = [list(made.format_command("cluster", seat, SEATS, FILE)) for seat in SEATS]
    voters = {each[each.index("--initial-controllers") + 1] for each in words}
    assert voters == {
        ",".join(
            f"{seat.node}@node-{seat.node}:910{seat.node}:{seat.directory_id}" for seat in SEATS
        )
    }


def test_both_kinds_listen_alike() -> None:
    made = target()
    found = [
        dict(line.split("=", 1) for line in made.properties(seat, "/data/kraft").splitlines())
        for seat in SEATS
    ]
    assert {each["controller.listener.names"] for each in found} == {"CONTROLLER,EXTERNAL"}
    assert {each["process.roles"] for each in found} == {"controller"}
    assert [each["node.id"] for each in found] == ["1", "2", "3"]
    kafka = found[2]
    assert kafka["controller.quorum.bootstrap.servers"] == "node-1:9101,node-2:9102,node-3:9103"


def test_it_promises_what_both_do() -> None:
    made = target()
    assert made.promises == ()
    assert not made.traces
    assert made.name == f"2 node, 1 kafka {NEWEST}"


def test_another_process_finds_the_same() -> None:
    found = target_of(labels_of(target("2"), "id"))
    assert isinstance(found, Mixed)
    assert found == target("2")
    assert release_of("mixed:4.1.0") == "4.1.0"


@pytest.mark.parametrize("words", [{"kafkas": "3"}, {"kafkas": "0"}, {"brokers": "1"}])
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
        ("all-unclean", "mixed", "mixed has none"),
    ],
)
def test_a_scenario_that_takes_another_target_is_refused(
    scenario: str, asked: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        plan_of(Choices(scenario=scenario, seed=1, target=asked, runtime="docker"))


def test_images_are_told_by_the_nodes_that_run_them() -> None:
    one = Images(nodes=dict.fromkeys(NODES, "ours"), agent="a", proxy="p")
    assert one.by_use() == {"node": "ours", "agent": "a", "proxy": "p"}
    both = Images(nodes={NODES[0]: "ours", NODES[1]: "ours", NODES[2]: "k"}, agent="a", proxy="p")
    assert both.by_use() == {"node 1, 2": "ours", "node 3": "k", "agent": "a", "proxy": "p"}
