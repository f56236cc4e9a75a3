"""Waits until nodes answer; runs work in threads until a gate closes; reads votes from disks."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ParamSpec, TypeVar

from docker.errors import APIError, NotFound
from docker.models.containers import Container

from chaos.cluster.cluster_errors import ClusterError, DiedAtStartError, NeverReadyError
from chaos.cluster.docker.assembly import FORMATTED, Parts
from chaos.cluster.interface import NodeId
from chaos.cluster.probe import until_it_answers, until_it_knows
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY
from chaos.container_files import read_file

# Work that runs in threads, and a gate after which no more of it may begin.
#
# A cancelled task leaves its thread running; that thread must not create anything behind the back
# of the thread that removes everything.


P = ParamSpec("P")
T = TypeVar("T")
DRAINED_WITHIN_S = 60.0


class Gate:
    """Counts the working threads, and closes once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    async def run(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run in a thread; ClusterError once the gate is closed."""

        def inside() -> T:
            self._enter()
            try:
                return act(*args, **kwargs)
            finally:
                self._leave()

        return await asyncio.to_thread(inside)

    def close(self) -> None:
        """Let no thread in any more, and wait until all are out."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0, DRAINED_WITHIN_S)

    def _enter(self) -> None:
        with self._changed:
            if self._closed:
                raise ClusterError("the cluster is being removed")
            self._inside += 1

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()


PAUSE_S = 0.1
LAST_LINES = 8  # of a log, shown in an error


class Readiness:
    """Waits for the nodes of one cluster. Raises NeverReadyError, with a node's last words."""

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
        """Wait until a broker reports all these brokers to clients: registered and not fenced."""
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
    """The end of a log, without the stack frames of a JVM: the error stands above them."""
    try:
        log = container.logs(tail=100).decode(errors="replace")
    except APIError as error:
        return str(error)
    lines = [line for line in log.strip().splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-LAST_LINES:])


# The votes of a cluster's controllers, as their disks have them.


QUORUM_STATE = "__cluster_metadata-0/quorum-state"


def vote_of(container: Container) -> NodeId | None:
    """The vote in the newest epoch of a node; None: it has not voted. Kafka replaces the file as a
    whole, and creates it when there is something to remember."""
    try:
        content = read_file(container, f"{DATA}/{LOG_DIRECTORY}/{QUORUM_STATE}")
    except NotFound:
        return None
    state = json.loads(content)
    voted = int(state["votedId"])
    return NodeId(voted) if voted >= 0 else None
