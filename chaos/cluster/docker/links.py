"""The directed links between nodes: cut, healed, and what was swallowed meanwhile.

`cut(i->j)` means that no byte from i reaches j. Bytes of i travel on two proxies: upstream on the
link i->j (connections that i opened), and downstream on j->i (answers to connections of j).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.evidence import CutMeasured, of_cut, of_slow_links
from chaos.cluster.docker.metrics import Counters, Passage, Stream
from chaos.cluster.docker.toxiproxy_api import HungError, ToxiproxyApi
from chaos.cluster.interface import Evidence, Link, NodeId
from chaos.cluster.probe import api_versions_request
from chaos.cluster.topology import Topology, inner_port, link_name

KNOCK_WAIT_S = 0.1  # a node answers ApiVersions within a few ms
SETTLE_WITHIN_S = 1.0
MEMORY = "cut "
MARK = api_versions_request(correlation_id=0x6B63)  # harmless, should it arrive


@dataclass(frozen=True, slots=True)
class _Knock:
    link: Link
    answered: int  # bytes that came back; -1 when the connection was refused


class Links:
    """All links of one cluster. What is cut is remembered by the agent, for who attaches later."""

    def __init__(self, api: ToxiproxyApi, topology: Topology, agent: Agent | None) -> None:
        self._api = api
        self._topology = topology
        self._agent = agent
        self._cut = _recall(agent) if agent else {}
        self._latency_ms = 0

    def cut(self, links: Sequence[Link]) -> None:
        new = [link for link in links if link not in self._cut]
        if not new:
            return
        before = self._api.counters()
        for link in new:
            for proxied, stream in _paths(link):
                self._guarded(proxied, stream, cut=True)
            self._remember(link, before)

    def heal(self, links: Sequence[Link], pids: Mapping[NodeId, int]) -> dict[Link, Evidence]:
        """Probe, let pass, and compare the counters. `pids`: whose networks to probe from."""
        cut = [link for link in links if link in self._cut]
        if not cut:
            return {}
        bare = self._api.counters()
        knocks = self._knock(cut, pids)
        probed = self._until_counted(bare, knocks)
        for link in cut:
            for proxied, stream in _paths(link):
                self._guarded(proxied, stream, cut=False)
        after = self._until_settled()
        evidence = {}
        for link in cut:
            seen = _measure(link, (self._cut[link], bare, probed, after), knocks, self._cut)
            evidence[link] = of_cut(seen)
        for link in cut:
            self._remember(link, None)
        return evidence

    def slow(self, latency_ms: int) -> None:
        """Delay every link in both directions."""
        self._latency_ms = latency_ms
        for link in self._all():
            for stream in Stream:
                self._api.delay(link_name(link), stream, latency_ms)

    def quicken(self, pids: Mapping[NodeId, int]) -> Evidence:
        """Probe, then take the delays away. `pids`: of the nodes that run."""
        probed = [link for link in self._all() if link.source in pids and link.target in pids]
        wait_s = 2 * self._latency_ms / 1000 + KNOCK_WAIT_S
        answers = (
            self._agent.each("knock_ms", self._probes(probed, pids, wait_s)) if self._agent else []
        )
        for link in self._all():
            for stream in Stream:
                self._api.hurry(link_name(link), stream)
        return of_slow_links(self._latency_ms, dict(zip(probed, answers, strict=False)))

    def _all(self) -> list[Link]:
        nodes = sorted(self._topology.networks)
        return [Link(one, other) for one in nodes for other in nodes if one != other]

    def _probes(
        self, links: Sequence[Link], pids: Mapping[NodeId, int], wait_s: float
    ) -> list[dict[str, object]]:
        """A marked probe along each link, as the agent sends it."""
        return [
            {
                "pid": pids[link.source],
                "host": self._topology.networks[link.source].proxy,
                "port": inner_port(link.target),
                "data": MARK.hex(),
                "wait_s": wait_s,
            }
            for link in links
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

    def _guarded(self, proxied: Link, stream: Stream, *, cut: bool) -> None:
        """Change a toxic; a proxy whose API hangs is made anew, with the toxics that it had."""
        change = self._api.swallow if cut else self._api.pass_again
        try:
            change(link_name(proxied), stream)
        except HungError:
            self._api.recreate(self._topology.link_proxy(proxied))
            for link in self._cut:
                for other, kept in _paths(link):
                    if other == proxied and (cut or kept != stream):
                        self._api.swallow(link_name(other), kept)
            if cut:
                self._api.swallow(link_name(proxied), stream)

    def _knock(self, cut: Sequence[Link], pids: Mapping[NodeId, int]) -> list[_Knock]:
        """A marked probe along every cut link, and along its opposite where that is open."""
        if self._agent is None:
            return []
        opposites = [Link(link.target, link.source) for link in cut]
        wanted = sorted({*cut, *(link for link in opposites if link not in self._cut)})
        reachable = [link for link in wanted if link.source in pids]
        answered = self._agent.each("knock", self._probes(reachable, pids, KNOCK_WAIT_S))
        return [_Knock(link, count) for link, count in zip(reachable, answered, strict=True)]

    def _until_counted(self, bare: Counters, knocks: Sequence[_Knock]) -> Counters:
        """The counters with every probe in them: they grow as its connection closes."""
        deadline = time.monotonic() + SETTLE_WITHIN_S
        while True:
            now = self._api.counters()
            counted = all(
                (now.of(link_name(knock.link), Stream.UPSTREAM)
                 - bare.of(link_name(knock.link), Stream.UPSTREAM)).received >= len(MARK)
                for knock in knocks
                if knock.answered >= 0
            )  # fmt: skip
            if counted or time.monotonic() > deadline:
                return now
            time.sleep(0.005)  # between two looks at the counters

    def _until_settled(self) -> Counters:
        """The counters once the connections that the heal closed are in them."""
        deadline = time.monotonic() + SETTLE_WITHIN_S
        last = self._api.counters()
        while time.monotonic() < deadline:
            time.sleep(0.02)  # between two looks at the counters
            now = self._api.counters()
            if now == last:
                break
            last = now
        return last


def _recall(agent: Agent) -> dict[Link, Counters]:
    found = {}
    for key, value in agent.call("recall", prefix=MEMORY).items():
        source, _, target = str(key).removeprefix(MEMORY).partition("->")
        found[Link(NodeId(int(source)), NodeId(int(target)))] = Counters.from_json(value)
    return found


def _paths(link: Link) -> tuple[tuple[Link, Stream], tuple[Link, Stream]]:
    """The two places where bytes from source to target pass."""
    back = Link(link.target, link.source)
    return ((link, Stream.UPSTREAM), (back, Stream.DOWNSTREAM))


def _passed(link: Link, since: Counters, until: Counters) -> Passage:
    """Bytes from source to target between two looks, over both paths."""
    parts = [
        until.of(link_name(proxied), stream) - since.of(link_name(proxied), stream)
        for proxied, stream in _paths(link)
    ]
    return Passage(sum(p.received for p in parts), sum(p.sent for p in parts))


def _measure(
    link: Link,
    looks: tuple[Counters, Counters, Counters, Counters],
    knocks: Sequence[_Knock],
    cut: Mapping[Link, Counters],
) -> CutMeasured:
    began, bare, probed, after = looks
    back = Link(link.target, link.source)
    return CutMeasured(
        link=link,
        swallowed=_passed(link, began, after).swallowed,
        probe=_passed(link, bare, probed),
        probe_answered=max([0, *(k.answered for k in knocks if k.link == link)]),
        opposite_cut=back in cut,
        opposite=_passed(back, began, probed),
    )
