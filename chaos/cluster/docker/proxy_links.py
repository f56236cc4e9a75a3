"""The proxies of a cluster: directed links between nodes, and the links by which clients enter.

`cut(i->j)` means that no byte from i reaches j. Bytes of i travel on two links' proxies: upstream
on those of i->j (connections that i opened), and downstream on those of j->i (answers to
connections of j). A link has as many proxies as its destination has inner ports. `assembly` makes
them when a cluster is created, as `chaos.cluster.topology.Topology.proxies` says.
"""

import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.toxiproxy_api import Counters, HungError, Stream, ToxiproxyApi
from chaos.cluster.fault_evidence import (
    CutMeasured,
    Passage,
    Probe,
    ShutMeasured,
    of_cut,
    of_shut_out,
    of_slow_links,
)
from chaos.cluster.interface import Address, FaultEvidence, Link, NodeId
from chaos.cluster.probe import api_versions_request
from chaos.cluster.topology import ProxyEntry, Topology

# Client links: shut for some nodes and opened again, with evidence of what was swallowed.


_ANSWER_WITHIN_S = 0.2  # a node answers ApiVersions within a few ms
_COUNTED_WITHIN_S = 1.0
_LOOK_S = 0.005
_MARK = api_versions_request(correlation_id=0x6B65)  # harmless if it arrives


class Entrances:
    """The client links of one cluster. Nodes reach each other by other proxies."""

    def __init__(self, api: ToxiproxyApi, topology: Topology) -> None:
        self._api = api
        self._topology = topology
        self._shut: dict[NodeId, Counters] = {}  # with the counters of that moment

    def close(self, nodes: Sequence[NodeId]) -> None:
        before = self._api.counters()
        for node in nodes:
            for stream in Stream:
                self._api.swallow(self._name(node), stream)
            self._shut.setdefault(node, before)

    def open(self, nodes: Sequence[NodeId]) -> dict[NodeId, FaultEvidence]:
        """Probe, then let pass again."""
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


KNOCK_WAIT_S = 0.1  # a node answers ApiVersions within a few ms
SETTLE_WITHIN_S = 1.0
SETTLED_AFTER_S = 0.02  # without a change
FURTHER_LOOKS = 2  # a connection that breaks beside a probe can hide its outcome
MEMORY = "cut "
LATENCY = "latency"
MARK = api_versions_request(correlation_id=0x6B63)  # harmless if it arrives


Where = tuple[str, Stream]  # a direction of a proxy
Marked = tuple[Link, int]  # a probe: along which link, and to which of its ports


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The checks before a heal, in their order: `bare`, probes, `probed`.

    `first` is the `bare` of the first check, if more than one was needed.
    """

    first: Counters
    bare: Counters
    answered: Mapping[Marked, int]  # bytes that came back to the probes that could be sent
    probed: Counters
    stopped: frozenset[Where]  # by the proxy's own report


class ProxyLinks:
    """All links of one cluster. The agent remembers which are cut, and how slow all are, for a
    process that attaches later."""

    def __init__(self, api: ToxiproxyApi, topology: Topology, agent: Agent | None) -> None:
        self._api = api
        self._topology = topology
        self._agent = agent
        self._cut = _recall(agent) if agent else {}
        self._stopped = {
            (proxy.name, stream) for link in self._cut for proxy, stream in self._paths(link)
        }
        self._latency_ms = _recall_latency(agent) if agent else 0

    def cut(self, links: Sequence[Link]) -> None:
        new = [link for link in links if link not in self._cut]
        if not new:
            return
        before = self._api.counters()
        for link in new:
            for proxy, stream in self._paths(link):
                self._guarded(proxy, stream, cut=True)
            self._remember(link, before)

    def heal(
        self,
        links: Sequence[Link],
        pids: Mapping[NodeId, int],
        off: Collection[NodeId] = frozenset(),
    ) -> dict[Link, FaultEvidence]:
        """Probe, let pass, and compare the counters. `pids`: the processes to probe from; `off`:
        nodes without a process, to which nothing can be sent."""
        cut = [link for link in links if link in self._cut]
        if not cut:
            return {}
        bare = self._api.counters()
        seen = self._look(cut, pids, off, bare)
        alive = [link for link in cut if not {link.source, link.destination} & set(off)]
        for _ in range(FURTHER_LOOKS):
            found = [of_cut(self._measure(link, seen, seen.probed)) for link in alive]
            if all(evidence.bit for evidence in found):
                break
            seen = replace(self._look(cut, pids, off, seen.probed), first=bare)
        for link in cut:
            for proxy, stream in self._paths(link):
                self._guarded(proxy, stream, cut=False)
        after = self._until_settled(cut)
        evidence = {link: of_cut(self._measure(link, seen, after)) for link in cut}
        for link in cut:
            self._remember(link, None)
        return evidence

    def _look(
        self,
        cut: Sequence[Link],
        pids: Mapping[NodeId, int],
        off: Collection[NodeId],
        bare: Counters,
    ) -> _Seen:
        """Send probes while all links are still cut, and read how the proxy handles them."""
        answered = self._knock(cut, pids, off)
        self._until(lambda now: self._counted(bare, now, answered))
        probed = self._until_settled({link for link, _ in answered})
        stopped = self._api.swallowed()
        return _Seen(first=bare, bare=bare, answered=answered, probed=probed, stopped=stopped)

    def slow(self, latency_ms: int) -> None:
        """Delay every link in both directions."""
        self._remember_latency(latency_ms)
        for proxy in self._all():
            self._slow(proxy)

    def _remember_latency(self, latency_ms: int) -> None:
        self._latency_ms = latency_ms
        if self._agent is not None:
            self._agent.call("remember", key=LATENCY, value=str(latency_ms or ""))

    def _slow(self, proxy: ProxyEntry) -> None:
        for stream in Stream:
            self._api.delay(proxy.name, stream, self._latency_ms)

    def quicken(self, pids: Mapping[NodeId, int]) -> FaultEvidence:
        """Probe, then remove the delays. `pids`: of the running nodes."""
        probed = [
            (link, port)
            for link in self._topology.links()
            if link.source in pids and link.destination in pids
            for port in self._topology.inner_ports(link.destination)
        ]
        wait_s = 2 * self._latency_ms / 1000 + KNOCK_WAIT_S
        answers = (
            self._agent.each("knock_ms", self._probes(probed, pids, wait_s)) if self._agent else []
        )
        for proxy in self._all():
            for stream in Stream:
                self._api.hurry(proxy.name, stream)
        latency_ms = self._latency_ms
        self._remember_latency(0)
        quickest: dict[Link, float] = {}
        for (link, _), answer_ms in zip(probed, answers, strict=False):
            quickest[link] = min(answer_ms, quickest.get(link, answer_ms))
        return of_slow_links(latency_ms, quickest)

    def _all(self) -> list[ProxyEntry]:
        links = self._topology.links()
        return [proxy for link in links for proxy in self._topology.link_proxies(link)]

    def _probes(
        self, probes: Sequence[Marked], pids: Mapping[NodeId, int], wait_s: float
    ) -> list[dict[str, object]]:
        """Marked probes, as the agent sends them."""
        return [
            {
                "pid": pids[link.source],
                "host": self._topology.networks[link.source].proxy,
                "port": port,
                "data": MARK.hex(),
                "wait_s": wait_s,
            }
            for link, port in probes
        ]

    def _remember(self, link: Link, counters: Counters | None) -> None:
        """The counters as they were when a link was cut; None when it is healed."""
        if counters is None:
            del self._cut[link]
        else:
            self._cut[link] = counters
        if self._agent is not None:
            value = counters.as_json() if counters else ""
            self._agent.call("remember", key=f"{MEMORY}{link}", value=value)

    def _guarded(self, proxy: ProxyEntry, stream: Stream, *, cut: bool) -> None:
        """Change a toxic; a proxy with a hanging API is made again, with its toxics."""
        change = self._api.swallow if cut else self._api.pass_again
        alter = self._stopped.add if cut else self._stopped.discard
        alter((proxy.name, stream))
        try:
            change(proxy.name, stream)
        except HungError:
            self._api.recreate(proxy)
            for name, kept in sorted(self._stopped):
                if name == proxy.name:
                    self._api.swallow(name, kept)
            if self._latency_ms:
                self._slow(proxy)

    def _knock(
        self, cut: Sequence[Link], pids: Mapping[NodeId, int], off: Collection[NodeId]
    ) -> dict[Marked, int]:
        """A marked probe along every cut link, and along its opposite if that is open.

        How many bytes came back, for each that could be sent. The proxy takes a connection to a
        node that is off, dials in vain, and reads nothing of what is sent.
        """
        if self._agent is None:
            return {}
        opposites = [Link(link.destination, link.source) for link in cut]
        wanted = sorted({*cut, *(link for link in opposites if link not in self._cut)})
        probes = [
            (link, port)
            for link in wanted
            if link.source in pids and link.destination not in off
            for port in self._topology.inner_ports(link.destination)
        ]
        answered = self._agent.each("knock", self._probes(probes, pids, KNOCK_WAIT_S))
        return {probe: count for probe, count in zip(probes, answered, strict=True) if count >= 0}

    def _counted(self, bare: Counters, now: Counters, probes: Iterable[Marked]) -> bool:
        """Whether the counters include the probes: they grow when a connection closes."""
        seen = {(link, port): self._probe_passage(link, port, bare, now) for link, port in probes}
        return all(
            (passage.received if link in self._cut else passage.sent) >= len(MARK)
            for (link, _), passage in seen.items()
        )

    def _until_settled(self, links: Iterable[Link]) -> Counters:
        """The counters once they include connections of these links that are being closed."""
        names = {proxy.name for link in links for proxy, _ in self._paths(link)}
        last, since = Counters(), time.monotonic()

        def settled(now: Counters) -> bool:
            nonlocal last, since
            found = Counters({key: both for key, both in now.passages.items() if key[0] in names})
            if found != last:
                last, since = found, time.monotonic()
            return time.monotonic() - since > SETTLED_AFTER_S

        return self._until(settled)

    def _until(self, done: Callable[[Counters], bool]) -> Counters:
        """The counters once the condition holds, or when waiting becomes pointless."""
        deadline = time.monotonic() + SETTLE_WITHIN_S
        while not done(now := self._api.counters()) and time.monotonic() < deadline:
            time.sleep(0.005)  # between two looks at the counters
        return now

    def _paths(self, link: Link) -> Sequence[tuple[ProxyEntry, Stream]]:
        """The proxies and directions by which bytes from source to destination pass: as requests,
        and as answers."""
        there = self._topology.link_proxies(link)
        back = self._topology.link_proxies(Link(link.destination, link.source))
        return [
            *((proxy, Stream.UPSTREAM) for proxy in there),
            *((proxy, Stream.DOWNSTREAM) for proxy in back),
        ]

    def _passed(self, link: Link, since: Counters, until: Counters) -> Passage:
        """Bytes from source to destination between two checks, over all paths."""
        parts = [
            until.of(proxy.name, stream) - since.of(proxy.name, stream)
            for proxy, stream in self._paths(link)
        ]
        return Passage(sum(p.received for p in parts), sum(p.sent for p in parts))

    def _probe_passage(self, link: Link, port: int, since: Counters, until: Counters) -> Passage:
        """Requests to one port of the destination between two checks, on the path of a probe."""
        place = self._topology.inner_ports(link.destination).index(port)
        name = self._topology.link_proxies(link)[place].name
        return until.of(name, Stream.UPSTREAM) - since.of(name, Stream.UPSTREAM)

    def _probes_along(self, link: Link, seen: _Seen) -> tuple[Probe, ...]:
        return tuple(
            Probe(
                size=len(MARK),
                passage=self._probe_passage(link, port, seen.bare, seen.probed),
                answered=answered,
            )
            for (along, port), answered in seen.answered.items()
            if along == link
        )

    def _stops(self, link: Link, seen: _Seen, *, wanted: bool) -> tuple[str, ...]:
        """Whether the proxy reports that it stops what goes from source to destination (`wanted`),
        or does not."""
        found = dict.fromkeys(
            "requests" if stream is Stream.UPSTREAM else "answers"
            for proxy, stream in self._paths(link)
            if ((proxy.name, stream) in seen.stopped) is wanted
        )
        return tuple(found)

    def _measure(self, link: Link, seen: _Seen, after: Counters) -> CutMeasured:
        began, back = self._cut[link], Link(link.destination, link.source)
        return CutMeasured(
            link=link,
            swallowed=self._passed(link, began, after).swallowed,
            while_probing=self._passed(link, seen.first, seen.probed).swallowed,
            gaps=self._stops(link, seen, wanted=False),
            probes=self._probes_along(link, seen),
            opposite_cut=back in self._cut,
            opposite=self._passed(back, began, seen.probed),
            opposite_stops=self._stops(back, seen, wanted=True),
            opposite_probes=() if back in self._cut else self._probes_along(back, seen),
        )


def _recall_latency(agent: Agent) -> int:
    return int(agent.call("recall", prefix=LATENCY).get(LATENCY, 0))


def _recall(agent: Agent) -> dict[Link, Counters]:
    found = {}
    for key, value in agent.call("recall", prefix=MEMORY).items():
        source, _, destination = str(key).removeprefix(MEMORY).partition("->")
        found[Link(NodeId(int(source)), NodeId(int(destination)))] = Counters.from_json(value)
    return found
