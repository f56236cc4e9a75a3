"""The experiment: load and faults on a running cluster.

coming up - first acknowledged write - load and faults - heal - recovery - final reads by fresh
clients
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from chaos.cluster.cluster_errors import ClusterError, DiedAtStartError, FailedPart, MachineryError
from chaos.cluster.interface import Cluster, Guarded, NodeStatus
from chaos.cluster.topology import brokers_of, controller_port, controllers_of, host_name
from chaos.nemesis.fault import Hit
from chaos.nemesis.nemesis import Nemesis, NeverBackError, refuse_dead
from chaos.probes import QuorumProbe, advertised, driver_for
from chaos.recorder import Clock, Phases, Recorder, RecordingError
from chaos.run.own_app import DIRECTORY, TOPIC, OwnApp
from chaos.run.plan import RunPlan
from chaos.run.watches import PartitionWatch, QuorumAnswers, QuorumWatch
from chaos.scenario import WHOLE_S
from checkers.evidence.faults import Kind
from checkers.history.asked import TopicShape
from checkers.history.events import EventType
from checkers.verdict import counted
from workloads.append import AppendOptions
from workloads.clients.administering import RawTopicClient, Topics, until_created
from workloads.connection import ClientEntry
from workloads.operator import Operator
from workloads.workload import Access, ClientError, Servers, Workload

_POLL_S = 0.02
_DEAD_S = 0.5
_SERVERS = {Servers.BROKERS: brokers_of, Servers.CONTROLLERS: controllers_of}


class RunFailedError(Exception):
    """The run cannot go on; the message says what and where."""


class StuckError(RunFailedError):
    """All faults are healed, and the cluster does not recover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long each step may take."""

    write_s: float = 30.0
    clients_s: float = 300.0  # to finish after `stop`
    whole_s: float = WHOLE_S
    final_reads_s: float = 20.0


class Experiment:
    """The experiment of one run; used once."""

    def __init__(
        self,
        plan: RunPlan,
        cluster: Cluster,
        recorder: Recorder,
        phases: Phases,
        directory: Path,
        timeouts: Timeouts,
    ) -> None:
        self._plan = plan
        self._timeouts = timeouts
        self._cluster = cluster
        self._schedule = plan.drawn()
        self._recorder = recorder
        self._phases = phases
        self._probe = QuorumProbe(driver_for(cluster, malformed=recorder.malformed))
        self._workload = _workload(plan, cluster, recorder)
        self._watch = _watch(plan, cluster, self._workload, recorder, phases)
        self._quorum_watch = _quorum_watch(cluster, recorder, phases)
        self._operator = _operator(cluster, recorder, self._workload, phases.clock)
        self._app = self._own_app(directory) if plan.app else None
        self._nemesis = Nemesis(
            cluster=cluster,
            probe=self._probe,
            recorder=recorder,
            seed=plan.seed,
            directory=directory,
            tell=phases.tell,
            lookout=self._watch,
            operator=self._operator,
        )

    @property
    def lasting(self) -> tuple[Hit, ...]:
        """The faults that last."""
        return self._nemesis.lasting

    @property
    def counted(self) -> dict[str, int]:
        """The counts that clients, and the operator, kept of their own operations."""
        return self._workload.tally.as_json()

    @property
    def looks(self) -> dict[str, dict[str, int]]:
        """How often the harness probed, by kind of evidence."""
        watches = {Kind.QUORUM_PROBES: self._quorum_watch, Kind.PARTITION_PROBES: self._watch}
        looked = {kind: watch.looks for kind, watch in watches.items() if watch is not None}
        return {kind.value: looks.as_json() for kind, looks in looked.items()}

    async def run(self) -> None:
        """Runs from the first write to the last read. Raises whatever stops it."""
        try:
            async with asyncio.TaskGroup() as group:
                beside = [group.create_task(self._tick())]
                watches = (self._watch, self._quorum_watch)
                beside += [group.create_task(each.sample()) for each in watches if each is not None]
                if isinstance(self._cluster, Guarded):
                    beside.append(group.create_task(self._cluster.until_machinery_fails()))
                await self._come_up()
                load = group.create_task(self._load())
                await self._hurt()
                self._workload.stop()
                await self._ended(load)
                await self._final_reads()
                if self._app is not None:
                    with self._phases.timed("own_app", "letting the application read everything"):
                        await self._app.look_back()
                for task in beside:
                    task.cancel()
        finally:
            if self._app is not None:
                await self._app.close()
            await self._workload.close()
            await self._probe.close()
            self._operator.close()
            if self._watch is not None:
                self._watch.close()
            if self._quorum_watch is not None:
                await self._quorum_watch.close()

    async def _load(self) -> None:
        """Raises MachineryError where a client of ours, or the recorder, has failed."""
        try:
            await self._workload.run()
        except* ClientError as died:
            error = _first_of(died)
            assert isinstance(error, ClientError)
            raise self._failed(error.name, error.what) from error
        except* RecordingError as unwritten:
            raise self._failed("the recorder", f"broke off: {_first_of(unwritten)}") from None

    async def _ended(self, load: "asyncio.Task[None]") -> None:
        """Do not wait for a hanging client without limit."""
        await asyncio.wait({load}, timeout=self._timeouts.clients_s)
        if not load.done():
            seconds = f"{self._timeouts.clients_s:g} s"
            raise self._failed("the load", f"did not end within {seconds} after it was stopped")
        await load

    def _failed(self, part: str, what: str) -> MachineryError:
        clock = self._phases.clock
        since_ns = clock.started_mono_ns + clock.now_ns()
        mend = "its traceback is in harness.log"
        return MachineryError(FailedPart(part=part, what=what, since_ns=since_ns, mend=mend))

    async def _come_up(self) -> None:
        """With faults during start-up, if the scenario has them. Raises NeverBackError,
        StuckError."""
        script = self._plan.coming_up
        if script is None:
            return
        with self._phases.timed("coming_up", "injecting faults while it comes up"):
            await self._nemesis.follow(script, name="coming_up")
        with self._phases.timed("ready", "waiting until it is ready"):
            await self._until_ready()

    async def _until_ready(self) -> None:
        """Do not wait for a cluster with a node that has exited."""
        ready = asyncio.create_task(self._cluster.until_ready())
        try:
            while not ready.done():
                await refuse_dead(self._cluster)
                await asyncio.wait([ready], timeout=_DEAD_S)
        finally:
            ready.cancel()
        try:
            await ready
        except DiedAtStartError as error:
            raise NeverBackError(str(error)) from error
        except ClusterError as error:
            raise StuckError(str(error)) from error

    async def _hurt(self) -> None:
        script = self._plan.script
        with self._phases.timed("first_write", "waiting for the first acknowledged write"):
            if not await self._another_write():
                within = f"{self._timeouts.write_s:g} s"
                await self._stuck(f"no write was acknowledged within {within}")
        if self._app is not None:
            await self._start_own_app(self._app)
        with self._phases.timed("hurt", "injecting faults"):
            if script is not None:
                self._phases.tell(f"load runs; faults to come: {len(script.faults)}")
                await self._nemesis.follow(script)
            else:
                faults = len(self._schedule.windows)
                lasts = f"{self._plan.duration_s:g} s"
                self._phases.tell(f"load runs for {lasts}; faults to come: {faults}")
                await self._nemesis.run(self._schedule)
        with self._phases.timed("whole", "waiting for recovery"):
            await self._become_whole()
            if self._app is not None:
                await self._app.answers()

    def _own_app(self, directory: Path) -> OwnApp:
        """By the addresses that brokers advertise."""
        brokers = [self._cluster.bootstrap[node] for node in brokers_of(self._cluster)]
        return OwnApp(
            command=self._plan.app,
            environment={
                "KRAFT_CHAOS_BOOTSTRAP": ",".join(f"{each.host}:{each.port}" for each in brokers),
                "KRAFT_CHAOS_TOPIC": TOPIC,
                "KRAFT_CHAOS_SEED": str(self._plan.seed),
            },
            directory=directory / DIRECTORY,
            clock=self._phases.clock,
            tell=self._phases.tell,
        )

    async def _start_own_app(self, app: OwnApp) -> None:
        """With a topic of its own, which a client of ours creates: the judge knows it so."""
        load = self._plan.load
        assert isinstance(load, AppendOptions), "it runs beside clients of brokers"
        driver = driver_for(self._cluster, brokers_of(self._cluster), self._recorder.malformed)
        client = RawTopicClient(driver, load.timeout_s)
        shape = TopicShape(partitions=1, replication=load.replication)
        topics = Topics(client, self._recorder, shape, self._workload.tally)
        try:
            await until_created(topics, TOPIC, self._timeouts.write_s)
        finally:
            await topics.close()
        await app.start()

    async def _become_whole(self) -> None:
        """Raises NeverBackError, StuckError."""
        seconds = self._timeouts.whole_s
        if not await self._probe.wait_until_whole(seconds):
            lacks = await self._probe.lacking()
            await self._stuck(
                f"the quorum had not recovered {seconds:g} s after the last heal: {lacks}"
            )
        await self._replicas_become_whole()
        if not await self._another_write():
            within = f"{self._timeouts.write_s:g} s"
            await self._stuck(f"no write was acknowledged within {within} after recovery")
        # Without an active controller no ISR shrank, and all could seem in sync. A write that waits
        # for the ISR settles that: the whole ISR has the write, or the ISR has changed by now.
        await self._replicas_become_whole()

    async def _replicas_become_whole(self) -> None:
        seconds = self._timeouts.whole_s
        if self._watch is not None and (lacks := await self._watch.wait_until_whole(seconds)):
            what = f"replicas were still out of sync {seconds:g} s after the last heal: {lacks}"
            await self._stuck(what)

    async def _stuck(self, what: str) -> NoReturn:
        """The blame depends on whether all processes run; raises NeverBackError for one that exited
        by itself."""
        await refuse_dead(self._cluster)
        for node in self._cluster.nodes:
            if (status := await self._cluster.status(node)) is not NodeStatus.RUNNING:
                raise RunFailedError(f"{what}, and node {node} is {status}")
        raise StuckError(what)

    async def _another_write(self) -> bool:
        """Whether one is acknowledged within the time; does not wait for a load that has ended."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeouts.write_s
        before = self._workload.acknowledged_writes
        while self._workload.acknowledged_writes == before and not self._workload.is_over:
            if loop.time() > deadline:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    async def _final_reads(self) -> None:
        with self._phases.timed("final_reads", "reading every key by fresh clients"):
            unread = await self._workload.read_all(self._timeouts.final_reads_s)
        if unread:
            self._phases.tell(
                f"{counted(len(unread), 'key')} could not be read: {', '.join(unread[:5])} ..."
            )

    async def _tick(self) -> None:
        """Once a second: close frames, show the status."""
        before = 0
        while True:
            await asyncio.sleep(1)
            self._recorder.flush()
            counts = self._recorder.counts
            done = counts[EventType.OK]
            leader = self._workload.leader
            self._phases.progress.status(
                f"t={self._phases.clock.now_ns() / 1e9:.0f}s  {done - before} ok/s  ok {done}  "
                f"fail {counts[EventType.FAIL]}  info {counts[EventType.INFO]}  "
                f"leader {leader if leader is not None else '-'}  "
                f"{self._nemesis.current or self._phases.current}"
            )
            before = done


def _first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def planned_evidence(cluster: Cluster, plan: RunPlan) -> tuple[str, ...]:
    """The kinds of evidence that a run has to leave."""
    kinds = [Kind.OPERATIONS, Kind.FAULTS, Kind.METADATA_LOGS]
    kinds.append(Kind.TRACES if cluster.traces else Kind.QUORUM_PROBES)
    if cluster.judged_by_logs:
        kinds.append(Kind.NODE_LOGS)
    if plan.workload.servers is Servers.BROKERS:
        kinds += [Kind.PARTITION_LOGS, Kind.PARTITION_PROBES]
    return tuple(kind.value for kind in kinds)


def _workload(plan: RunPlan, cluster: Cluster, recorder: Recorder) -> Workload:
    kind = plan.workload
    servers = _SERVERS[kind.servers](cluster)
    access = Access(
        driver=driver_for(cluster, servers, recorder.malformed),
        entries=advertised(cluster, servers),
        client=plan.client,
        topic_client=plan.topic_client,
        clients=plan.scenario.clients,
        reached=_reached(cluster),
    )
    return kind.make(plan.load, access, recorder, plan.seed)


def _operator(cluster: Cluster, recorder: Recorder, workload: Workload, clock: Clock) -> Operator:
    driver = driver_for(cluster, controllers_of(cluster), recorder.malformed)
    answers = QuorumAnswers(recorder, clock)
    return Operator(driver, _reached(cluster), recorder, workload.tally, answers)


def _reached(cluster: Cluster) -> dict[int, ClientEntry]:
    """Where each node is reached by the others; one that is a controller, as that."""
    return {
        int(node): ClientEntry(host=host_name(node), port=controller_port(cluster, node))
        for node in cluster.nodes
    }


def _quorum_watch(cluster: Cluster, recorder: Recorder, phases: Phases) -> QuorumWatch | None:
    """None where nodes write traces."""
    if cluster.traces:
        return None
    driver = driver_for(cluster, controllers_of(cluster), recorder.malformed)
    return QuorumWatch(driver, recorder, phases.clock)


def _watch(
    plan: RunPlan, cluster: Cluster, workload: Workload, recorder: Recorder, phases: Phases
) -> PartitionWatch | None:
    """None where no clients use partitions."""
    brokers, topics = brokers_of(cluster), plan.workload.topics(plan.load)
    if not brokers or not topics:
        return None
    return PartitionWatch(
        cluster, brokers, topics, workload=workload, recorder=recorder, clock=phases.clock
    )
