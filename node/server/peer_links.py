"""The connections that this node opens: one a channel, made when something is to be sent over
it.
"""

import asyncio
from typing import Protocol

from node.effects import PeerDisconnected, PeerFrameReceived
from node.ids import ChannelId, Endpoint
from node.server.framing import FrameCutter, FrameSizeRefused, keep_alive, with_size
from node.server.tcp import Feed


class Attempt(Protocol):
    """A pending connection."""

    def cancel(self) -> object: ...


class Dial(Protocol):
    """How connections are made."""

    def __call__(self, endpoint: Endpoint, link: "PeerLink") -> Attempt:
        """Begin one. It ends in `connection_made`, or in `failed` within a bounded time."""


class TcpDial:
    """Over the sockets of the running loop."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def __call__(self, endpoint: Endpoint, link: "PeerLink") -> Attempt:
        return asyncio.get_running_loop().create_task(self._connect(endpoint, link))

    async def _connect(self, endpoint: Endpoint, link: "PeerLink") -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                loop = asyncio.get_running_loop()
                transport, _ = await loop.create_connection(
                    lambda: link, endpoint.host, endpoint.port
                )
            keep_alive(transport.get_extra_info("socket"))
        except (
            OSError,
            ValueError,
        ):  # TimeoutError too, and UnicodeError for an invalid host name
            link.failed()


class PeerLinks:
    def __init__(self, feed: Feed, dial: Dial) -> None:
        self._feed = feed
        self._dial = dial
        self._links: dict[ChannelId, PeerLink] = {}

    def send(self, channel: ChannelId, endpoint: Endpoint, frame: bytes) -> None:
        """Over the present connection, or a new one. A failure is a PeerDisconnected."""
        if channel not in self._links:
            self._links[channel] = PeerLink(channel, self)
            self._links[channel].connect(endpoint, self._dial)
        self._links[channel].send(frame)

    def disconnect(self, channel: ChannelId) -> None:
        """Without an event: the node asked for it."""
        link = self._links.pop(channel, None)
        if link is not None:
            link.drop()

    def received(self, link: "PeerLink", frame: bytes) -> None:
        if self._links.get(link.channel) is link:
            self._feed(PeerFrameReceived(link.channel, frame))

    def lost(self, link: "PeerLink") -> None:
        """Only the connection in use counts; a dropped one may end at any time."""
        if self._links.get(link.channel) is link:
            del self._links[link.channel]
            self._feed(PeerDisconnected(channel=link.channel))


class PeerLink(asyncio.Protocol):
    """One connection, from the attempt to its end. Frames wait until it is made."""

    def __init__(self, channel: ChannelId, owner: PeerLinks) -> None:
        self.channel = channel
        self._owner = owner
        self._cutter = FrameCutter()
        self._waiting: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._attempt: Attempt | None = None

    def connect(self, endpoint: Endpoint, dial: Dial) -> None:
        self._attempt = dial(endpoint, self)

    def failed(self) -> None:
        """No connection could be made."""
        self._owner.lost(self)

    def send(self, frame: bytes) -> None:
        if self._transport is None:
            self._waiting.append(with_size(frame))
        else:
            self._transport.write(with_size(frame))

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self._attempt is not None:
            self._attempt.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(b"".join(self._waiting))
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        try:
            frames = self._cutter.cut(data)
        except FrameSizeRefused:
            assert self._transport is not None
            self._transport.abort()
            return
        for frame in frames:
            self._owner.received(self, frame)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self._owner.lost(self)
