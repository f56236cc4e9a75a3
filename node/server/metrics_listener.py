"""GET /metrics over HTTP, for Prometheus: one request a connection, few connections at once.

Scrapes are answered between turns of the node, and take a millisecond of it. What one that asks
can hold is bounded: so many connections, so many bytes of a request, so much time. Who says nothing
does not keep others from being answered: where there are too many connections, the one goes that
has been waited for longest.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from functools import partial

from node.server.listener import accepted_from

PATH = b"/metrics"
SCRAPES = 16  # at once
HEAD_BYTES = 8192
PATIENCE_S = 5.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def serve_metrics(
    listening: socket.socket, exposition: Callable[[], str], patience_s: float = PATIENCE_S
) -> None:
    """Until cancelled."""
    scrapes: dict[asyncio.Task[None], None] = {}  # oldest first

    def end(accepted: socket.socket, task: "asyncio.Task[None]") -> None:
        """Also of one that was cancelled before it began."""
        accepted.close()
        scrapes.pop(task, None)

    async for accepted, _ in accepted_from(listening, "metrics"):
        if len(scrapes) == SCRAPES:
            oldest = next(iter(scrapes))
            oldest.cancel()
            del scrapes[oldest]
        task = asyncio.create_task(_serve(accepted, exposition, patience_s))
        scrapes[task] = None
        task.add_done_callback(partial(end, accepted))


async def _serve(accepted: socket.socket, exposition: Callable[[], str], patience_s: float) -> None:
    # Whoever goes away or is too slow for an answer gets none.
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(patience_s):
            head = await _head(accepted)
            response = response_to(head, exposition)
            await asyncio.get_running_loop().sock_sendall(accepted, response)


async def _head(accepted: socket.socket) -> bytes:
    """What is there of a request's head when it ends, is too long, or no more comes."""
    head, loop = b"", asyncio.get_running_loop()
    while b"\r\n\r\n" not in head and len(head) < HEAD_BYTES:
        data = await loop.sock_recv(accepted, HEAD_BYTES - len(head))
        if not data:
            break
        head += data
    return head


def response_to(head: bytes, exposition: Callable[[], str]) -> bytes:
    """The whole answer to a request that begins so."""
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if b"\r\n\r\n" not in head or len(words) != 3 or not words[2].startswith(b"HTTP/"):
        return _response("400 Bad Request", "not a request of HTTP\n")
    method, target, _ = words
    if method not in (b"GET", b"HEAD"):
        return _response("405 Method Not Allowed", "GET /metrics\n")
    if target.split(b"?", 1)[0] != PATH:
        return _response("404 Not Found", "GET /metrics\n")
    response = _response("200 OK", exposition())
    return response if method == b"GET" else response[: response.index(b"\r\n\r\n") + 4]


def _response(status: str, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {_TEXT}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
