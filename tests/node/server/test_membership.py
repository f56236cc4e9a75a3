"""Voters come and go by `kraft-node quorum`, on real processes and disks."""

import json
from pathlib import Path

from node.ids import uuid_text
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    give_back_ports,
    make_quorum,
    quorum_processes,
    run_kraft_node,
    stop_all,
    wait_until,
)


def directory_id(node: NodeProcess) -> str:
    lines = (node.directory / "data" / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["directory.id"]


def change(quorum: QuorumProcesses, action: str, node: NodeProcess, directory: str) -> "str | None":
    """Whoever is asked for it; None while it has to be asked again."""
    asked = ",".join(f"127.0.0.1:{each.outer}" for each in quorum.running())
    by_address = ["--endpoint", f"CONTROLLER://127.0.0.1:{node.inner}"]
    done = run_kraft_node(
        *("quorum", "--bootstrap", asked, action, "--json"),
        *("--replica-id", str(node.id), "--replica-uuid", directory),
        *(by_address if action == "add-voter" else ()),
    )
    again = ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "INVALID_REQUEST", "no leader said")
    if done.returncode and any(each in done.stderr for each in again):
        return None
    return done.stdout or done.stderr


def changed(quorum: QuorumProcesses, action: str, node: NodeProcess, directory: str) -> None:
    """It is done, or was done by an attempt whose answer was lost."""
    told = wait_until(lambda: change(quorum, action, node, directory), f"{action} {node.id}")
    if "DUPLICATE_VOTER" in told or "VOTER_NOT_FOUND" in told:
        return
    done = "added" if action == "add-voter" else "removed"
    assert json.loads(told) == {"id": node.id, "directoryId": directory, "done": done}


def voters(quorum: QuorumProcesses) -> list[tuple[int, str]]:
    found = quorum.leadership()
    return [(each.key.id, uuid_text(each.key.directory)) for each in found.voters]


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
