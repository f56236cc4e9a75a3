"""The processes of a cluster's nodes: starts, stops, kills, pauses and inspects them."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

from docker.models.containers import Container

from chaos.cluster import fault_evidence
from chaos.cluster.docker.assembly import Parts
from chaos.cluster.docker.power_cuts import kill as kill_container
from chaos.cluster.docker.readiness import last_words
from chaos.cluster.interface import FaultEvidence, NodeId, NodeStatus, UnaskedEnd

_IN_THE_KERNEL_S = 0.5  # at a time, of a thread that writes to a disk


class NodeProcesses:
    """All nodes of one cluster.

    The engine forgets a process once another one is started in its container, so before anything is
    done to a node it is asked whether the last process ended unasked.
    """

    def __init__(self, parts: Parts, *, stops_within_s: int) -> None:
        self._parts = parts
        self._stops_within_s = stops_within_s
        self._should_run = set(parts.containers)
        self._unasked_ends: list[UnaskedEnd] = []

    def container(self, node: NodeId) -> Container:
        """With the engine's current data."""
        container = self._parts.containers[node]
        container.reload()
        return container

    def unasked_ends(self) -> Sequence[UnaskedEnd]:
        """All of them, in the order in which they ended."""
        for node in sorted(self._should_run):
            self._note_unasked_end(self.container(node), node)
        return sorted(self._unasked_ends, key=lambda end: end.mono_ns)

    def is_off(self, nodes: Sequence[NodeId]) -> None:
        """The harness ended these itself, or is about to."""
        for node in nodes:
            self._note_unasked_end(self.container(node), node)
        self._should_run.difference_update(nodes)

    def _note_unasked_end(self, container: Container, node: NodeId) -> None:
        state = container.attrs["State"]
        if node not in self._should_run or state["Running"]:
            return
        self._should_run.remove(node)
        self._unasked_ends.append(_unasked_end(container, node))

    def status(self, node: NodeId) -> NodeStatus:
        if node not in self._parts.containers:  # its first start is yet to come
            return NodeStatus.OFF
        state = self.container(node).attrs["State"]
        if not state["Running"]:
            return NodeStatus.OFF
        agent = self._parts.agent
        paused = bool(state["Paused"])
        if agent is not None and not paused:
            paused = is_paused(lambda: str(agent.call("states", pid=state["Pid"])))
        return NodeStatus.PAUSED if paused else NodeStatus.RUNNING

    def start(self, node: NodeId) -> bool:
        """Whether a process began: none does if one runs."""
        container = self.container(node)
        self._note_unasked_end(container, node)
        ran = bool(container.attrs["State"]["Running"])
        self._reachable(node, on=True)
        container.start()
        self._should_run.add(node)
        return not ran

    def stop(self, node: NodeId) -> bool:
        """Whether the process ended by itself: the engine kills one that exceeds its time."""
        self.is_off([node])
        container = self.container(node)
        ran = bool(container.attrs["State"]["Running"])
        if ran:
            self.resume(node)
            container.stop(timeout=self._stops_within_s)
            container.reload()
        self._reachable(node, on=False)
        exit_code = int(container.attrs["State"]["ExitCode"])
        if ran and exit_code not in (*fault_evidence.IN_ORDER, fault_evidence.SIGKILLED):
            failed = replace(_unasked_end(container, node), told_to_stop=True)
            self._unasked_ends.append(failed)
        return not ran or exit_code != fault_evidence.SIGKILLED

    def stop_all(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, int]:
        """Stop several at one moment; their exit codes."""
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            list(pool.map(self.stop, nodes))
        return {node: int(self.container(node).attrs["State"]["ExitCode"]) for node in nodes}

    def kill(self, node: NodeId) -> FaultEvidence:
        self.is_off([node])
        container = self.container(node)
        ran = bool(container.attrs["State"]["Running"])
        if ran:
            kill_container(container)
        container.reload()
        state = container.attrs["State"]
        runs = bool(state["Running"])
        self._reachable(node, on=runs)
        return fault_evidence.of_kill(ran, runs, int(state["ExitCode"]))

    def pause(self, node: NodeId) -> FaultEvidence:
        """By SIGSTOP: the freezer of cgroup v1 sometimes fails under fsync load."""
        container = self.container(node)
        agent, pid = self._parts.agent, int(container.attrs["State"]["Pid"])
        if agent is None:
            container.pause()
            container.reload()
            paused = bool(container.attrs["State"]["Paused"])
            what = "the engine froze it" if paused else "the engine did not freeze it"
            return FaultEvidence(bit=paused, what=what, facts={"frozen": paused})
        if pid == 0:
            return fault_evidence.of_pause("")
        agent.call("quiesce", pids=[pid])
        return fault_evidence.of_pause(str(agent.call("states", pid=pid)))

    def resume(self, node: NodeId) -> None:
        container = self.container(node)
        agent, pid = self._parts.agent, int(container.attrs["State"]["Pid"])
        if container.attrs["State"]["Paused"]:
            container.unpause()
        elif agent is not None and pid != 0:
            agent.call("resume", pid=pid)

    def proxy_pid(self) -> int:
        self._parts.proxy.reload()
        return int(self._parts.proxy.attrs["State"]["Pid"])

    def _reachable(self, node: NodeId, *, on: bool) -> None:
        """A node that is off becomes unreachable at once: the proxy would block on dialling it."""
        if self._parts.agent is not None:
            address = self._parts.topology.networks[node].address
            where = {"pid": self.proxy_pid(), "address": address}
            self._parts.agent.call("unreachable", **where, on=not on)

    def pids(self) -> dict[NodeId, int]:
        """The pid of every node's first process; 0 if the node is off."""
        containers = {node: self.container(node) for node in sorted(self._parts.containers)}
        return {node: int(each.attrs["State"]["Pid"]) for node, each in containers.items()}


def _unasked_end(container: Container, node: NodeId) -> UnaskedEnd:
    state = container.attrs["State"]
    return UnaskedEnd(
        node=node,
        mono_ns=mono_ns_of(str(state["FinishedAt"])),
        exit_code=int(state["ExitCode"]),
        words=last_words(container),
    )


def mono_ns_of(finished_at: str) -> int:
    """The monotonic time of a moment for which the engine has the wall clock, in RFC 3339."""
    ago_s = time.time() - datetime.fromisoformat(finished_at).timestamp()
    return time.monotonic_ns() - int(ago_s * 1e9)


def is_paused(look: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> bool:
    """Whether all threads of a node stand still, by the letters of their states. A node that is
    looked at in the middle of an fsync, all of its threads in the kernel (D), is looked at again:
    it moves soon, unless it is paused, or its disk hangs."""
    deadline = clock() + _IN_THE_KERNEL_S
    while True:
        states = look()
        if set(states) != {"D"} or clock() > deadline:
            return fault_evidence.of_pause(states).bit
