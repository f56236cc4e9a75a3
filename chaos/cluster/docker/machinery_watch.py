"""Watches the harness's own parts beside the nodes: the engine, the proxy, the disk agent.

All traffic of nodes and clients goes through the proxy, all that needs privilege through the agent,
and every container through the engine. If one of them dies, is stopped or gets no processor time,
nodes seem to do wrong although this machine is the cause. So each is checked several times a
second, and the first that does not work ends the run with its name.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import requests
from docker.errors import DockerException, NotFound
from docker.models.containers import Container

from chaos.cluster.cluster_errors import ClusterError, FailedPart, MachineryError
from chaos.cluster.docker.agent import Agent, BusyError
from chaos.cluster.docker.assembly import Parts
from chaos.cluster.docker.node_processes import mono_ns_of
from chaos.cluster.docker.readiness import Gate
from chaos.cluster.docker.toxiproxy_api import ToxiproxyApi
from chaos.cluster.fault_evidence import of_pause
from chaos.cluster.interface import SlowAnswer
from chaos.setup import docker_engine

LOOK_S = 0.5
ANSWERS_WITHIN_S = 2
SLOW_S = 1.0  # as long as a node's shortest time-out, its election's
# On a busy machine an answer may be late; a part that is silent for this long does not work.
SILENT_S = 6.0
PROXY, AGENT, ENGINE = "the proxy (toxiproxy)", "the disk agent", "the Docker engine"

_ENGINES = "look at it: docker info"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """Why a part does not work; "" if it does. `for_sure`: a busy machine cannot be the reason.
    `since_ns`: if known."""

    why: str = ""
    for_sure: bool = False
    since_ns: int | None = None


_WELL = _Look()


class MachineryWatch:
    """Of one cluster."""

    def __init__(self, parts: Parts, gate: Gate) -> None:
        """Raises DockerException where no engine answers."""
        self._client = docker_engine.connect(timeout_s=ANSWERS_WITHIN_S)
        self._parts = parts
        self._gate = gate
        self._failed: FailedPart | None = None
        self._well_ns = dict.fromkeys((ENGINE, PROXY, AGENT), time.monotonic_ns())
        self._doubted = ""  # in the last check
        self._slow: list[SlowAnswer] = []

    @property
    def slow_answers(self) -> Sequence[SlowAnswer]:
        return tuple(self._slow)

    async def until_it_fails(self) -> None:
        """Runs until cancelled. Raises MachineryError."""
        while True:
            failed = await self._gate.run(self.look)
            if failed is not None:
                raise MachineryError(failed)
            await asyncio.sleep(LOOK_S)

    async def last_look(self) -> FailedPart | None:
        """For a run that broke off: checks until each part is known to work, or one not to."""
        while True:
            failed = await self._gate.run(self.look)
            if failed is not None or not self._doubted:
                return failed
            await asyncio.sleep(LOOK_S)

    def look(self) -> FailedPart | None:
        """The first part that has not worked for so long, or surely does not work; once found, it
        stays the result. Blocks."""
        if self._failed is None:
            self._failed = self._first_failed()
        return self._failed

    def close(self) -> None:
        self._client.close()

    def _first_failed(self) -> FailedPart | None:
        self._doubted = ""
        for part, look, mend in self._looks():
            asked_ns = time.monotonic_ns()
            seen = look()
            if seen is None:
                continue
            if not seen.why:
                self._well_ns[part] = asked_ns
                continue
            if seen.for_sure or time.monotonic_ns() - self._well_ns[part] > SILENT_S * 1e9:
                since_ns = self._well_ns[part] if seen.since_ns is None else seen.since_ns
                return FailedPart(part=part, what=seen.why, since_ns=since_ns, mend=mend)
            self._doubted = part
            return None  # the others are checked through it
        return None

    def _looks(self) -> Sequence[tuple[str, Callable[[], _Look | None], str]]:
        agent = self._parts.agent
        known: list[tuple[str, Callable[[], _Look | None], str]] = [
            (ENGINE, self._look_at_engine, _ENGINES),
            (PROXY, self._look_at_proxy, _logs_of(self._parts.proxy)),
        ]
        if agent is not None:
            known.append((AGENT, lambda: self._look_at_agent(agent), _logs_of(agent.container)))
        return known

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        """An agent that serves others meanwhile is not slow."""
        asked_ns = time.monotonic_ns()
        busy = False
        try:
            yield
        except BusyError:
            busy = True
            raise
        finally:
            answered_ns = time.monotonic_ns()
            if not busy and answered_ns - asked_ns > SLOW_S * 1e9:
                slow = SlowAnswer(part=part, asked_ns=asked_ns, answered_ns=answered_ns)
                self._slow.append(slow)

    def _look_at_engine(self) -> _Look:
        try:
            with self._timed(ENGINE):
                self._client.ping()
        except (DockerException, requests.RequestException) as error:
            return _Look(why=f"does not answer ({type(error).__name__})")
        return _WELL

    def _look_at_proxy(self) -> _Look:
        """If there is an agent, it reports a stopped process before that is silent for too long."""
        pid, ended = self._process_of(self._parts.proxy)
        if ended is not None:
            return ended
        try:
            threads = self._ask_agent("states", pid=pid)
        except ClusterError:  # another process serves the agent, or the agent is checked next
            threads = ""
        if of_pause(threads).bit and "T" in threads:
            return _Look(why="was stopped (SIGSTOP)", for_sure=True)
        api = ToxiproxyApi(self._parts.api.server, ANSWERS_WITHIN_S)
        with self._timed(PROXY):
            answers = api.answers()
        return _WELL if answers else _Look(why="does not answer")

    def _look_at_agent(self, agent: Agent) -> _Look | None:
        pid, ended = self._process_of(agent.container)
        if ended is not None:
            return ended
        try:
            with self._timed(AGENT):
                agent.ask("states", ANSWERS_WITHIN_S, pid=pid)
        except BusyError:
            return None
        except ClusterError:
            return _Look(why="does not answer")
        return _WELL

    def _ask_agent(self, operation: str, *, pid: int) -> str:
        agent = self._parts.agent
        return str(agent.ask(operation, ANSWERS_WITHIN_S, pid=pid)) if agent is not None else ""

    def _process_of(self, container: Container) -> tuple[int, _Look | None]:
        """The first process of a running container, or how the container ended."""
        try:
            state = self._client.api.inspect_container(container.id or "")["State"]
        except NotFound:
            return 0, _Look(why="was removed", for_sure=True)
        except (DockerException, requests.RequestException) as error:
            return 0, _Look(why=f"cannot be looked at ({type(error).__name__})")
        if state["Running"]:
            paused = _Look(why="was paused (docker pause)", for_sure=True)
            return int(state["Pid"]), paused if state["Paused"] else None
        since_ns = mono_ns_of(str(state["FinishedAt"]))
        what = f"ended with exit code {state['ExitCode']}"
        return 0, _Look(why=what, for_sure=True, since_ns=since_ns)


def no_engine(error: DockerException) -> FailedPart:
    """For an engine that did not answer when its watch was to begin."""
    now_ns = time.monotonic_ns()
    return FailedPart(
        part=ENGINE, what=f"does not answer ({error})", since_ns=now_ns, mend=_ENGINES
    )


def _logs_of(container: Container) -> str:
    return f"look at: docker logs {container.name}"
