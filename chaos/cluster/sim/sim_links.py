"""The links of a simulated cluster, between nodes and from clients: cut, healed, slowed, with
evidence as in containers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.cluster.fault_evidence import (
    CutMeasured,
    Passage,
    Probe,
    ShutMeasured,
    of_cut,
    of_flaky_links,
    of_shut_out,
    of_slow_links,
)
from chaos.cluster.interface import FaultEvidence, Link, NodeId
from chaos.cluster.probe import api_versions_request
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import CLIENT, Network, Path, StreamEnd, client_address, link_address

KNOCK_WAIT_S = 0.3  # for a node to answer, a sync in between
MARK = api_versions_request(correlation_id=0x6B63)  # harmless, should it arrive

Passages = Mapping[tuple[Link, Path], Passage]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Knocked:
    """What came of a marked probe: bytes that came back, and after how long the first."""

    answered: int
    answer_ms: float


class Knock(asyncio.Protocol):
    """Sends the mark as soon as it can, and counts what comes back."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._began = 0.0
        self.transport: asyncio.Transport | None = None
        self.answered = 0
        self.answer_ms = -1.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._began = self._loop.time()
        transport.write(MARK)

    def data_received(self, data: bytes) -> None:
        if not self.answered:
            self.answer_ms = (self._loop.time() - self._began) * 1000
        self.answered += len(data)


class SimLinks:
    """All links of one cluster."""

    def __init__(
        self,
        network: Network,
        nodes: tuple[NodeId, ...],
        loop: VirtualLoop,
        longest_latency_s: float = 0.08,
    ) -> None:
        """No byte is under way for longer, unless links are slow."""
        self._network = network
        self._longest_latency_s = longest_latency_s
        self._loop = loop
        self._links = [Link(one, other) for one in nodes for other in nodes if one != other]
        self._cut: dict[Link, Passages] = {}  # what had passed everywhere when it was cut
        self._latency_ms = 0
        self._resets: dict[Link, int] = {}  # of each flaky link, before it was

    def cut(self, links: Sequence[Link]) -> None:
        for link in links:
            if link not in self._cut:
                self._cut[link] = self._passages()
                for path in Path:
                    self._network.stop(link, path)

    async def heal(self, links: Sequence[Link]) -> dict[Link, FaultEvidence]:
        """Probe while all is still cut, then let pass."""
        cut = [link for link in links if link in self._cut]
        if not cut:
            return {}
        before = self._passages()
        opposites = [_back(link) for link in cut]
        probed = sorted({*cut, *(link for link in opposites if link not in self._cut)})
        knocked = await self._knock(probed, self._patience_s())
        after = self._passages()
        evidence = {link: of_cut(self._measure(link, before, after, knocked)) for link in cut}
        for link in cut:
            del self._cut[link]
            for path in Path:
                self._network.let_pass(link, path)
        return evidence

    def make_flaky(self, links: Sequence[Link], share: float) -> None:
        for link in links:
            self._network.make_flaky(link, share)
            self._resets[link] = self._network.resets.get(link, 0)

    def steady(self, links: Sequence[Link]) -> FaultEvidence:
        for link in links:
            self._network.make_flaky(link, 0.0)
        resets = {link: self._network.resets.get(link, 0) - self._resets[link] for link in links}
        return of_flaky_links(resets)

    def slow(self, latency_ms: int) -> None:
        self._latency_ms = latency_ms
        self._network.slow(latency_ms)

    async def quicken(self, running: Sequence[NodeId]) -> FaultEvidence:
        """Probe the links between nodes that run, then take the delay away."""
        probed = [
            link
            for link in self._links
            if {link.source, link.destination} <= set(running)
            and not {link, _back(link)} & set(self._cut)
        ]
        knocked = await self._knock(probed, self._patience_s())
        latency_ms, self._latency_ms = self._latency_ms, 0
        self._network.slow(0)
        answers = {link: knocked[link].answer_ms if link in knocked else -1.0 for link in probed}
        return of_slow_links(latency_ms, answers)

    def _patience_s(self) -> float:
        """There and back twice, since a connection is made first, and some time for the answer."""
        return 4 * (self._latency_ms / 1000 + self._longest_latency_s) + KNOCK_WAIT_S

    def _passages(self) -> Passages:
        return {
            (link, path): self._network.passage(link, path) for link in self._links for path in Path
        }

    async def _knock(self, links: Sequence[Link], wait_s: float) -> dict[Link, _Knocked]:
        """A marked request along each link; those that could be sent."""
        knocks = {link: Knock(self._loop) for link in links}
        for link, knock in knocks.items():
            self._network.connect(link_address(link), knock, lambda callback: callback(), _nothing)
        await asyncio.sleep(wait_s)
        sent = {link: knock for link, knock in knocks.items() if knock.transport is not None}
        for knock in sent.values():
            assert knock.transport is not None
            knock.transport.abort()
        return {
            link: _Knocked(answered=knock.answered, answer_ms=knock.answer_ms)
            for link, knock in sent.items()
        }

    def _measure(
        self, link: Link, before: Passages, after: Passages, knocked: Mapping[Link, _Knocked]
    ) -> CutMeasured:
        back, began = _back(link), self._cut[link]
        return CutMeasured(
            link=link,
            swallowed=_passed(link, began, after).swallowed,
            while_probing=_passed(link, before, after).swallowed,
            gaps=tuple(path for path in Path if not self._network.is_stopped(link, path)),
            probes=_probes(link, before, after, knocked),
            opposite_cut=back in self._cut,
            opposite=_passed(back, began, after),
            opposite_stops=tuple(path for path in Path if self._network.is_stopped(back, path)),
            opposite_probes=(() if back in self._cut else _probes(back, before, after, knocked)),
        )


def _nothing(_: StreamEnd | None) -> None:
    """A probe that was refused has no transport; that says it."""


def _back(link: Link) -> Link:
    return Link(link.destination, link.source)


def _passed(link: Link, since: Passages, until: Passages) -> Passage:
    """Bytes from source to destination between two looks, over both paths."""
    parts = [until[link, path] - since[link, path] for path in Path]
    return Passage(sum(part.received for part in parts), sum(part.sent for part in parts))


def _probes(
    link: Link, before: Passages, after: Passages, knocked: Mapping[Link, _Knocked]
) -> tuple[Probe, ...]:
    if link not in knocked:
        return ()
    passage = after[link, Path.REQUESTS] - before[link, Path.REQUESTS]
    return (Probe(size=len(MARK), passage=passage, answered=knocked[link].answered),)


# Client links of a simulated cluster: shut and opened, with evidence as in containers.


class SimEntrances:
    """Of one cluster. Nodes reach each other by other links, whatever happens here."""

    def __init__(self, network: Network, loop: VirtualLoop, longest_latency_s: float) -> None:
        """No byte is under way for longer."""
        self._network = network
        self._loop = loop
        self._patience_s = 4 * longest_latency_s + KNOCK_WAIT_S
        self._shut: dict[NodeId, Passage] = {}  # with what had passed by then

    def close(self, nodes: Sequence[NodeId]) -> None:
        for node in nodes:
            for link, path in _ways(node):
                self._network.stop(link, path)
            self._shut.setdefault(node, self._passed(node))

    async def open(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, FaultEvidence]:
        """Knock, then let pass again."""
        shut = [node for node in nodes if node in self._shut]
        before = {node: self._passed(node) for node in shut}
        answered = await self._knock(shut)
        found = {node: of_shut_out(self._measure(node, before, answered)) for node in shut}
        for node in shut:
            del self._shut[node]
            for link, path in _ways(node):
                self._network.let_pass(link, path)
        return found

    async def _knock(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, int]:
        """Send a marked request in at each; how many bytes came back."""
        knocks = {node: Knock(self._loop) for node in nodes}
        for node, knock in knocks.items():
            self._network.connect(
                client_address(node), knock, lambda callback: callback(), lambda _: None
            )
        await asyncio.sleep(self._patience_s)
        for knock in knocks.values():
            if knock.transport is not None:
                knock.transport.abort()
        return {node: knock.answered for node, knock in knocks.items()}

    def _measure(
        self, node: NodeId, before: Mapping[NodeId, Passage], answered: Mapping[NodeId, int]
    ) -> ShutMeasured:
        now = self._passed(node)
        return ShutMeasured(
            swallowed=(now - self._shut[node]).swallowed,
            probe=now - before[node],
            probe_bytes=len(MARK),
            answered=answered[node],
            open_ways=tuple(
                path for link, path in _ways(node) if not self._network.is_stopped(link, path)
            ),
        )

    def _passed(self, node: NodeId) -> Passage:
        """Bytes from clients to the node."""
        return self._network.passage(Link(CLIENT, node), Path.REQUESTS)


def _ways(node: NodeId) -> tuple[tuple[Link, Path], ...]:
    return (Link(CLIENT, node), Path.REQUESTS), (Link(node, CLIENT), Path.ANSWERS)
