"""Power cuts, in the order that was measured to be sound.

0. If syncs were made slow, waiting ones are held back: they must not end in the meantime. Stalled
   ones are held a second longer, so that earlier answers arrive.
1. Every process of all victims is stopped, and no thread of them can run: an fsync that is in
   flight during the shutdown may return 0 although nothing reached the disk.
2. The canary, a block synced long ago, is overwritten and not synced.
3. The network falls silent before anything dies, else the kill would send FIN and RST; before that
   the node's address becomes unreachable for the proxy, which would block on dialling it.
4. The file system is shut down without a last flush; only then SIGKILL, as its unmount would flush.
5. The kernel lets go of the file system; an earlier mount finds the dead one.

If nodes are to be stopped before their power fails, their file systems are held: the unmount at the
end of a process would flush. All is still then, and steps 2, 4 (without the kill) and 5 remain.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import TypeVar

import docker
import requests
from docker.models.containers import Container
from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_delay, wait_fixed

from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.agent_program import CANARY, SYNCED
from chaos.cluster.docker.labels import RunLabels
from chaos.cluster.fault_evidence import FORGOTTEN, PowerCutMeasured
from chaos.cluster.interface import DiskTrouble, NodeId, PowerCutMode
from chaos.cluster.targets.target import DATA
from chaos.cluster.topology import Topology, host_name
from chaos.container_files import read_file

FLAGS = {PowerCutMode.LOSE_ALL: 2, PowerCutMode.LOSE_DATA: 1, PowerCutMode.TORN: 1}
MEMORY = "power "
# What strace does to a sync: hold it back for this many microseconds, or answer in its place.
INJECTED = {
    DiskTrouble.SLOW: "delay_enter=40000",
    DiskTrouble.STALLED: "delay_enter=1000000",
    DiskTrouble.LYING: "retval=0",
}
# Answers that were sent before the syncs were held are still on their way through the proxy to
# clients, and nothing shows when the last one has arrived. With an earlier cut, an
# acknowledgement would never be recorded, and its loss would be no node's fault.
ANSWERS_ARRIVE_S = 1.0
KILLED_WITHIN_S = 5.0
STILL_WITHIN_S = 2.0
STILL_RUNS = -1  # in place of an exit code

T = TypeVar("T")
# How the agent reaches a disk: a process, and a path as that process sees it.
Places = Mapping[NodeId, Mapping[str, object]]


class Power:
    """The power of all nodes of one cluster."""

    def __init__(
        self,
        client: docker.DockerClient,
        agent: Agent,
        labels: RunLabels,
        topology: Topology,
        devices: Mapping[NodeId, str],
    ) -> None:
        self._client = client
        self._agent = agent
        self._labels = labels
        self._topology = topology
        self._devices = devices
        self._draws = itertools.count()
        self._troubles: dict[NodeId, DiskTrouble] = {}
        self.cuts = {
            NodeId(int(key.removeprefix(MEMORY))): _read(value)
            for key, value in agent.call("recall", prefix=MEMORY).items()
        }

    def trouble(self, victims: Mapping[NodeId, Container], trouble: DiskTrouble) -> None:
        """Let the syncs of running nodes go wrong, until their power is cut."""
        expression = INJECTED[trouble]
        pids = [_pid(victims[node]) for node in sorted(victims)]
        self._agent.each("trouble", [{"pid": pid, "inject": expression} for pid in pids])
        self._troubles.update(dict.fromkeys(victims, trouble))

    def off(
        self,
        victims: Mapping[NodeId, Container],
        proxy_pid: int,
        mode: PowerCutMode,
        before: Callable[[], None] = lambda: None,
    ) -> Mapping[NodeId, PowerCutMeasured]:
        """Cut the power of several running nodes at one moment; `before` is called when all stand
        still."""
        nodes = sorted(victims)
        pids = {node: _pid(victims[node]) for node in nodes}
        troubled = [pid for node, pid in pids.items() if node in self._troubles]
        try:
            self._hold_syncs(troubled, [pids[node] for node in nodes if self._is_stalled(node)])
            threads = self._quiesce(pids)
            before()
            places = {node: {"pid": pid, "path": DATA} for node, pid in pids.items()}
            overwritten = self._canaries(places)
            self._silence(victims, proxy_pid)
            self._forget(places, mode)
        finally:
            self._agent.call("end_trouble", pids=troubled)
        exit_codes = _side_by_side(lambda node: kill(victims[node]), nodes)
        self.wait_gone(nodes)
        for node in nodes:
            moving = self._moving(node, threads[node])
            cut = PowerCutMeasured(
                mode=mode,
                threads_stopped=len(threads[node]) - moving,
                threads_moving=moving,
                overwritten=overwritten[node],
                exit_code=exit_codes[node],
                trouble=str(self._troubles.get(node, "")),
                troubled=self._troubled(node, pids[node]),
            )
            self._remember(node, cut)
            self._troubles.pop(node, None)
        return {node: self.cuts[node] for node in nodes}

    def _hold_syncs(self, troubled: Sequence[int], stalled: Sequence[int]) -> None:
        self._agent.call("hold_trouble", pids=troubled, waiting=stalled)
        if stalled:
            # A fixed time, since nothing shows when the last answer that was sent has arrived.
            time.sleep(ANSWERS_ARRIVE_S)

    def _is_stalled(self, node: NodeId) -> bool:
        return self._troubles.get(node) is DiskTrouble.STALLED

    def sync(self, container: Container) -> None:
        """Write out the whole disk of a running node."""
        self._agent.call("sync", pid=_pid(container), path=DATA)

    def hold(self, victims: Mapping[NodeId, Container]) -> Places:
        """Keep their disks mounted beyond the end of their processes, until `let_go`."""
        nodes = sorted(victims)
        places = self._agent.each(
            "hold", [{"pid": _pid(victims[node]), "path": DATA} for node in nodes]
        )
        return dict(zip(nodes, places, strict=True))

    def off_stopped(
        self,
        held: Places,
        exit_codes: Mapping[NodeId, int],
        mode: PowerCutMode,
        *,
        synced: bool,
    ) -> Mapping[NodeId, PowerCutMeasured]:
        """Cut the power of held disks after their nodes have ended; sync them before, if
        requested."""
        if synced:
            self._agent.each("sync", list(held.values()))
        overwritten = self._canaries(held)
        self._forget(held, mode)
        for node in held:
            cut = PowerCutMeasured(
                mode=mode,
                threads_stopped=0,
                threads_moving=0,
                overwritten=overwritten[node],
                exit_code=exit_codes[node],
                stopped=True,
                synced=synced,
            )
            self._remember(node, cut)
        return {node: self.cuts[node] for node in held}

    def let_go(self, held: Places) -> None:
        """The last fault that held the disk of a node that is off unmounts it."""
        self._agent.each("let_go", list(held.values()))

    def wait_gone(self, nodes: Iterable[NodeId]) -> None:
        """Wait until the kernel has let go of the disks of nodes that are off."""
        self._agent.each("wait_gone", [{"device": self._devices[node]} for node in nodes])

    def connect(self, node: NodeId, container: Container) -> None:
        """Connect a node that is off to its network again, with its former address."""
        container.reload()
        network = self._labels.name(host_name(node))
        if network not in container.attrs["NetworkSettings"]["Networks"]:
            self._client.api.connect_container_to_network(
                container.id or "", network, ipv4_address=self._topology.networks[node].address
            )

    def look_at_canary(self, node: NodeId, container: Container) -> None:
        """After a start: whether the disk remembers the overwriting before the last cut."""
        cut = self.cuts.get(node)
        if cut is not None and not cut.canary:
            canary = str(self._agent.call("canary_read", pid=_pid(container), path=DATA))
            self._remember(node, replace(cut, canary=canary))

    def look_at_canary_of(self, node: NodeId, container: Container) -> None:
        """The same for a node that is off, before its disk is replaced."""
        cut = self.cuts.get(node)
        if cut is not None and not cut.canary:
            old = read_file(container, f"{DATA}/{CANARY}") == SYNCED
            self._remember(node, replace(cut, canary=FORGOTTEN if old else "something else"))

    def _quiesce(self, pids: Mapping[NodeId, int]) -> dict[NodeId, str]:
        """Stop all victims in one request, at one moment; the states of their threads then.

        A thread with an fsync that just ended still runs for a moment within the kernel, on its way
        to the stop. That moment may be long on a busy machine, so it is waited for.
        """

        def look() -> dict[NodeId, str]:
            states = self._agent.each("states", [{"pid": pid} for pid in pids.values()])
            return {node: str(seen) for node, seen in zip(pids, states, strict=True)}

        def any_moves(seen: dict[NodeId, str]) -> bool:
            return any(self._moving(node, states) for node, states in seen.items())

        self._agent.call("quiesce", pids=list(pids.values()))
        looking = Retrying(
            retry=retry_if_result(any_moves),
            stop=stop_after_delay(STILL_WITHIN_S),
            wait=wait_fixed(0.005),
            retry_error_callback=_last_look,
        )
        return looking(look)

    def _moving(self, node: NodeId, states: str) -> int:
        """How many threads may still act: one that sleeps while its tracer is held may not."""
        return sum(state in ("R" if node in self._troubles else "RS") for state in states)

    def _canaries(self, places: Places) -> dict[NodeId, bool]:
        """Another text for every cut, as the agent requires."""
        number = next(self._draws)
        seen = self._agent.each(
            "canary_overwrite",
            [
                {**place, "token": f"overwriting {number} on node {node}"}
                for node, place in places.items()
            ],
        )
        return dict(zip(places, (bool(done) for done in seen), strict=True))

    def _silence(self, victims: Mapping[NodeId, Container], proxy_pid: int) -> None:
        addresses = [self._topology.networks[node].address for node in victims]
        self._agent.each(
            "unreachable", [{"pid": proxy_pid, "address": a, "on": True} for a in addresses]
        )

        def disconnect(node: NodeId) -> None:
            self._client.api.disconnect_container_from_network(
                victims[node].id or "", self._labels.name(host_name(node))
            )

        _side_by_side(disconnect, sorted(victims))

    def _forget(self, places: Places, mode: PowerCutMode) -> None:
        if mode is PowerCutMode.TORN:
            # Another draw for every cut, and the same ones when a run is repeated by its name.
            number = next(self._draws)
            seeds = {node: f"{self._labels.run_id}:torn:{node}:{number}" for node in places}
            self._agent.each(
                "tear", [{**place, "seed": seeds[node]} for node, place in places.items()]
            )
        self._agent.each("shutdown", [{**place, "flag": FLAGS[mode]} for place in places.values()])

    def _troubled(self, node: NodeId, pid: int) -> int:
        """How many syncs went wrong; a new process begins without trouble."""
        if node not in self._troubles:
            return 0
        return int(self._agent.call("troubled", pid=pid))

    def _remember(self, node: NodeId, cut: PowerCutMeasured) -> None:
        self.cuts[node] = cut
        self._agent.call("remember", key=f"{MEMORY}{node}", value=json.dumps(asdict(cut)))


def _read(text: str) -> PowerCutMeasured:
    fields = json.loads(text)
    return PowerCutMeasured(**{**fields, "mode": PowerCutMode(fields["mode"])})


def _last_look(looked: RetryCallState) -> dict[NodeId, str]:
    """A thread that moves for this long was not stopped: the evidence will say so."""
    assert looked.outcome is not None
    seen: dict[NodeId, str] = looked.outcome.result()
    return seen


def _pid(container: Container) -> int:
    container.reload()
    return int(container.attrs["State"]["Pid"])


def kill(container: Container) -> int:
    """SIGKILL, and wait until the process is gone; its exit code, or -1 if it still runs."""
    container.kill()
    try:
        return int(container.wait(timeout=KILLED_WITHIN_S)["StatusCode"])
    # the library's way to say that it did not end
    except (requests.Timeout, requests.ConnectionError):
        return STILL_RUNS


def _side_by_side(act: Callable[[NodeId], T], nodes: Sequence[NodeId]) -> dict[NodeId, T]:
    with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
        return dict(zip(nodes, pool.map(act, nodes), strict=True))
