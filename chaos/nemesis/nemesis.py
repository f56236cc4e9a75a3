"""Injects faults as planned and records each: start, bit, heal, healed, evidence.

Windows follow one another; one that starts late, because a cure took its time, is held as long as
planned. In a schedule of windows side by side each keeps its own times, and takes only nodes and
links that no other fault holds (`book.py`). There, and where windows were drawn at random, a window
that found no node to hit was no fault, and is recorded so; kinds of faults that did not bite are
made up for afterwards, one after another. Every failure of a fault is recorded in its evidence. A
script (`script.py`) goes from step to step, and waits for the condition of each.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

from chaos.cluster.cluster_errors import DiedAtStartError, NeverReadyError
from chaos.cluster.interface import Cluster, Link, NodeId, NodeStatus
from chaos.cluster.topology import controllers_of
from chaos.nemesis.aim import NoVictimError, resolve
from chaos.nemesis.awaited import ClusterView, Led, Sight, unled
from chaos.nemesis.book import FaultLog, LastingFaults, ScheduleContent
from chaos.nemesis.fault import Aspect, Fault, Hit, cure, inject, links_of, parameters_of
from chaos.nemesis.proof import of_failure, of_nodes
from chaos.nemesis.recorded import windows_as_json
from chaos.nemesis.script import (
    Begin,
    End,
    Rest,
    Schedule,
    Script,
    ScriptStep,
    StartAll,
    Until,
    UntilLed,
    UntilNoVoter,
    Window,
    in_words,
)
from chaos.nemesis.victims import OneNode
from chaos.probes import NoLeaderError, QuorumProbe
from chaos.recorder import Recorder
from checkers.history.events import FaultStage
from workloads.operator import NeverChangedError, Operator

_PATIENCE_S = 0.5  # for a leader, which other faults may prevent
# The least hold of a kind of fault that never bit among others and is tried alone, and the number
# of tries.
_WHOLE_S = 30.0
_LEAST_HOLD_S = 1.0
_MOST_TRIES = 4


class ClusterBrokenError(Exception):
    """A fault could not be cured: the cluster is not what the run needs any more."""


class NeverBackError(ClusterBrokenError):
    """A node does not start again after a fault."""


class SilentError(ClusterBrokenError):
    """A node that was restarted after a fault runs, and does not answer."""


class LeaderlessError(ClusterBrokenError):
    """No leader is elected, of the quorum or of a partition, although the nodes that no fault holds
    would be enough."""


class VotersStuckError(ClusterBrokenError):
    """The voters do not change as an operator requested."""


class ConditionTimeoutError(Exception):
    """A condition of a script was not met in time; the message says which, and the state of the
    cluster."""


@dataclass(slots=True, kw_only=True)
class _Opened:
    """A fault of a script that has begun. `wants` are links to be cut that another fault held when
    it began."""

    number: int
    hit: Hit
    wants: frozenset[Link]


class Nemesis:
    """One schedule, applied once."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        probe: QuorumProbe,
        recorder: Recorder,
        seed: int,
        directory: Path,
        tell: Callable[[str], None],
        lookout: ClusterView | None = None,
        operator: Operator | None = None,
    ) -> None:
        """`lookout`: where there are partitions to look at; `operator`: where there are voters."""
        self._cluster = cluster
        self._probe = probe
        self._rng = random.Random(f"{seed}:nemesis")
        self._book = FaultLog(recorder, directory, seed)
        self._tell = tell
        self._lookout = lookout
        self._operator = operator
        self._held = LastingFaults()
        self._content: ScheduleContent = {}
        self._last_epoch = -1  # in which the quorum reported a leader
        # by the name that the script gives the fault
        self._last_hit: dict[str, Collection[NodeId]] = {}

    @property
    def current(self) -> str:
        """The faults in progress, for the progress line."""
        return "; ".join(_what(hit) for hit in self._held.hits)

    @property
    def lasting(self) -> tuple[Hit, ...]:
        """The faults in progress, the oldest first."""
        return tuple(self._held.hits)

    async def run(self, schedule: Schedule) -> None:
        """Run all windows and the quiet after the last. Raises ClusterBrokenError."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        content = self._content = {**self._content, **windows_as_json(schedule)}
        self._book.save(content)
        if schedule.side_by_side:
            async with asyncio.TaskGroup() as group:
                for window in schedule.windows:
                    group.create_task(self._in_time(window, schedule, content, began))
        else:
            for window in schedule.windows:
                await self._in_time(window, schedule, content, began)
        if schedule.passes_over:
            await self._make_up(schedule, content)
        await asyncio.sleep(max(0.0, began + schedule.duration_s - loop.time()))

    async def _make_up(self, schedule: Schedule, content: ScheduleContent) -> None:
        """Let each kind of fault that never bit among the others bite alone, once all are cured.

        A kind that was planned and never struck voids the run. Its windows are tried in order, and
        held longer each time: what a fault needs to bite (a write, a connection) happens in the
        end.
        """
        for kind in dict.fromkeys(window.fault.kind for window in schedule.windows):
            windows = [window for window in schedule.windows if window.fault.kind == kind]
            for number, window in enumerate(islice(cycle(windows), _MOST_TRIES)):
                if self._book.has_bitten(kind) or not await self._probe.wait_until_whole(_WHOLE_S):
                    break
                hold_s = round(max(window.hold_s, _LEAST_HOLD_S) * (1 + number), 3)
                fault = self._book.add(window.fault, hold_s=hold_s)
                await self._one(fault, window.fault, hold_s, schedule)
                self._book.save(content)

    async def follow(self, script: Script, *, name: str = "script") -> None:
        """Run all steps; needs a lookout. Raises ClusterBrokenError, ConditionTimeoutError.

        `name`: under which `schedule.json` has the steps.
        """
        told = {name: [in_words(step) for step in script.steps]}
        content = self._content = {**self._content, **told}
        self._book.save(content)
        opened: dict[str, _Opened] = {}
        for step in script.steps:
            try:
                await self._step(step, opened)
            finally:
                self._book.save(content)

    async def _step(self, step: ScriptStep, opened: dict[str, _Opened]) -> None:
        match step:
            case Begin(name=name, fault=fault):
                number = self._book.add(fault)
                hurt: Collection[NodeId] = _hurt(other.hit for other in opened.values())
                if isinstance(fault.victim, OneNode):  # intended, whatever else is wrong with it
                    hurt = self._held.nodes(fault)
                nodes, links = await self._aim(fault, alone=True, hurt=hurt)
                free = self._held.free(fault, links)
                hit = await self._begin(number, fault, nodes, free)
                opened[name] = _Opened(number=number, hit=hit, wants=frozenset(links))
                self._last_hit[name] = hit.nodes
            case End(name=name):
                ends = opened.pop(name)
                for other in opened.values():
                    self._hand_over(ends, other)
                await self._end(ends.number, ends.hit)
            case Until():
                await self._until(step)
            case Rest(seconds=seconds):
                await asyncio.sleep(seconds)
            case StartAll():
                await self._cluster.start_all()
            case UntilLed():
                await self._until_led(step)
            case UntilNoVoter():
                await self._until_no_voter(step)

    def _hand_over(self, ends: _Opened, other: _Opened) -> None:
        """A link that another fault is to cut as well stays cut, and that fault heals it."""
        shared = tuple(link for link in ends.hit.links if link in other.wants)
        kept = tuple(link for link in ends.hit.links if link not in other.wants)
        for one, links in ((other, other.hit.links + shared), (ends, kept)):
            hit = replace(one.hit, links=links)
            self._held.replace(one.hit, hit)
            one.hit = hit

    async def _until(self, step: Until) -> None:
        assert self._lookout is not None, step
        loop = asyncio.get_running_loop()
        began = loop.time()
        if not await self._lookout.wait_for(step.condition, step.within_s):
            await refuse_dead(self._cluster, _hurt(self._held.hits))
            sight = await self._lookout.look()
            await self._refuse_unled(sight)
            raise ConditionTimeoutError(
                f"timed out after {step.within_s:g} s waiting until {step.condition}; "
                f"last seen: {sight}"
            )
        self._tell(f"after {loop.time() - began:.1f} s {step.condition}")

    async def _until_led(self, step: UntilLed) -> None:
        after = self._last_epoch if step.anew else -1
        try:
            leader = await self._probe.leader_after(after, step.within_s)
        except NoLeaderError as error:
            await refuse_dead(self._cluster, _hurt(self._held.hits))
            await self._refuse_leaderless(error)
            raise ConditionTimeoutError(str(error)) from error
        self._last_epoch = leader.epoch
        self._tell(f"node {leader.node} leads the quorum in epoch {leader.epoch}")

    async def _until_no_voter(self, step: UntilNoVoter) -> None:
        nodes = self._last_hit[step.name]
        told = ", ".join(f"node {node}" for node in nodes)
        try:
            await self._probe.without(nodes, step.within_s)
        except NoLeaderError as error:
            await refuse_dead(self._cluster, _hurt(self._held.hits))
            raise ConditionTimeoutError(str(error)) from error
        self._tell(f"the leader counts {told} among the voters no more")

    async def _in_time(
        self, window: Window, schedule: Schedule, content: ScheduleContent, began: float
    ) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, began + window.at_s - loop.time()))
        number = self._book.add(window.fault, at_s=window.at_s, hold_s=window.hold_s)
        try:
            await self._one(number, window.fault, window.hold_s, schedule)
        finally:
            self._book.save(content)

    async def _one(self, number: int, fault: Fault, hold_s: float, schedule: Schedule) -> None:
        try:
            nodes, links = await self._aim(fault, alone=not schedule.side_by_side)
        except NoVictimError as error:
            if schedule.passes_over:
                self._book.pass_over(number, str(error))
            else:
                self._book.start(number, (), ())
                self._book.evidence(number, of_failure("no node to hit", error))
            return
        hit = await self._begin(number, fault, nodes, links)
        await asyncio.sleep(hold_s)
        await self._end(number, hit)

    async def _begin(
        self, number: int, fault: Fault, nodes: tuple[NodeId, ...], links: tuple[Link, ...]
    ) -> Hit:
        hit = Hit(fault=fault, nodes=nodes, links=links, operator=self._operator)
        self._held.add(hit)  # at once: the next may be aimed while this one is injected
        self._book.start(number, nodes, links)
        return await self._inject(number, hit)

    async def _end(self, number: int, hit: Hit) -> None:
        await self._cure(number, hit)
        self._held.remove(hit)

    async def _aim(
        self, fault: Fault, *, alone: bool, hurt: Collection[NodeId] = ()
    ) -> tuple[tuple[NodeId, ...], tuple[Link, ...]]:
        """The nodes to hit, among those that are free and not `hurt`. Raises NoVictimError, and
        LeaderlessError if no node leads although one could."""
        if alone:
            nodes = await self._aimed_alone(fault, hurt)
            return nodes, links_of(fault, nodes, self._cluster)
        found = await resolve(
            fault.victim,
            self._cluster,
            self._probe,
            self._rng,
            held=self._held.nodes(fault),
            patience_s=_PATIENCE_S,
            lookout=self._lookout,
        )
        taken = self._held.nodes(fault)  # perhaps more than before: finding a leader takes time
        nodes = tuple(node for node in found if node not in taken)
        all_links = links_of(fault, nodes, self._cluster)
        links = self._held.free(fault, all_links)
        if not nodes or (all_links and not links) or self._held.is_impossible(fault):
            raise NoVictimError("another fault holds it")
        return nodes, links

    async def _aimed_alone(self, fault: Fault, hurt: Collection[NodeId]) -> tuple[NodeId, ...]:
        async def aimed() -> tuple[NodeId, ...]:
            return await resolve(
                fault.victim,
                self._cluster,
                self._probe,
                self._rng,
                held=hurt,
                lookout=self._lookout,
            )

        try:
            return await aimed()
        except NoVictimError as error:
            if not isinstance(error.__cause__, NoLeaderError):
                raise
            await self._refuse_leaderless(error.__cause__)
            return await aimed()  # a node leads by now, or may not be there

    async def _refuse_leaderless(self, error: NoLeaderError) -> None:
        """Raises LeaderlessError if no voter is elected within the time that the cluster may take
        to be whole, although no fault holds a majority of them."""
        voters = controllers_of(self._cluster)
        free = [node for node in await self._untouched() if node in voters]
        if 2 * len(free) <= len(voters) or await self._is_led():
            return
        told = ", ".join(f"node {node}" for node in free)
        raise LeaderlessError(
            f"{error}, and none led {_WHOLE_S:g} s later, although no fault holds {told}: "
            f"{len(free)} of {len(voters)} controllers"
        ) from error

    async def _refuse_unled(self, sight: Sight) -> None:
        """Raises LeaderlessError if a partition stays without a leader for that long, although the
        quorum has one, and brokers run that may lead it."""
        if self._lookout is None or not unled(sight, await self._untouched()):
            return
        if not await self._is_led() or await self._lookout.wait_for(Led(), _WHOLE_S):
            return
        if why := unled(await self._lookout.look(), await self._untouched()):
            raise LeaderlessError(f"for {_WHOLE_S:g} s {why}")

    async def _is_led(self) -> bool:
        try:
            await self._probe.leader(_WHOLE_S)
        except NoLeaderError:
            return False
        return True

    async def _untouched(self) -> list[NodeId]:
        """The running nodes that no fault holds; none while links are slow."""
        if any(hit.fault.aspect is Aspect.LATENCY for hit in self._held.hits):
            return []
        hurt = {node for hit in self._held.hits for node in hit.nodes}
        hurt |= {end for hit in self._held.hits for link in hit.links for end in _ends(link)}
        nodes = [node for node in self._cluster.nodes if node not in hurt]
        statuses = [(node, await self._cluster.status(node)) for node in nodes]
        return [node for node, status in statuses if status is NodeStatus.RUNNING]

    async def _inject(self, number: int, hit: Hit) -> Hit:
        try:
            injected = await inject(self._cluster, hit.fault, hit.nodes, hit.links, hit.operator)
        except NeverChangedError as error:
            self._book.evidence(number, of_failure("the voters did not change", error))
            raise VotersStuckError(f"{_what(hit)}: {error}") from error
        except Exception as error:
            self._book.evidence(number, of_failure("injection failed", error))
            raise ClusterBrokenError(f"{_what(hit)} could not be injected: {error}") from error
        self._book.stage(number, FaultStage.BIT)
        self._tell(f"{_what(hit)}{_ways(parameters_of(hit.fault))}")
        self._held.replace(hit, injected)
        return injected

    async def _cure(self, number: int, hit: Hit) -> None:
        self._book.stage(number, FaultStage.HEAL)
        try:
            evidence = await cure(self._cluster, hit)
        except Exception as error:
            measured = of_nodes(hit.evidence, hit.nodes)
            self._book.evidence(number, of_failure("cure failed", error, measured))
            if isinstance(error, NeverChangedError):
                raise VotersStuckError(f"after {_what(hit)}: {error}") from error
            if isinstance(error, DiedAtStartError):
                raise NeverBackError(f"after {_what(hit)}: {error}") from error
            if isinstance(error, NeverReadyError):
                raise SilentError(f"after {_what(hit)}: {error}") from error
            raise ClusterBrokenError(f"{_what(hit)} could not be cured: {error}") from error
        self._book.stage(number, FaultStage.HEALED)
        self._book.evidence(number, evidence)
        healed = "healed" if len(self._held.hits) == 1 else f"healed {_what(hit)}"
        self._tell(f"{healed}; {'it bit' if evidence.bit else 'IT DID NOT BITE'}: {evidence.what}")


async def refuse_dead(cluster: Cluster, hurt: Collection[NodeId] = ()) -> None:
    """Raises NeverBackError if a node is off that no fault keeps off: a slow machine is no
    excuse."""
    for node in cluster.nodes:
        if node not in hurt and await cluster.status(node) is NodeStatus.OFF:
            words = [end.words for end in await cluster.unasked_ends() if end.node == node]
            raise NeverBackError("\n".join([f"node {node} ended by itself", *words[-1:]]))


def _hurt(hits: Iterable[Hit]) -> list[NodeId]:
    """The nodes that a fault holds; a fault that slows all links holds none of them."""
    machines = [hit for hit in hits if hit.fault.aspect is not Aspect.LATENCY]
    return [node for hit in machines for node in hit.nodes]


def _ends(link: Link) -> tuple[NodeId, NodeId]:
    return link.source, link.destination


def _what(hit: Hit) -> str:
    return f"{hit.fault.kind} of {', '.join(f'node {node}' for node in hit.nodes)}"


def _ways(parameters: dict[str, str]) -> str:
    return "".join(f", {name} {value}" for name, value in sorted(parameters.items()))
