"""The listening sockets, and the descriptors for connections.

One connection is accepted at a time, and only if there is room for it: a process without
descriptors can neither save a vote nor dial a voter. asyncio's own servers accept a whole backlog
without asking.
"""

import asyncio
import errno
import resource
import socket
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from node.ids import Endpoint
from node.server.framing import keep_alive
from node.server.tcp import Connections

BACKLOG = 128
# Descriptors kept from connections: for stdin, stdout and stderr, the loop, the lock, listeners,
# the links to voters, resolvers, scrapes of metrics, and the few files that are replaced. The log's
# files are not in it.
RESERVED_DESCRIPTORS = 48
# How long to leave the backlog alone after an accept that failed; asyncio waits as long.
ACCEPT_PAUSE_S = 1.0


def take_all_descriptors() -> None:
    """Raise the limit to the hard limit, as a JVM does for Kafka."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def descriptors_beside(files: int) -> int:
    """The descriptors left for connections, if the log holds that many files open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft - RESERVED_DESCRIPTORS - files


def bind(endpoint: Endpoint, *, is_open: bool = True) -> list[socket.socket]:
    """A socket for each address of the host; it listens, or only holds the address. Raises
    OSError.
    """
    found = socket.getaddrinfo(
        endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    addresses = dict.fromkeys((family, address) for family, _, _, _, address in found)
    listening = []
    for family, address in addresses:
        if is_open:
            listening.append(socket.create_server(address, family=family, backlog=BACKLOG))
        else:
            listening.append(_bound(family, address))
        listening[-1].setblocking(False)
    return listening


def _bound(family: int, address: Any) -> socket.socket:
    """As `socket.create_server`, without listening."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


async def accept_from(
    listening: socket.socket, name: str, connections: Connections, descriptors: Callable[[], int]
) -> None:
    """Runs until cancelled."""
    async for accepted, host in accepted_from(listening, name):
        if connections.make_room(host, descriptors()):
            await _serve(accepted, name, host, connections)
        else:
            accepted.close()


async def accepted_from(
    listening: socket.socket, name: str
) -> AsyncIterator[tuple[socket.socket, str]]:
    """Each connection, and the host that it comes from; without end. An accept that fails, because
    descriptors are exhausted or the caller is gone, is no failure of the node.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            accepted, address = await loop.sock_accept(listening)
        except OSError as error:
            if error.errno != errno.ECONNABORTED:
                sys.stderr.write(f"listener {name}: cannot accept: {error.strerror}\n")
                await asyncio.sleep(ACCEPT_PAUSE_S)
            continue
        yield accepted, address[0]


async def _serve(accepted: socket.socket, name: str, host: str, connections: Connections) -> None:
    loop = asyncio.get_running_loop()
    keep_alive(accepted)
    await loop.connect_accepted_socket(lambda: connections.accept(name, host), accepted)
