"""Connections to voters: each attempt ends, and is told, whatever the voter set has for a host."""

import asyncio
from typing import Any

import pytest

from node.effects import Event, PeerDisconnected
from node.ids import ChannelId, Endpoint
from node.server.peer_links import PeerLinks, TcpDial
from tests.node.server.scripted import until

CHANNEL = ChannelId(1)


@pytest.mark.parametrize("host", ["h" * 64, "a..b", "a\0b", "\ud800", "*" * 300, "127.0.0.1"])
def test_a_host_that_cannot_be_dialled_is_a_failed_connection(host: str) -> None:
    """In an old log, or in one of Apache Kafka, there may be any."""

    async def story() -> None:
        unhandled: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: unhandled.append(what))
        told: list[Event] = []
        links = PeerLinks(told.append, TcpDial(5.0))
        links.send(CHANNEL, Endpoint(name="CONTROLLER", host=host, port=1), b"vote")
        await until(lambda: told == [PeerDisconnected(channel=CHANNEL)])
        assert unhandled == []

    asyncio.run(story())
