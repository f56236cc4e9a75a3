"""The ways in for clients: shut for some nodes, opened again, and what was swallowed meanwhile."""

import socket
import time
from collections.abc import Sequence

from chaos.cluster.docker.metrics import Counters, Stream
from chaos.cluster.docker.toxiproxy_api import ToxiproxyApi
from chaos.cluster.fault_evidence import Passage, ShutMeasured, of_shut_out
from chaos.cluster.interface import Address, FaultEvidence, NodeId
from chaos.cluster.probe import api_versions_request
from chaos.cluster.topology import Topology

_ANSWER_WITHIN_S = 0.2  # a node answers ApiVersions within a few ms
_COUNTED_WITHIN_S = 1.0
_LOOK_S = 0.005
_MARK = api_versions_request(correlation_id=0x6B65)  # harmless, should it arrive


class Entrances:
    """Of one cluster. Nodes reach each other by other proxies, whatever happens here."""

    def __init__(self, api: ToxiproxyApi, topology: Topology) -> None:
        self._api = api
        self._topology = topology
        self._shut: dict[NodeId, Counters] = {}  # with the counters as they were then

    def close(self, nodes: Sequence[NodeId]) -> None:
        before = self._api.counters()
        for node in nodes:
            for stream in Stream:
                self._api.swallow(self._name(node), stream)
            self._shut.setdefault(node, before)

    def open(self, nodes: Sequence[NodeId]) -> dict[NodeId, FaultEvidence]:
        """Knock, then let pass again."""
        found = {}
        for node in nodes:
            if node in self._shut:
                found[node] = of_shut_out(self._measure(node))
                for stream in Stream:
                    self._api.pass_again(self._name(node), stream)
                del self._shut[node]
        return found

    def _name(self, node: NodeId) -> str:
        return self._topology.client_proxy(node).name

    def _measure(self, node: NodeId) -> ShutMeasured:
        stops = self._api.swallowed()
        bare = self._api.counters()
        answered = _knock(self._topology.bootstrap()[node])
        deadline = time.monotonic() + _COUNTED_WITHIN_S
        while (probe := self._passed(node, bare)).received < len(_MARK):  # counted as it closes
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOK_S)  # between two looks at the counters
        return ShutMeasured(
            swallowed=self._passed(node, self._shut[node]).swallowed,
            probe=probe,
            probe_bytes=len(_MARK),
            answered=answered,
            open_ways=tuple(
                stream.value for stream in Stream if (self._name(node), stream) not in stops
            ),
        )

    def _passed(self, node: NodeId, since: Counters) -> Passage:
        """Bytes from clients to the node."""
        name, now = self._name(node), self._api.counters()
        return now.of(name, Stream.UPSTREAM) - since.of(name, Stream.UPSTREAM)


def _knock(entrance: Address) -> int:
    """Send a marked request; how many bytes came back."""
    with socket.create_connection((entrance.host, entrance.port), _ANSWER_WITHIN_S) as client:
        client.settimeout(_ANSWER_WITHIN_S)
        client.sendall(_MARK)
        try:
            return len(client.recv(1 << 12))
        except TimeoutError:
            return 0
