"""Once its codecs are loaded a node imports nothing: by then there may be no descriptors for it."""

import asyncio
import subprocess
import sys

from node.ids import Endpoint
from node.server import run
from node.server.peer_links import PeerLinks, TcpDial
from node.wire import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    load_codecs,
)
from node.wire.apis import APIS, BY_REQUEST
from node.wire.frames import RequestHeader
from tests.node.server.scripted import CHANNEL, INNER, ask, until, world
from tests.node.wire.sample_requests import REQUESTS
from tests.node.wire.sample_responses import RESPONSES
from tests.support.quorum_processes import ROOT


def test_nothing_is_imported_late() -> None:
    code = "from tests.node.server.test_late_imports import show; show()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr + done.stdout


def test_what_is_imported_at_the_start_is_collected_no_more_and_all_else_is() -> None:
    """A collector that stays off would be a node that grows until it has no memory."""
    told = "print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    code = f"import gc; from node.server import cli; cli.main = lambda: {told}; "
    code += "from node.server.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr + done.stdout


def show() -> None:
    """Print what is imported while everything is served that can be; then that it was."""
    assert run.__name__ in sys.modules
    for _ in load_codecs(APIS):
        pass
    before = set(sys.modules)
    _serve_every_version()
    asyncio.run(_dial_by_name())
    for name in sorted(set(sys.modules) - before):
        print("imported late:", name)
    print("served")


def _serve_every_version() -> None:
    for request in REQUESTS:
        api = BY_REQUEST[type(request)]
        for version in range(api.min_version, api.max_version + 1):
            decode_request(
                encode_request(request, correlation_id=1, client_id="c", version=version)[1]
            )
    for api in APIS:
        for version in range(api.min_version, api.max_version + 1):
            for response in RESPONSES[api.key]:
                header = RequestHeader(
                    api_key=api.key, api_version=version, correlation_id=1, client_id="c"
                )
                decode_response(header, encode_response(header, response))


async def _dial_by_name() -> None:
    """A voter is called by its name; that nobody serves there is told."""
    async with world() as at:
        told: list[object] = []
        there = Endpoint(name=INNER, host="localhost", port=at.inner_port)
        gone = Endpoint(name=INNER, host="localhost", port=1)
        peers = PeerLinks(told.append, TcpDial(5.0))
        peers.send(CHANNEL, there, b"echo")
        PeerLinks(told.append, TcpDial(5.0)).send(CHANNEL, gone, b"echo")
        await until(lambda: len(told) == 2)
        assert await ask(at, b"vote") == b"granted"
        peers.disconnect(CHANNEL)
