"""Real nodes whose connections are all held by clients that never rest: voters reach each other."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from node.server.framing import with_size
from node.wire import encode_request
from node.wire.api_versions import ApiVersionsRequest
from tests.node.server.scripted import frame_from
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    quorum_processes,
    wait_until,
)

pytestmark = pytest.mark.slow

CONNECTIONS = 12
CLIENTS = 2 * CONNECTIONS  # to each node: each that gets in puts another one out
PAUSE_S = 0.05  # between two requests of a client, who is silent for less time than any voter
LIMIT = f"max.connections={CONNECTIONS}\n"
# Nobody gives up a connection because this machine keeps it waiting.
PATIENT = """\
controller.quorum.fetch.timeout.ms=60000
controller.quorum.request.timeout.ms=60000
"""
ESTABLISHED = "01"


class Crowd:
    """Clients in a thread of their own; they come back whenever they are hung up on."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._end = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self.answers = self.hang_ups = 0

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._come())

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)

    async def _come(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            come = [tasks.create_task(self._stay(p)) for p in self._ports for _ in range(CLIENTS)]
            await self._end.wait()
            for each in come:
                each.cancel()

    async def _stay(self, port: int) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._ask_on_and_on(port)
            self.hang_ups += 1
            await asyncio.sleep(PAUSE_S)

    async def _ask_on_and_on(self, port: int) -> None:
        _, frame = encode_request(ApiVersionsRequest(), correlation_id=1, client_id="crowd")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while True:
                writer.write(with_size(frame))
                await frame_from(reader)
                self.answers += 1
                await asyncio.sleep(PAUSE_S)
        finally:
            writer.transport.abort()


@contextmanager
def crowd(quorum: QuorumProcesses) -> Iterator[Crowd]:
    """At the outer listeners, once all connections there are have been fought for."""
    there = Crowd([node.outer for node in quorum.nodes.values()])
    thread = threading.Thread(target=there.run)
    thread.start()
    try:
        wait_until(lambda: there.hang_ups > 10 * CLIENTS or None, "clients put each other out")
        yield there
    finally:
        there.leave()
        thread.join()


def of_voters(node: NodeProcess) -> set[str]:
    """Who is connected to its inner listener."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    here = f"0100007F:{node.inner:04X}"
    return {row[2] for row in rows if row[1] == here and row[3] == ESTABLISHED}


def both_voters(leader: NodeProcess) -> set[str] | None:
    found = of_voters(leader)
    return found if len(found) == 2 else None


def held_sockets(node: NodeProcess) -> int:
    assert node.process is not None
    count = 0
    for each in Path(f"/proc/{node.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            count += "socket:" in str(each.readlink())
    return count


def test_no_client_puts_a_voter_out(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 3, LIMIT + PATIENT) as quorum:
        quorum.write("r", 1000)
        leader = quorum.leader()
        idle = held_sockets(leader)
        before = wait_until(lambda: both_voters(leader), "both followers are connected")
        with crowd(quorum) as there:
            told, put_out = there.answers, there.hang_ups
            wait_until(lambda: there.hang_ups > put_out + 10 * CLIENTS or None, "more are put out")
            assert there.answers > told
            assert of_voters(leader) == before
            assert held_sockets(leader) <= idle + CONNECTIONS


def test_a_leader_is_lost_and_replaced_among_them(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 3, LIMIT) as quorum:
        with crowd(quorum) as there:
            quorum.write("r", 1000)
            dead = quorum.leader()
            dead.kill()
            quorum.write("r", 2000)
            dead.start()
            dead.client().close()
            quorum.write("r", 3000)
            assert quorum.read("r") == "3000"
            assert there.answers > 0
        assert quorum.read("r") == "3000"
