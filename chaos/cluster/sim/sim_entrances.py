"""The ways in for clients of a simulated cluster: shut, opened, with evidence as in containers."""

import asyncio
from collections.abc import Mapping, Sequence

from chaos.cluster.fault_evidence import Passage, ShutMeasured, of_shut_out
from chaos.cluster.interface import FaultEvidence, Link, NodeId
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import CLIENT, Network, client_address
from chaos.cluster.sim.sim_links import KNOCK_WAIT_S, MARK, Knock
from chaos.cluster.sim.streams import Path


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
