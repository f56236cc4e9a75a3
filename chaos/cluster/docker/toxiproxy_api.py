"""The API of toxiproxy with its byte counters. toxiproxy-python has no time-outs and ignores 5xx.

Its server is a class attribute, so it is set anew, under a lock, before every call.
"""

import contextlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import NotFound, ProxyExists

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.fault_evidence import Passage
from chaos.cluster.interface import Address
from chaos.cluster.topology import ProxyEntry

# toxiproxy's byte counters: how much a link took in and passed on.
#
# A connection is counted when it closes, so the counters are complete once a cut is healed.


SAMPLE = re.compile(r"^toxiproxy_proxy_(received|sent)_bytes_total\{([^}]*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


class Stream(StrEnum):
    """The direction of the bytes of a connection, seen from the side that opened it."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


@dataclass(frozen=True, slots=True)
class Counters:
    """Bytes by proxy name and stream, since the server started."""

    passages: Mapping[tuple[str, Stream], Passage] = field(default_factory=dict)

    def of(self, proxy: str, stream: Stream) -> Passage:
        return self.passages.get((proxy, stream), Passage())

    def as_json(self) -> str:
        return json.dumps(
            [[proxy, stream, p.received, p.sent] for (proxy, stream), p in self.passages.items()]
        )

    @classmethod
    def from_json(cls, text: str) -> "Counters":
        rows = json.loads(text)
        return cls({(name, Stream(stream)): Passage(*both) for name, stream, *both in rows})


def parse(text: str) -> Counters:
    """Parse Prometheus' text form; other metrics are skipped."""
    sums: dict[tuple[str, Stream], list[int]] = {}
    for what, labels, value in SAMPLE.findall(text):
        by_name = dict(LABEL.findall(labels))
        both = sums.setdefault((by_name["proxy"], Stream(by_name["direction"])), [0, 0])
        both[what == "sent"] += int(float(value))
    return Counters({key: Passage(*both) for key, both in sums.items()})


TIMEOUT_S = 3.0
DIRECT = {"http": None, "all": None}  # whatever HTTP_PROXY says: the server is on this machine
SWALLOW = "timeout"  # the type of the toxic that lets nothing pass; others only delay
_SERVER = threading.Lock()


class HungError(ClusterError):
    """The server did not answer in time (upstream: a toxic removed under load)."""


class ToxiproxyApi:
    """The calls to the server that links need; every answer is checked."""

    def __init__(self, server: Address, timeout_s: float = TIMEOUT_S) -> None:
        self.server = server
        self._timeout_s = timeout_s

    def populate(self, entries: Sequence[ProxyEntry]) -> None:
        body = [
            {"name": e.name, "listen": e.listen, "upstream": e.upstream, "enabled": True}
            for e in entries
        ]
        self._ask("post", "/populate", body)

    def recreate(self, entry: ProxyEntry) -> None:
        """A new proxy in place of one with a hanging API."""
        with contextlib.suppress(NotFound):
            self._ask("delete", f"/proxies/{entry.name}")
        self.populate([entry])

    def swallow(self, proxy: str, stream: Stream) -> None:
        """Let nothing pass in one direction: the connections are held, their bytes dropped."""
        self._add(proxy, stream, "cut", {"type": SWALLOW, "attributes": {"timeout": 0}})

    def pass_again(self, proxy: str, stream: Stream) -> None:
        """Remove the toxic; the connections that it held are closed."""
        self._remove(proxy, stream, "cut")

    def delay(self, proxy: str, stream: Stream, latency_ms: int) -> None:
        """Delay every byte of one direction by this time."""
        self._add(proxy, stream, "slow", {"type": "latency", "attributes": {"latency": latency_ms}})

    def hurry(self, proxy: str, stream: Stream) -> None:
        self._remove(proxy, stream, "slow")

    def swallowed(self) -> frozenset[tuple[str, Stream]]:
        """The stopped directions of proxies, by the server's own report."""
        proxies = json.loads(self._ask("get", "/proxies"))
        return frozenset(
            (name, Stream(toxic["stream"]))
            for name, proxy in proxies.items()
            for toxic in proxy["toxics"]
            if toxic["type"] == SWALLOW
        )

    def counters(self) -> Counters:
        return parse(self._ask("get", "/metrics"))

    def answers(self) -> bool:
        try:
            self._ask("get", "/version")
        except (ClusterError, requests.ConnectionError):
            return False
        return True

    def _add(self, proxy: str, stream: Stream, what: str, how: Mapping[str, object]) -> None:
        toxic = {"name": f"{what}-{stream}", "stream": stream, **how}
        with contextlib.suppress(ProxyExists):  # it is there already
            self._ask("post", f"/proxies/{proxy}/toxics", toxic)

    def _remove(self, proxy: str, stream: Stream, what: str) -> None:
        with contextlib.suppress(NotFound):  # it is gone already
            self._ask("delete", f"/proxies/{proxy}/toxics/{what}-{stream}")

    def _ask(self, method: str, path: str, body: object = None) -> str:
        keywords: Mapping[str, object] = {"timeout": self._timeout_s, "proxies": DIRECT}
        if body is not None:
            keywords = {**keywords, "json": body}
        with _SERVER:
            APIConsumer.host, APIConsumer.port = self.server.host, self.server.port
            try:
                response = getattr(APIConsumer, method)(path, **keywords)
            except requests.Timeout as error:
                raise HungError(f"toxiproxy did not answer {method} {path}") from error
        if not response.ok:
            raise ClusterError(
                f"toxiproxy answered {method} {path} with {response.status_code}: {response.text}"
            )
        return str(response.text)
