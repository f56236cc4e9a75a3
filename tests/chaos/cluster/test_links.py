"""The links of the proxy, against a server that keeps toxics as toxiproxy does, or hangs."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, cast

import pytest

from chaos.cluster.docker import proxy_links as module
from chaos.cluster.docker.proxy_links import ProxyLinks
from chaos.cluster.docker.toxiproxy_api import ToxiproxyApi
from chaos.cluster.interface import Address, Link, NodeId
from tests.chaos.cluster.test_topology import topology

if TYPE_CHECKING:
    from chaos.cluster.docker.agent import Agent

THERE, BACK = Link(NodeId(1), NodeId(2)), Link(NodeId(2), NodeId(1))
STOPPED_THERE = {("link-1-2", "upstream"), ("link-2-1", "downstream")}
STOPPED_BACK = {("link-2-1", "upstream"), ("link-1-2", "downstream")}
DOUBLE = {("link-1-2", "upstream"), ("link-1-2-9302", "upstream"), ("link-2-1", "downstream")}
NAMES = [f"link-{a}-{b}" for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
SECOND = ("link-1-2-9302", "link-3-2-9302")  # of a node 2 with two inner ports
EVERYWHERE = {(name, stream) for name in NAMES for stream in ("upstream", "downstream")}


class Toxics(ThreadingHTTPServer):
    """`hang_on` is the method and path of the one request that is never answered."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.proxies: dict[str, dict[str, dict[str, str]]] = {
            name: {} for name in (*NAMES, *SECOND)
        }
        self.hang_on: tuple[str, str] | None = None
        self.let_go = threading.Event()

    @property
    def stopped(self) -> set[tuple[str, str]]:
        return self.of("timeout")

    def of(self, kind: str) -> set[tuple[str, str]]:
        """Where the toxics of a kind are."""
        return {
            (name, toxic["stream"])
            for name, toxics in self.proxies.items()
            for toxic in toxics.values()
            if toxic["type"] == kind
        }

    def act(self, method: str, path: str, body: object) -> object:
        match method, path.strip("/").split("/"):
            case "GET", ["metrics"]:
                return {}
            case "GET", ["proxies"]:
                return {
                    name: {"toxics": list(toxics.values())} for name, toxics in self.proxies.items()
                }
            case "POST", ["populate"] if isinstance(body, list):
                self.proxies |= {entry["name"]: {} for entry in body}
            case "DELETE", ["proxies", name]:
                del self.proxies[name]
            case "POST", ["proxies", name, "toxics"] if isinstance(body, dict):
                self.proxies[name][body["name"]] = body
            case "DELETE", ["proxies", name, "toxics", toxic]:
                self.proxies[name].pop(toxic, None)
            case other:
                raise AssertionError(f"nobody should ask for {other}")
        return {}


class Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        server = self.server
        assert isinstance(server, Toxics)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        if (self.command, self.path) == server.hang_on:
            server.hang_on = None
            server.let_go.wait(60)
            return
        said = json.dumps(server.act(self.command, self.path, body)).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_DELETE = answer  # noqa: N815 - names that the library looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Quietly."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Toxics]:
    monkeypatch.setattr(module, "SETTLED_AFTER_S", 0.0)
    with Toxics() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.let_go.set()
        made.shutdown()
        thread.join()


def api(server: Toxics) -> ToxiproxyApi:
    return ToxiproxyApi(Address("127.0.0.1", server.server_port), timeout_s=2.0)


@pytest.fixture
def links(server: Toxics) -> ProxyLinks:
    return ProxyLinks(api(server), topology(), None)


def test_a_link_is_stopped_on_both_of_its_paths(links: ProxyLinks, server: Toxics) -> None:
    links.cut([THERE])
    assert server.stopped == STOPPED_THERE
    links.cut([BACK])
    assert server.stopped == STOPPED_THERE | STOPPED_BACK
    links.heal([THERE], {})
    assert server.stopped == STOPPED_BACK
    links.heal([BACK], {})
    assert server.stopped == set()


def test_a_slow_link_is_not_a_stopped_one(links: ProxyLinks, server: Toxics) -> None:
    links.slow(80)
    assert server.of("latency") == EVERYWHERE
    assert links._api.swallowed() == frozenset()
    links.cut([THERE])
    assert {(name, str(stream)) for name, stream in links._api.swallowed()} == STOPPED_THERE
    links.heal([THERE], {})
    assert not links.quicken({}).bit
    assert server.of("latency") == server.stopped == set()


def test_a_proxy_made_anew_is_as_slow_as_before(links: ProxyLinks, server: Toxics) -> None:
    links.slow(80)
    links.cut([THERE])
    server.hang_on = ("DELETE", "/proxies/link-1-2/toxics/cut-upstream")
    links.heal([THERE], {})
    assert server.of("latency") == EVERYWHERE
    assert server.stopped == set()


def test_without_a_byte_swallowed_there_is_no_evidence(links: ProxyLinks, server: Toxics) -> None:
    links.cut([THERE, BACK])
    assert server.stopped == STOPPED_THERE | STOPPED_BACK
    evidence = links.heal([THERE, BACK], {})
    assert [seen.bit for seen in evidence.values()] == [False, False]
    assert links.heal([THERE, BACK], {}) == {}


@pytest.mark.parametrize("where", ["link-1-2", "link-2-1"])
@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_a_heal_through_a_hanging_proxy_lets_everything_pass(
    links: ProxyLinks, server: Toxics, where: str, stream: str
) -> None:
    """What is made anew must not bring back the toxics that were removed before it hung."""
    links.cut([THERE, BACK])
    server.hang_on = ("DELETE", f"/proxies/{where}/toxics/cut-{stream}")
    links.heal([THERE, BACK], {})
    assert server.hang_on is None
    assert server.stopped == set()


@pytest.mark.parametrize("where", ["link-1-2", "link-2-1"])
def test_a_cut_through_a_hanging_proxy_keeps_what_was_cut(
    links: ProxyLinks, server: Toxics, where: str
) -> None:
    links.cut([THERE])
    server.hang_on = ("POST", f"/proxies/{where}/toxics")
    links.cut([BACK])
    assert server.hang_on is None
    assert server.stopped == STOPPED_THERE | STOPPED_BACK


def test_a_link_with_two_proxies_is_stopped_and_slowed_on_both(server: Toxics) -> None:
    made = replace(topology(), inner={NodeId(2): (9102, 9302)})
    links = ProxyLinks(api(server), made, None)
    links.cut([THERE])
    assert server.stopped == DOUBLE
    links.heal([THERE], {})
    assert server.stopped == set()
    links.slow(80)
    both_ways = {(name, stream) for name in SECOND for stream in ("upstream", "downstream")}
    assert server.of("latency") == EVERYWHERE | both_ways
    links.quicken({})
    assert server.of("latency") == set()


def test_a_second_proxy_that_hangs_is_made_anew_in_its_place(server: Toxics) -> None:
    made = replace(topology(), inner={NodeId(2): (9102, 9302)})
    links = ProxyLinks(api(server), made, None)
    server.hang_on = ("POST", "/proxies/link-1-2-9302/toxics")
    links.cut([THERE])
    assert server.hang_on is None
    assert server.stopped == DOUBLE


class Remembering:
    """An agent that remembers words, and whose probes take long."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def call(self, operation: str, **words: str) -> dict[str, str]:
        if operation == "remember":
            self.words[words["key"]] = words["value"]
            return {}
        assert operation == "recall"
        found = self.words.items()
        return {key: word for key, word in found if word and key.startswith(words["prefix"])}

    def each(self, operation: str, probes: list[object]) -> list[float]:
        assert operation == "knock_ms"
        return [210.0] * len(probes)


def test_how_slow_links_are_is_known_to_a_process_that_attaches_later(server: Toxics) -> None:
    """`heal` is another process than `inject`."""
    agent = Remembering()
    pids = {NodeId(1): 11, NodeId(2): 12}
    ProxyLinks(api(server), topology(), cast("Agent", agent)).slow(100)
    later = ProxyLinks(api(server), topology(), cast("Agent", agent))
    evidence = later.quicken(pids)
    assert evidence.bit, evidence.what
    assert server.of("latency") == set()
    unhurt = ProxyLinks(api(server), topology(), cast("Agent", agent))
    assert not unhurt.quicken(pids).bit
