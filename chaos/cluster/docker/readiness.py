"""Waiting for nodes: until a process answers, and until brokers may be led and followed."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from docker.errors import APIError
from docker.models.containers import Container

from chaos.cluster.cluster_errors import DiedAtStartError, NeverReadyError
from chaos.cluster.docker.assembly import FORMATTED, Parts
from chaos.cluster.docker.gate import Gate
from chaos.cluster.interface import NodeId
from chaos.cluster.probe import until_it_answers, until_it_knows

PAUSE_S = 0.1
LAST_LINES = 8  # of a log, that an error shows


class Readiness:
    """Of the nodes of one cluster. Raises NeverReadyError, with a node's last words."""

    def __init__(self, gate: Gate, parts: Parts, *, run_id: str, within_s: float) -> None:
        self._gate = gate
        self._parts = parts
        self._run_id = run_id
        self._within_s = within_s
        self._entries = parts.topology.bootstrap()

    async def answers(self, node: NodeId) -> None:
        """Wait until the process answers clients."""
        asking = until_it_answers(self._entries[node], self._within_s)
        if not await self._while_alive(node, asking):
            raise NeverReadyError(self._words(node, f"does not answer within {self._within_s:g} s"))

    async def formatted(self, node: NodeId) -> None:
        """Wait until the first start has formatted the disk."""
        if not await self._while_alive(node, self._says_formatted(node)):
            raise NeverReadyError(self._words(node, f"not formatted within {self._within_s:g} s"))

    async def _says_formatted(self, node: NodeId) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._within_s
        while loop.time() < deadline:
            said = await self._gate.run(self._parts.containers[node].logs)
            if FORMATTED.encode() in said.splitlines():
                return True
            await asyncio.sleep(PAUSE_S)
        return False

    async def knows(self, node: NodeId, brokers: Sequence[NodeId]) -> None:
        """Wait until a broker tells clients of all these brokers: registered and not fenced."""
        asking = until_it_knows(self._entries[node], frozenset(brokers), self._within_s)
        if not await self._while_alive(node, asking):
            names = ", ".join(map(str, brokers))
            what = f"does not tell of brokers {names} within {self._within_s:g} s"
            raise NeverReadyError(self._words(node, what))

    async def _while_alive(self, node: NodeId, asking: Coroutine[Any, Any, bool]) -> bool:
        task = asyncio.create_task(asking)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=1.0)
                if not task.done():
                    await self._gate.run(self._refuse_dead, node)
        finally:
            task.cancel()
        return task.result()

    def _refuse_dead(self, node: NodeId) -> None:
        container = self._parts.containers[node]
        container.reload()
        state = container.attrs["State"]
        if not state["Running"]:
            code = state["ExitCode"]
            raise DiedAtStartError(self._words(node, f"exited during startup (code {code})"))

    def _words(self, node: NodeId, what: str) -> str:
        said = last_words(self._parts.containers[node])
        return f"node {node} {what}\n  run {self._run_id}; the end of its log:\n{said}"


def last_words(container: Container) -> str:
    """The end of a log, without the frames of a JVM's stack: what went wrong stands above them."""
    try:
        log = container.logs(tail=100).decode(errors="replace")
    except APIError as error:
        return str(error)
    lines = [line for line in log.strip().splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-LAST_LINES:])
