"""The adapter over toxiproxy-python, against a server that answers as it is told."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.toxiproxy_api import HungError, Stream, ToxiproxyApi
from chaos.cluster.interface import Address
from chaos.cluster.topology import ProxyEntry


class Server(ThreadingHTTPServer):
    """Answers every request with `status`, once it is let go."""

    status = 200
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str, object]] = []
        self.let_go = threading.Event()
        self.let_go.set()


class Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        assert isinstance(self.server, Server)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, json.loads(body or "null")))
        self.server.let_go.wait(10)
        self.send_response(self.server.status)
        self.end_headers()

    do_GET = do_POST = do_DELETE = answer  # noqa: N815 - names that the library looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Quietly."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.let_go.set()
        made.shutdown()
        thread.join()


@pytest.fixture
def api(server: Server) -> ToxiproxyApi:
    return ToxiproxyApi(Address("127.0.0.1", server.server_port))


def test_a_cut_is_a_timeout_toxic_without_end(server: Server, api: ToxiproxyApi) -> None:
    api.swallow("link-1-2", Stream.UPSTREAM)
    toxic = {"name": "cut-upstream", "type": "timeout", "stream": "upstream"}
    wanted = {**toxic, "attributes": {"timeout": 0}}
    assert server.asked == [("POST", "/proxies/link-1-2/toxics", wanted)]


@pytest.mark.parametrize("status", [409, 404])
def test_what_is_so_already_is_no_error(server: Server, api: ToxiproxyApi, status: int) -> None:
    server.status = status
    if status == 409:
        api.swallow("link-1-2", Stream.UPSTREAM)
    else:
        api.pass_again("link-1-2", Stream.UPSTREAM)
    assert len(server.asked) == 1


def test_an_error_of_the_server_does_not_pass_silently(server: Server, api: ToxiproxyApi) -> None:
    server.status = 503
    with pytest.raises(ClusterError, match="503"):
        api.swallow("link-1-2", Stream.UPSTREAM)


def test_a_server_that_hangs_is_not_waited_for(server: Server) -> None:
    api = ToxiproxyApi(Address("127.0.0.1", server.server_port), timeout_s=0.1)
    server.let_go.clear()
    with pytest.raises(HungError):
        api.pass_again("link-1-2", Stream.DOWNSTREAM)


def test_a_hung_proxy_is_made_anew(server: Server, api: ToxiproxyApi) -> None:
    api.recreate(ProxyEntry(name="link-1-2", listen="a:1", upstream="b:2"))
    assert [(method, path) for method, path, _ in server.asked] == [
        ("DELETE", "/proxies/link-1-2"),
        ("POST", "/populate"),
    ]
