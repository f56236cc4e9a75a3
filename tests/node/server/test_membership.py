"""Voters come and go by `kraft-node quorum`, on real processes and disks."""

import json
from functools import partial
from pathlib import Path

from node.ids import NodeId, uuid_text
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from tests.support.ports import give_back_ports, take_ports
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    make_quorum,
    quorum_processes,
    run_kraft_node,
    stop_all,
    wait_until,
)


def directory_id(node: NodeProcess) -> str:
    lines = (node.directory / "data" / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["directory.id"]


def change(
    quorum: QuorumProcesses, action: str, node: NodeProcess, directory: str, *, listed: bool = False
) -> "str | None":
    """Whoever is asked for it; None while it has to be asked again."""
    asked = ",".join(f"127.0.0.1:{each.outer}" for each in quorum.running())
    by_address = [] if listed else ["--endpoint", f"CONTROLLER://127.0.0.1:{node.inner}"]
    done = run_kraft_node(
        *("quorum", "--bootstrap", asked, action, "--json"),
        *("--replica-id", str(node.id), "--replica-uuid", directory),
        *(by_address if action == "add-voter" else ()),
    )
    again = ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "INVALID_REQUEST", "no leader said")
    if done.returncode and any(each in done.stderr for each in again):
        return None
    return done.stdout or done.stderr


def changed(
    quorum: QuorumProcesses, action: str, node: NodeProcess, directory: str, *, listed: bool = False
) -> None:
    """It is done, or was done by an attempt whose answer was lost."""
    told = wait_until(
        lambda: change(quorum, action, node, directory, listed=listed), f"{action} {node.id}"
    )
    if "DUPLICATE_VOTER" in told or "VOTER_NOT_FOUND" in told:
        return
    done = "added" if action == "add-voter" else "removed"
    assert json.loads(told) == {"id": node.id, "directoryId": directory, "done": done}


def voters(quorum: QuorumProcesses) -> list[tuple[int, str]]:
    found = quorum.leadership()
    return [(each.key.id, uuid_text(each.key.directory)) for each in found.voters]


def test_the_tool_waits_for_the_next_leader_and_says_what_to_do_where_there_is_none(
    tmp_path: Path,
) -> None:
    """KIP-595, "DescribeQuorum Response Handling": back off, and ask again."""
    with quorum_processes(tmp_path, 3) as quorum:
        quorum.leader().kill()
        asked = ",".join(f"127.0.0.1:{each.outer}" for each in quorum.running())
        describe = ("quorum", "--bootstrap", asked, "describe")
        done = run_kraft_node(*describe)
        assert done.returncode == 0, done.stderr
        quorum.leader().kill()
        done = run_kraft_node(*describe)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no leader answered\n  for 15 s, and the last time: ")
    assert "try: start the voters that are off" in done.stderr


def test_a_node_whose_disk_was_replaced_is_a_voter_again(tmp_path: Path) -> None:
    """KIP-856, "Disk Failure Recovery Scenario", by two commands."""
    with quorum_processes(tmp_path, 3) as quorum:
        quorum.write("before", 1000)
        lost = next(node for node in quorum.nodes.values() if node is not quorum.leader())
        old = directory_id(lost)
        lost.kill()
        (lost.directory / "data").rename(lost.directory / "lost")
        servers = ",".join(f"127.0.0.1:{each.inner}" for each in quorum.running())
        with lost.config.open("a") as config:
            config.write(f"controller.quorum.bootstrap.servers={servers}\n")
        done = run_kraft_node(
            *("format", "-t", quorum.cluster_id, "-c", lost.config, "--no-initial-controllers")
        )
        assert done.returncode == 0, done.stderr
        new = directory_id(lost)
        assert done.stdout.strip().endswith(f"formatted, directory id {new}")
        assert new != old
        lost.start()
        changed(quorum, "remove-voter", lost, old)
        changed(quorum, "add-voter", lost, new)
        assert (lost.id, new) in voters(quorum)
        assert (lost.id, old) not in voters(quorum)
        other = next(n for n in quorum.running() if n not in (lost, quorum.leader()))
        other.kill()
        quorum.write("after", 2000)
        assert quorum.read("before") == "1000"


def test_of_listed_voters_the_new_disk_is_added_and_then_the_old_one_removed(
    tmp_path: Path,
) -> None:
    """KIP-856, "Disk Failure Recovery Scenario", in its own order and its own form."""
    with quorum_processes(tmp_path, 3, listed=True) as quorum:
        quorum.write("before", 1000)
        first = [(each.id, directory_id(each)) for each in quorum.nodes.values()]
        assert sorted(voters(quorum)) == sorted(first)
        lost = next(node for node in quorum.nodes.values() if node is not quorum.leader())
        old = directory_id(lost)
        lost.kill()
        (lost.directory / "data").rename(lost.directory / "lost")
        done = run_kraft_node(*("format", "-t", quorum.cluster_id, "-c", lost.config))
        assert done.returncode == 0, done.stderr
        new = directory_id(lost)
        assert new != old
        lost.start()
        changed(quorum, "add-voter", lost, new, listed=True)
        assert {(lost.id, old), (lost.id, new)} <= set(voters(quorum))
        changed(quorum, "remove-voter", lost, old, listed=True)
        assert (lost.id, old) not in voters(quorum)
        other = next(n for n in quorum.running() if n not in (lost, quorum.leader()))
        other.kill()
        quorum.write("after", 2000)
        assert quorum.read("before") == "1000"


def test_a_log_that_names_a_node_without_a_place_in_the_list_is_refused(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 2, listed=True) as quorum:
        quorum.write("both", 1000)
        node = quorum.nodes[1]
        node.kill()
        text = node.config.read_text()
        listed = next(line for line in text.splitlines() if "quorum.voters" in line)
        node.config.write_text(text.replace(listed, listed.partition(",2@")[0]))
        done = run_kraft_node("start", "-c", node.config)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: the log names node 2 as a voter")
        assert done.stderr.endswith("try: list the same nodes in the file of every node\n")


def test_a_disk_of_one_form_is_not_taken_for_one_of_the_other(tmp_path: Path) -> None:
    quorum = make_quorum(tmp_path, 1)
    node = quorum.nodes[1]
    listing = f"controller.quorum.voters=1@127.0.0.1:{node.inner}\n"
    with node.config.open("a") as config:
        config.write(listing)
    refused = run_kraft_node("start", "-c", node.config)
    assert refused.returncode == 1
    assert "this disk was formatted for a quorum without such a list" in refused.stderr
    (node.directory / "data").rename(node.directory / "unused")
    for options in ((), ("--standalone",)):
        node.config.write_text(node.config.read_text().replace(listing, ""))
        with node.config.open("a") as config:
            config.write(listing if options else "")
        told = run_kraft_node("format", "-t", quorum.cluster_id, "-c", node.config, *options)
        assert told.returncode == 254
        assert (
            "the file lists the voters" if options else "nothing names the voters"
        ) in told.stderr
    done = run_kraft_node("format", "-t", quorum.cluster_id, "-c", node.config)
    assert done.returncode == 0, done.stderr
    node.config.write_text(node.config.read_text().replace(listing, ""))
    refused = run_kraft_node("start", "-c", node.config)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: nothing names the voters")
    give_back_ports(quorum.ports)


def test_a_quorum_of_one_is_formatted_without_knowing_an_id(tmp_path: Path) -> None:
    quorum = make_quorum(tmp_path, 1)
    node = quorum.nodes[1]
    (node.directory / "data").rename(node.directory / "unused")
    done = run_kraft_node(*("format", "-t", quorum.cluster_id, "-c", node.config, "--standalone"))
    assert done.returncode == 0, done.stderr
    try:
        quorum.start()
        quorum.write("alone", 1000)
        assert voters(quorum) == [(1, directory_id(node))]
    finally:
        stop_all(quorum)
        give_back_ports(quorum.ports)


def test_what_the_leader_refuses_is_told_with_its_reason(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 1) as quorum:
        node = quorum.leader()
        told = wait_until(
            lambda: change(quorum, "remove-voter", node, directory_id(node)), "an answer"
        )
        assert told.startswith("error: VOTER_NOT_FOUND (127): it is the last one")
        told = wait_until(
            lambda: change(quorum, "add-voter", node, directory_id(node)), "an answer"
        )
        assert told.startswith("error: DUPLICATE_VOTER (126): it is a voter already")


def moved(node: NodeProcess, port: int) -> int:
    """Started again with another port of its inner listener; the one that it had."""
    node.terminate()
    before, node.inner = node.inner, port
    text = node.config.read_text()
    node.config.write_text(text.replace(f"127.0.0.1:{before}", f"127.0.0.1:{port}"))
    node.start()
    return before


def is_known_where_it_is(asked: NodeProcess, node: NodeProcess) -> bool | None:
    """By the voters of the log of the one that is asked."""
    with asked.client() as client:
        told = client.send(DescribeQuorumRequest())
    assert isinstance(told, DescribeQuorumResponse)
    endpoints = dict(told.nodes)[NodeId(node.id)]
    return any(each.port == node.inner for each in endpoints) or None


def test_voters_that_moved_elect_one_another(tmp_path: Path) -> None:
    """Each tells whoever leads where it listens now (UpdateRaftVoter): without the third node the
    two are a majority only if they find each other."""
    with quorum_processes(tmp_path, 3) as quorum:
        quorum.write("r", 1000)
        stays = quorum.leader()
        rest = [node for node in quorum.nodes.values() if node is not stays]
        left = []
        for node, port in zip(rest, take_ports(len(rest)), strict=True):
            left.append(moved(node, port))
            wait_until(partial(is_known_where_it_is, stays, node), f"node {node.id} is found")
        give_back_ports(left)
        quorum.write("r", 2000)  # so all before it is committed
        stays.kill()
        quorum.write("r", 3000)
        assert quorum.read("r") == "3000"
