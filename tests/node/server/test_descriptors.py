"""Real nodes whose descriptors are all taken by clients: they vote, lead and serve all the same."""

import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from node.ids import LogId
from node.server.listener import RESERVED_DESCRIPTORS
from node.server.real_disk import RealDisk
from node.storage.log_directories import PartitionLogs
from node.wire import unreleased
from node.wire.api import Side, kio_class
from node.wire.apis import APIS
from tests.support.quorum_processes import (
    ROOT,
    NodeProcess,
    QuorumProcesses,
    get_interval,
    kraft_node,
    make_quorum,
    quorum_processes,
    run_kraft_node,
    wait_until,
)
from tests.support.segments import by_size, new_log

pytestmark = pytest.mark.slow

FILES = RESERVED_DESCRIPTORS + 16
IDLE_CLIENTS = 2 * FILES


def few_files(node: NodeProcess) -> None:
    assert node.process is not None
    resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))


@contextmanager
def idle_clients(ports: list[int]) -> Iterator[None]:
    """As many on each port as the node has descriptors, and as many again."""
    with ExitStack() as held:
        for port in ports:
            for _ in range(IDLE_CLIENTS):
                held.enter_context(closing(socket.create_connection(("127.0.0.1", port), 10)))
        yield


def open_files(node: NodeProcess) -> int:
    assert node.process is not None
    return len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))


@pytest.mark.parametrize("flooded", ["outer", "inner"])
def test_a_quorum_whose_descriptors_are_taken(tmp_path: Path, flooded: str) -> None:
    with quorum_processes(tmp_path, 3) as quorum:
        for node in quorum.nodes.values():
            few_files(node)
        ports = [getattr(node, flooded) for node in quorum.nodes.values()]
        with idle_clients(ports):
            quorum.write("under flood", 1000)
            _lose_the_leader(quorum)
            assert quorum.read("under flood") == "1000"
            for node in quorum.nodes.values():
                assert open_files(node) < FILES
                with node.client() as client:
                    get_interval(client, "under flood")
        for node in quorum.nodes.values():
            assert "cannot accept" not in node.errors
            assert "descriptor" not in node.errors


SIDES: tuple[Side, Side] = ("request", "response")
CODECS = {
    kio_class(api.package, api.name, version, side).__module__
    for api in APIS
    for version in range(api.min_version, api.max_version + 1)
    for side in SIDES
} - {unreleased.__name__}  # no module of kio's


def imported(node: NodeProcess) -> set[str]:
    """So far, as Python tells where it was asked to (PYTHONPROFILEIMPORTTIME)."""
    assert node.process is not None
    assert node.process.poll() is None, node.errors
    return {line.rpartition("|")[2].strip() for line in node.errors.splitlines()}


def test_codecs_are_loaded_by_a_node_whose_descriptors_are_taken_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By clients that are there before the first of them is loaded, and say nothing."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with quorum_processes(tmp_path, 1) as quorum:
        (node,) = quorum.nodes.values()
        few_files(node)
        with idle_clients([node.outer, node.inner]):
            assert not imported(node) >= CODECS, "the flood came late"
            wait_until(lambda: imported(node) >= CODECS or None, "every codec is loaded")
            quorum.write("under flood", 1000)
            assert quorum.read("under flood") == "1000"
        assert "descriptor" not in node.errors


def _lose_the_leader(quorum: QuorumProcesses) -> None:
    """The others vote; the one that comes back is answered by a leader that is flooded as well."""
    dead = quorum.leader()
    dead.kill()
    quorum.write("without it", 2000)
    dead.start()
    few_files(dead)
    dead.client().close()
    quorum.write("with it", 3000)


def start_with_descriptors(config: Path, count: int) -> "subprocess.CompletedProcess[str]":
    """A node that is expected to refuse."""
    limited = ["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh"]
    return subprocess.run(
        [*limited, *kraft_node("start", "-c", config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_too_few_descriptors_are_refused_at_start(tmp_path: Path) -> None:
    node = make_quorum(tmp_path, 1).nodes[1]
    done = start_with_descriptors(node.config, RESERVED_DESCRIPTORS)
    assert done.returncode == 1
    assert "file descriptors too few" in done.stderr
    assert "ulimit -n" in done.stderr


def test_logs_of_replicas_count_as_well(tmp_path: Path) -> None:
    """Of a broker: there would be enough beside the metadata log."""
    count, config = 20, tmp_path / "broker.properties"
    config.write_text(
        f"process.roles=broker\nnode.id=4\nlog.dirs={tmp_path / 'data'}\n"
        "listeners=INT://127.0.0.1:9\ncontroller.listener.names=CONTROLLER\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:9\n"
    )
    done = run_kraft_node("format", "-t", "kraft-chaos", "-c", config, "--no-initial-controllers")
    assert done.returncode == 0, done.stderr
    logs = PartitionLogs.open(RealDisk(tmp_path / "data"), by_size(1 << 20))
    logs.create([new_log(LogId(f"topic-{number}"), UUID(int=7)) for number in range(count)])
    for log in logs.values():
        log.close()
    done = start_with_descriptors(config, RESERVED_DESCRIPTORS + count)
    assert done.returncode == 1
    assert "there are 2 file descriptors too few" in done.stderr
