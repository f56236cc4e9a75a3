"""Who is gone without a farewell is found out, be it idle or owed an answer."""

import asyncio
import ctypes
import fcntl
import socket
import struct
import subprocess
import sys
from contextlib import closing

import pytest

from node.ids import Endpoint
from node.server import framing
from node.server.framing import with_size
from node.server.peer_links import PeerLinks, TcpDial
from tests.node.server.scripted import CHANNEL, INNER, frame_from, until, world
from tests.support.quorum_processes import ROOT

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
NOT_HERE = 77  # the exit code where no network can be had to break


def options(connection: socket.socket) -> dict[str, int]:
    tcp = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
    found = {name: connection.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in tcp}
    return found | {"SO_KEEPALIVE": connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)}


WANTED = {
    "SO_KEEPALIVE": 1,
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 90_000,
}


def test_connections_are_probed_whoever_opened_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both those that were accepted, of either listener, and those to voters."""
    seen: list[socket.socket] = []

    def watched(connection: socket.socket) -> None:
        framing.keep_alive(connection)
        seen.append(connection)

    monkeypatch.setattr("node.server.listener.keep_alive", watched)
    monkeypatch.setattr("node.server.peer_links.keep_alive", watched)

    async def story() -> None:
        async with world() as at:
            for inner in (False, True):
                reader, writer = await at.connect(inner=inner)
                writer.write(with_size(b"echo"))
                assert await frame_from(reader) == b"echo"
            there = Endpoint(name=INNER, host="127.0.0.1", port=at.inner_port)
            peers = PeerLinks(lambda _: None, TcpDial(60.0))
            peers.send(CHANNEL, there, b"echo")
            await until(lambda: len(seen) == 4)
            assert [options(each) for each in seen] == [WANTED] * 4
            peers.disconnect(CHANNEL)

    asyncio.run(story())


# --- connections of which one end is gone, in a network of its own ---


def break_the_network() -> None:
    """The loopback is down: whatever is sent is lost, and nobody is told."""
    with closing(socket.socket()) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH", b"lo", 0))


def make_a_network() -> bool:
    """This process alone in it; false where that is not allowed."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return False
    with closing(socket.socket()) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH", b"lo", IFF_UP))
    return True


async def half_open(*, owed: bool) -> None:
    """A client and a voter, who both vanish; the client while an answer is on its way or not."""
    async with world() as at:
        for inner in (False, True):
            reader, writer = await at.connect(inner=inner)
            writer.write(with_size(b"echo"))
            assert await frame_from(reader) == b"echo"
        writer.write(with_size(b"silence"))
        await until(lambda: len(at.core.waiting) == 1)
        break_the_network()
        if owed:
            at.connections.send_frame(at.core.waiting[0], b"never arrives")
        began_at = len(at.connections)
        await until(lambda: len(at.connections) == 0)
        print("reaped", began_at)


def show(how: str) -> None:
    """In a process of its own. It is the kernel's work; here only its times are shorter."""
    if not make_a_network():
        sys.exit(NOT_HERE)
    framing.IDLE_S, framing.INTERVAL_S, framing.PROBES = 1, 1, 2
    asyncio.run(half_open(owed=how == "owed"))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["idle", "owed"])
def test_who_vanishes_is_hung_up_on(how: str) -> None:
    code = f"from tests.node.server.test_keepalive import show; show({how!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == NOT_HERE:
        # A container may not. What the options are is asserted above, on any machine.
        pytest.skip("not allowed to make a network namespace")
    assert (done.returncode, done.stdout) == (0, "reaped 2\n"), done.stderr
