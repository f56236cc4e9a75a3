"""Servers of tests on virtual time: what a time-out decides, no busy machine decides instead.

A fake node listens where the loop that runs it lets it: on the simulator's network within
`in_virtual_time`, and on a loopback socket where real time is asked for (`asyncio.run`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from chaos.cluster.interface import NodeId
from chaos.cluster.sim.loop import START_S, VirtualLoop, run
from chaos.cluster.sim.network import Network
from chaos.cluster.topology import OUTER_PORT, client_port
from tests.support.ports import give_back_ports, take_ports

T = TypeVar("T")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_START_NS = int(START_S * 1e9)
_BEGAN_NS = 1_767_225_600 * 1_000_000_000  # 2026-01-01, UTC
NODES = tuple(map(NodeId, range(1, 8)))  # that may listen


class Listener(Protocol):
    """Accepts connections until it is closed."""

    def close(self) -> None: ...


def in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, where time is a number and connections are the simulator's."""
    loop = VirtualLoop()
    loop.internet = Network(loop, NODES, seed=1)
    return run(main, loop)


class LoopClock:
    """`chaos.recorder.Clock` over virtual time, as the machine's clock is over its own: what the
    loop calls the time is the monotonic clock."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._loop = loop
        self.started_mono_ns = loop.elapsed_ns + _START_NS

    def now_ns(self) -> int:
        return self._loop.elapsed_ns + _START_NS - self.started_mono_ns

    def wall_ns(self) -> int:
        return _BEGAN_NS + self._loop.elapsed_ns


def take_port(node: int) -> int:
    """Where clients dial this node, at 127.0.0.1, from now until it is given back."""
    return take_ports(1)[0] if _network() is None else client_port(NodeId(node))


def give_back_port(port: int) -> None:
    if _network() is None:
        give_back_ports([port])


async def listen(node: int, port: int, serve: Serve) -> Listener:
    """Each connection to this node, at the port that was taken for it, is served."""
    network = _network()
    if network is None:
        return await asyncio.start_server(serve, "127.0.0.1", port)
    return _VirtualListener(network, NodeId(node), serve)


class _VirtualListener:
    def __init__(self, network: Network, node: NodeId, serve: Serve) -> None:
        def accept() -> asyncio.Protocol:
            return asyncio.StreamReaderProtocol(asyncio.StreamReader(), serve)

        self._network, self._node = network, node
        network.listen(node, OUTER_PORT, accept, lambda callback: callback())

    def close(self) -> None:
        """As of a process that is gone: its connections are reset."""
        self._network.leave(self._node)


def _network() -> Network | None:
    """That of the loop that runs this; None where it is the machine's."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        return None
    assert isinstance(loop.internet, Network)
    return loop.internet
