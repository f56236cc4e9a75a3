"""The directed links between nodes: cut, healed, and what was swallowed meanwhile.

`cut(i->j)` means that no byte from i reaches j. Bytes of i travel on two proxies: upstream on the
link i->j (connections that i opened), and downstream on j->i (answers to connections of j).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.metrics import Counters, Stream
from chaos.cluster.docker.toxiproxy_api import HungError, ToxiproxyApi
from chaos.cluster.evidence import (
    NO_PROBE,
    CutMeasured,
    Passage,
    Probe,
    of_cut,
    of_slow_links,
)
from chaos.cluster.interface import Evidence, Link, NodeId
from chaos.cluster.probe import api_versions_request
from chaos.cluster.topology import Topology, inner_port, link_name

KNOCK_WAIT_S = 0.1  # a node answers ApiVersions within a few ms
SETTLE_WITHIN_S = 1.0
SETTLED_AFTER_S = 0.02  # without a change
FURTHER_LOOKS = 2  # a connection that breaks beside a probe can hide what became of it
MEMORY = "cut "
MARK = api_versions_request(correlation_id=0x6B63)  # harmless, should it arrive


Where = tuple[Link, Stream]  # a direction of the proxy of a link


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was looked at before a heal, and in what order: `bare`, probes, `probed`.

    `first` is the `bare` of the first look, where more than one was needed.
    """

    first: Counters
    bare: Counters
    answered: Mapping[Link, int]  # bytes that came back to the probes that could be sent
    probed: Counters
    stopped: frozenset[tuple[str, Stream]]  # by the proxy's own word


class Links:
    """All links of one cluster. What is cut is remembered by the agent, for who attaches later."""

    def __init__(self, api: ToxiproxyApi, topology: Topology, agent: Agent | None) -> None:
        self._api = api
        self._topology = topology
        self._agent = agent
        self._cut = _recall(agent) if agent else {}
        self._stopped = {where for link in self._cut for where in _paths(link)}
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
        seen = self._look(cut, pids, bare)
        for _ in range(FURTHER_LOOKS):
            found = [of_cut(_measure(link, self._cut, seen, seen.probed)) for link in cut]
            if all(evidence.bit for evidence in found):
                break
            seen = replace(self._look(cut, pids, seen.probed), first=bare)
        for link in cut:
            for proxied, stream in _paths(link):
                self._guarded(proxied, stream, cut=False)
        after = self._until_settled(cut)
        evidence = {link: of_cut(_measure(link, self._cut, seen, after)) for link in cut}
        for link in cut:
            self._remember(link, None)
        return evidence

    def _look(self, cut: Sequence[Link], pids: Mapping[NodeId, int], bare: Counters) -> _Seen:
        """Send probes while all is still cut, and see what the proxy makes of them."""
        answered = self._knock(cut, pids)
        self._until(lambda now: self._counted(bare, now, answered))
        probed = self._until_settled(answered)
        stopped = self._api.swallowed()
        return _Seen(first=bare, bare=bare, answered=answered, probed=probed, stopped=stopped)

    def slow(self, latency_ms: int) -> None:
        """Delay every link in both directions."""
        self._latency_ms = latency_ms
        for link in self._all():
            self._slow(link)

    def _slow(self, link: Link) -> None:
        for stream in Stream:
            self._api.delay(link_name(link), stream, self._latency_ms)

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
        latency_ms, self._latency_ms = self._latency_ms, 0
        return of_slow_links(latency_ms, dict(zip(probed, answers, strict=False)))

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
        """Change a toxic; a proxy whose API hangs is made anew, with the toxics due to it."""
        change = self._api.swallow if cut else self._api.pass_again
        alter = self._stopped.add if cut else self._stopped.discard
        alter((proxied, stream))
        try:
            change(link_name(proxied), stream)
        except HungError:
            self._api.recreate(self._topology.link_proxy(proxied))
            for where, kept in sorted(self._stopped):
                if where == proxied:
                    self._api.swallow(link_name(proxied), kept)
            if self._latency_ms:
                self._slow(proxied)

    def _knock(self, cut: Sequence[Link], pids: Mapping[NodeId, int]) -> dict[Link, int]:
        """A marked probe along every cut link, and along its opposite where that is open.

        How many bytes came back, for each that could be sent.
        """
        if self._agent is None:
            return {}
        opposites = [Link(link.target, link.source) for link in cut]
        wanted = sorted({*cut, *(link for link in opposites if link not in self._cut)})
        reachable = [link for link in wanted if link.source in pids]
        answered = self._agent.each("knock", self._probes(reachable, pids, KNOCK_WAIT_S))
        return {link: count for link, count in zip(reachable, answered, strict=True) if count >= 0}

    def _counted(self, bare: Counters, now: Counters, probes: Iterable[Link]) -> bool:
        """Whether the probes are in the counters: they grow as a connection closes."""
        seen = {link: _probe_passage(link, bare, now) for link in probes}
        return all(
            (passage.received if link in self._cut else passage.sent) >= len(MARK)
            for link, passage in seen.items()
        )

    def _until_settled(self, links: Iterable[Link]) -> Counters:
        """The counters once connections of these links that are being closed are in them."""
        names = {link_name(proxied) for link in links for proxied, _ in _paths(link)}
        last, since = Counters(), time.monotonic()

        def settled(now: Counters) -> bool:
            nonlocal last, since
            found = Counters({key: both for key, both in now.passages.items() if key[0] in names})
            if found != last:
                last, since = found, time.monotonic()
            return time.monotonic() - since > SETTLED_AFTER_S

        return self._until(settled)

    def _until(self, done: Callable[[Counters], bool]) -> Counters:
        """The counters once they are so, or as they are when waiting becomes pointless."""
        deadline = time.monotonic() + SETTLE_WITHIN_S
        while not done(now := self._api.counters()) and time.monotonic() < deadline:
            time.sleep(0.005)  # between two looks at the counters
        return now


def _recall(agent: Agent) -> dict[Link, Counters]:
    found = {}
    for key, value in agent.call("recall", prefix=MEMORY).items():
        source, _, target = str(key).removeprefix(MEMORY).partition("->")
        found[Link(NodeId(int(source)), NodeId(int(target)))] = Counters.from_json(value)
    return found


def _paths(link: Link) -> tuple[Where, Where]:
    """The two places where bytes from source to target pass: as requests, and as answers."""
    back = Link(link.target, link.source)
    return ((link, Stream.UPSTREAM), (back, Stream.DOWNSTREAM))


def _passed(link: Link, since: Counters, until: Counters) -> Passage:
    """Bytes from source to target between two looks, over both paths."""
    parts = [
        until.of(link_name(proxied), stream) - since.of(link_name(proxied), stream)
        for proxied, stream in _paths(link)
    ]
    return Passage(sum(p.received for p in parts), sum(p.sent for p in parts))


def _probe_passage(link: Link, since: Counters, until: Counters) -> Passage:
    """Requests from source to target between two looks: the path that a probe takes."""
    name = link_name(link)
    return until.of(name, Stream.UPSTREAM) - since.of(name, Stream.UPSTREAM)


def _probe(link: Link, seen: _Seen) -> Probe:
    if link not in seen.answered:
        return NO_PROBE
    passage = _probe_passage(link, seen.bare, seen.probed)
    return Probe(size=len(MARK), passage=passage, answered=seen.answered[link])


def _stops(link: Link, seen: _Seen, *, wanted: bool) -> tuple[str, ...]:
    """The paths from source to target that the proxy says it stops (`wanted`), or does not."""
    return tuple(
        "requests" if stream is Stream.UPSTREAM else "answers"
        for proxied, stream in _paths(link)
        if ((link_name(proxied), stream) in seen.stopped) is wanted
    )


def _measure(link: Link, cut: Mapping[Link, Counters], seen: _Seen, after: Counters) -> CutMeasured:
    began, back = cut[link], Link(link.target, link.source)
    return CutMeasured(
        link=link,
        swallowed=_passed(link, began, after).swallowed,
        while_probing=_passed(link, seen.first, seen.probed).swallowed,
        gaps=_stops(link, seen, wanted=False),
        probe=_probe(link, seen),
        opposite_cut=back in cut,
        opposite=_passed(back, began, seen.probed),
        opposite_stops=_stops(back, seen, wanted=True),
        opposite_probe=NO_PROBE if back in cut else _probe(back, seen),
    )
