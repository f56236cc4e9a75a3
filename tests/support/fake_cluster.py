"""A cluster in this process: real frames (by kio), in virtual time or on loopback sockets, and one
map of registers.

It keeps every Protocol of `chaos.cluster.interface`, and can be told to misbehave: to say that a
fault did not bite, to break at a step, or to answer writes in ways that test what clients record.
Nodes share the registers, so a healthy one is linearizable and loses nothing.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID, uuid4

from chaos.cluster.interface import (
    Address,
    Advertised,
    AlteredMinIsr,
    DiskSickness,
    DiskTrouble,
    ElectionType,
    FaultEvidence,
    Link,
    NodeId,
    NodeStatus,
    PowerCutMode,
    Reaped,
    UnaskedEnd,
)
from tests.support.fake_node import FakeNode, Registers


class FakeCluster:
    """Every power of a cluster, instantly. `bites=False`: faults do nothing, and say so."""

    version = "fake 1"
    traces = True
    judged_by_logs = False

    def __init__(
        self,
        nodes: int = 3,
        *,
        bites: bool = True,
        break_at: str = "",
        election_s: float = 0.05,
        run_id: str = "fake",
    ) -> None:
        self.registers = Registers()
        self.fakes = {
            NodeId(number): FakeNode(number, self.registers) for number in range(1, nodes + 1)
        }
        self.registers.replicas = {number: uuid4() for number in range(1, nodes + 1)}
        self.registers.voters = set(self.registers.replicas.items())
        self.bites = bites
        self.break_at = break_at
        self.run_id = run_id
        self.calls: list[str] = []
        self.cut_links: set[Link] = set()
        self.switched: list[NodeId] = []  # to the other program, in this order
        self.destroyed = False
        self.reaped: Sequence[Reaped] = ()
        self.no_power = ""
        self._election_s = election_s
        self._elections: set[asyncio.Task[None]] = set()

    @property
    def nodes(self) -> Sequence[NodeId]:
        return tuple(self.fakes)

    @property
    def bootstrap(self) -> Mapping[NodeId, Address]:
        return {node: Address("127.0.0.1", fake.port) for node, fake in self.fakes.items()}

    @property
    def entries(self) -> Mapping[NodeId, Address]:
        return self.bootstrap

    async def create(self) -> None:
        self._called("create")
        await self._start_all()

    async def prepare(self) -> None:
        self._called("prepare")
        for fake in self.fakes.values():  # each takes the port on which it is reached later on
            await fake.start()
            await fake.stop()

    async def start_all(self) -> None:
        self._called("start_all")
        await self._start_all()

    async def _start_all(self) -> None:
        for fake in self.fakes.values():
            await fake.start()
        self._elect()

    async def until_ready(self) -> None:
        self._called("until_ready")

    async def status(self, node: NodeId) -> NodeStatus:
        return self.fakes[node].status

    async def start(self, node: NodeId) -> None:
        self._called(f"start {node}")
        await self.fakes[node].start()
        self._elect()

    @property
    def starts(self) -> Mapping[NodeId, int]:
        return dict.fromkeys(self.nodes, 0)  # none of them traces anything

    async def unasked_ends(self) -> Sequence[UnaskedEnd]:
        return ()

    async def stop(self, node: NodeId) -> bool:
        self._called(f"stop {node}")
        if self.bites:
            await self.fakes[node].stop()
            self._lead_anew(node)
        return True

    async def collect(self, into: Path) -> None:
        self._called("collect")
        (into / "logs").mkdir(exist_ok=True)
        for node in self.nodes:
            (into / "logs" / f"node-{node}.log").write_text("a fake has nothing to say\n")

    async def log(self, node: NodeId) -> str:
        return f"node {node} is a fake\n"

    def let_go(self) -> None:
        """It holds nothing."""

    async def destroy(self) -> None:
        self.destroyed = True
        for task in self._elections:
            task.cancel()
        for fake in self.fakes.values():
            await fake.stop()
            fake.give_back_port()
        self._called("destroy")

    async def kill(self, node: NodeId) -> FaultEvidence:
        self._called(f"kill {node}")
        if self.bites:
            await self.fakes[node].stop()
            self._lead_anew(node)
        return FaultEvidence(bit=self.bites, what="exit code 137", facts={"exit_code": 137})

    async def wipe(self, node: NodeId) -> FaultEvidence:
        """The registers are shared, so nothing is forgotten."""
        self._called(f"wipe {node}")
        before, after = self.registers.replicas[node], uuid4()
        if self.bites:
            self.registers.replicas[node] = after
        facts = {"directory_id_before": _text(before), "directory_id_after": _text(after)}
        return FaultEvidence(bit=self.bites, what="a new directory id", facts=facts)

    async def close_entrances(self, nodes: Sequence[NodeId]) -> None:
        self._called(f"close_entrances {' '.join(map(str, nodes))}")

    async def open_entrances(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, FaultEvidence]:
        self._called(f"open_entrances {' '.join(map(str, nodes))}")
        return {node: FaultEvidence(bit=self.bites, what="swallowed 100 bytes") for node in nodes}

    async def pause(self, node: NodeId) -> FaultEvidence:
        self._called(f"pause {node}")
        if self.bites:
            self.fakes[node].pause()
            self._lead_anew(node)
        return FaultEvidence(bit=self.bites, what="all threads stand still", facts={"threads": 4})

    async def resume(self, node: NodeId) -> None:
        self._called(f"resume {node}")
        self.fakes[node].resume()
        self._elect()

    async def cut(self, links: Sequence[Link]) -> None:
        self._called(f"cut {' '.join(map(str, links))}")
        self.cut_links.update(links)
        if self.bites and self.registers.leader in {link.source for link in links}:
            self._lead_anew(NodeId(self.registers.leader))

    async def heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        self._called(f"heal {' '.join(map(str, links))}")
        self.cut_links.difference_update(links)
        self._elect()
        what = "swallowed 100 bytes" if self.bites else "swallowed nothing"
        return {
            link: FaultEvidence(bit=self.bites, what=what, facts={"swallowed": 100 * self.bites})
            for link in links
        }

    async def power_off(
        self, nodes: Sequence[NodeId], mode: PowerCutMode = PowerCutMode.LOSE_ALL
    ) -> Mapping[NodeId, FaultEvidence]:
        self._called(f"power_off {' '.join(map(str, nodes))} {mode}")
        for node in nodes if self.bites else ():
            await self.fakes[node].stop()
        for node in nodes if self.bites else ():
            self._lead_anew(node)
        return {node: FaultEvidence(bit=False, what="not on again yet") for node in nodes}

    async def stop_then_power_off(
        self, nodes: Sequence[NodeId], *, synced: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        self._called(f"stop_then_power_off {' '.join(map(str, nodes))} synced={synced}")
        for node in nodes if self.bites else ():
            await self.fakes[node].stop()
            self._lead_anew(node)
        return {node: FaultEvidence(bit=False, what="not on again yet") for node in nodes}

    async def sync_disk(self, node: NodeId) -> FaultEvidence:
        self._called(f"sync_disk {node}")
        return FaultEvidence(bit=self.bites, what="written out")

    async def move_replicas(self, node: NodeId) -> FaultEvidence:
        self._called(f"move_replicas {node}")
        return FaultEvidence(bit=self.bites, what="3 replicas lie in another log directory")

    async def set_elr_level(self, node: NodeId, level: int) -> FaultEvidence:
        self._called(f"set_elr_level {node} {level}")
        return FaultEvidence(bit=self.bites, what=f"level {level} is final")

    async def elect_leaders(self, node: NodeId, election: ElectionType) -> FaultEvidence:
        self._called(f"elect_leaders {node} {election}")
        return FaultEvidence(bit=self.bites, what="1 leader was elected, and all others are led")

    async def set_min_isr(self, node: NodeId, value: AlteredMinIsr) -> FaultEvidence:
        self._called(f"set_min_isr {node} {value}")
        return FaultEvidence(bit=self.bites, what=f"min.insync.replicas is {value} for 1 topic")

    async def reassign_partitions(self, node: NodeId) -> FaultEvidence:
        self._called(f"reassign_partitions {node}")
        return FaultEvidence(bit=self.bites, what="2 partitions moved to it")

    async def cancel_reassignments(self, node: NodeId) -> FaultEvidence:
        self._called(f"cancel_reassignments {node}")
        return FaultEvidence(bit=self.bites, what="2 reassignments were cancelled")

    async def readdress(self, node: NodeId, advertised: Advertised) -> FaultEvidence:
        self._called(f"readdress {node} {advertised}")
        return FaultEvidence(bit=self.bites, what="the quorum has committed it")

    async def address_as_before(self, node: NodeId) -> None:
        self._called(f"address_as_before {node}")

    async def program(self, node: NodeId) -> str:
        self._called(f"program {node}")
        return f"program {self.switched.count(node) % 2}"

    async def switch_program(self, node: NodeId) -> None:
        self._called(f"switch_program {node}")
        if self.bites:
            self.switched.append(node)

    async def vote(self, node: NodeId) -> NodeId | None:
        """Each stood."""
        self._called(f"vote {node}")
        return node

    async def trouble_disks(self, nodes: Sequence[NodeId], trouble: DiskTrouble) -> None:
        self._called(f"trouble_disks {' '.join(map(str, nodes))} {trouble}")

    async def slow_links(self, latency_ms: int) -> None:
        self._called(f"slow_links {latency_ms}")

    async def quicken_links(self) -> FaultEvidence:
        self._called("quicken_links")
        return FaultEvidence(bit=self.bites, what="an answer took its time")

    async def make_flaky(self, links: Sequence[Link], share: float) -> None:
        self._called(f"make_flaky {' '.join(map(str, links))} {share:g}")

    async def steady(self, links: Sequence[Link]) -> FaultEvidence:
        self._called(f"steady {' '.join(map(str, links))}")
        return FaultEvidence(bit=self.bites, what="9 connections were reset")

    async def sicken_disk(self, node: NodeId, sickness: DiskSickness) -> None:
        self._called(f"sicken_disk {node} {sickness}")

    async def mend_disk(self, node: NodeId) -> FaultEvidence:
        self._called(f"mend_disk {node}")
        return FaultEvidence(bit=self.bites, what="the node died of its disk")

    async def jump_clock(self, node: NodeId, offset_ms: int) -> FaultEvidence:
        self._called(f"jump_clock {node} {offset_ms}")
        return FaultEvidence(bit=self.bites, what="its time of day is off")

    async def run_clock(self, node: NodeId, rate: float) -> FaultEvidence:
        self._called(f"run_clock {node} {rate:g}")
        return FaultEvidence(bit=self.bites, what="its clock goes at another rate")

    async def power_evidence(self, node: NodeId) -> FaultEvidence:
        self._called(f"power_evidence {node}")
        what = "the canary is old" if self.bites else "the canary is new"
        return FaultEvidence(bit=self.bites, what=what)

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if self.break_at and what.startswith(self.break_at):
            raise RuntimeError(f"{what} broke, as planned")

    def _lead_anew(self, victim: NodeId) -> None:
        """The victim leads no more; another one does in a moment."""
        if self.registers.leader != victim:
            return
        self.registers.leader = None

        async def elect() -> None:
            await asyncio.sleep(self._election_s)
            self._elect(avoid=victim)

        task = asyncio.ensure_future(elect())
        self._elections.add(task)
        task.add_done_callback(self._elections.discard)

    def _elect(self, avoid: NodeId | None = None) -> None:
        if self.registers.leader is not None:
            return
        running = [
            node
            for node, fake in self.fakes.items()
            if fake.status is NodeStatus.RUNNING and node != avoid
        ]
        if len(running) * 2 > len(self.fakes):
            self.registers.epoch += 1
            self.registers.leader = running[0]


def _text(directory: UUID) -> str:
    return base64.urlsafe_b64encode(directory.bytes).decode().rstrip("=")
