"""`Cluster`: nodes in containers for a test or a script of one's own, hurt by calls.

Everything inside is async; calls wait for a loop in a thread of its own, so they work in a test
with or without a loop, and in any thread.
"""

import asyncio
import os
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import Cluster as Inner
from chaos.cluster.interface import FaultEvidence, Link, NodeId, NodeStatus
from chaos.cluster.powers import LogReading
from chaos.cluster.targets.named import BROKERS, UnknownTargetError, is_kafka, release_of
from chaos.cluster.topology import brokers_of, controllers_of
from chaos.errors import UsageError
from chaos.nemesis.awaited import Condition, ElrIs, IsrIs, Leaderless, Led, Whole
from chaos.nemesis.fault import Aspect, Fault, Hit
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.recorded import fault_named
from chaos.nemesis.victims import OneNode
from chaos.play.by_hand import PartitionView, begin, create, end, is_new, require
from chaos.progress import ConsoleProgress
from chaos.run.planning import require_layout
from chaos.run.runtimes import DOCKER, RUNTIMES
from chaos.testing.faults import VictimOrNode, victim_of
from chaos.testing.waiting import LoopThread, interrupted_by_signals

_NONE: Mapping[str, str] = {}
_NUMBERS = count(1)
_TOPIC_WITHIN_S = 30.0
_NEW_WITHIN_S = 20.0
# A broker that learns the voters from its log alone, and loses power in its first half minute, does
# not start again: see `kraft-chaos finding observer-power-off`.
_OF_KAFKA = {"quorum": "static"}
_FOR_GOOD = (Aspect.VOTERS, Aspect.FEATURES)


class NoEffectError(Exception):
    """A fault was injected and healed, and nothing proves that it took effect: what a test found
    meanwhile, it did not find under that fault."""


class LastingFault:
    """A fault that lasts, until `heal` or the end of its `with` block."""

    def __init__(self, cluster: "LibraryCluster", hit: Hit) -> None:
        self._cluster = cluster
        self.hit = hit

    @property
    def nodes(self) -> Sequence[int]:
        """The nodes that were hit."""
        return [int(node) for node in self.hit.nodes]

    @property
    def node(self) -> int:
        """The node that was hit first: of all voters, the leader."""
        return int(self.hit.nodes[0])

    def heal(self) -> FaultEvidence:
        """End it; nodes that were off answer again when this returns. Raises NoEffectError, and
        UsageError if it was healed before."""
        return self._cluster.heal(self)[0]

    def __enter__(self) -> "LastingFault":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What went wrong in the block counts more than a fault without effect."""
        if self not in self._cluster.faults:
            return  # healed in the block
        if error is None:
            self.heal()
        elif not isinstance(error, KeyboardInterrupt):  # that ends the cluster as well
            try:
                self._cluster.heal(self, proved=False)
            except ClusterError as also:
                error.add_note(f"then {self!r} could not be healed: {also}")

    def __repr__(self) -> str:
        links = f" ({', '.join(map(str, self.hit.links))})" if self.hit.links else ""
        return f"{self.hit.fault.kind} of node {', '.join(map(str, self.nodes))}{links}"


class LibraryCluster:
    """Nodes in containers, which exist within the `with` block.

    `target` is `node`, `kafka` or `kafka:VERSION`; `brokers` how many of them are brokers (Apache
    Kafka has three unless told otherwise, our own node none); `nodes` the number of our own
    controllers, where there are no brokers; `settings` are those of `kraft-chaos up --set`; nodes
    of Apache Kafka have `quorum=static` unless told otherwise. With `evidence`, the logs and disks
    of all nodes are there after a block that failed. `seed` draws among several possible victims.

    Raises UsageError for what there is not, OperatorError and SetupError where there is no engine
    or image, ClusterError when nodes do not come up: each says what, where, and the next command.
    After an exception, Ctrl-C, SIGTERM or SIGHUP everything is removed; what a killed process left,
    the next cluster or run removes.
    """

    def __init__(
        self,
        *,
        target: str = "node",
        nodes: int = 3,
        brokers: int | None = None,
        settings: Mapping[str, str] = _NONE,
        evidence: Path | str | None = None,
        seed: int | None = None,
    ) -> None:
        try:
            release_of(target)
        except UnknownTargetError as error:
            raise UsageError(f"{error}\n  try: target='node'") from error
        self._target = target
        self._count = nodes
        counted = {} if brokers is None else {BROKERS: str(brokers)}
        self._settings = {**(_OF_KAFKA if is_kafka(target) else {}), **settings, **counted}
        self._evidence = None if evidence is None else Path(evidence)
        require_layout(target, nodes, self._settings)
        self._inner_or_none: Inner | None = None
        self._ending = ExitStack()
        self._loop = LoopThread()
        self._faults: list[LastingFault] = []
        self._events: list[str] = []
        self._is_changed = False  # in a way that no heal undoes
        self.draw_from(seed)
        self.name = f"api-{os.getpid():x}-{next(_NUMBERS)}"

    def __enter__(self) -> "LibraryCluster":
        if self._inner_or_none is not None:
            raise UsageError(f"cluster {self.name} was used before\n  try: another Cluster(...)")
        self._inner_or_none = RUNTIMES[DOCKER].new(
            run_id=self.name,
            nodes=self._count,
            target=self._target,
            keep=False,
            directory=self._evidence,
            settings=self._settings,
        )
        with ExitStack() as ending:
            ending.enter_context(self._loop)
            ending.callback(lambda: self._loop.to_its_end(self._inner.destroy()))
            ending.enter_context(interrupted_by_signals())
            ending.enter_context(self._evidence_kept())
            self._loop.call(create(self._inner, ConsoleProgress(quiet=True)))
            self._ending = ending.pop_all()
        self._note(f"up: {self.version}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove everything. A second Ctrl-C does not shorten that."""
        self._faults.clear()
        self._ending.__exit__(kind, error, trace)

    @contextmanager
    def _evidence_kept(self) -> Iterator[None]:
        """Where the block fails; an interruption is no failure."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # pytest's own are no Exceptions
            if self._evidence is not None:
                error.add_note(self._collected(self._evidence))
            raise

    def _collected(self, into: Path) -> str:
        try:
            self.collect(into)
        except ClusterError as error:  # it never came up
            return f"no logs and disks of cluster {self.name}: {error}"
        return f"logs and disks of cluster {self.name}: {into}"

    def draw_from(self, seed: int | None) -> None:
        """From now on, victims are drawn from this seed."""
        self._rng = random.Random(seed)

    def _note(self, what: str) -> None:
        self._events.append(f"{datetime.now(UTC):%H:%M:%S.%f}"[:-3] + f" {what}")

    def collect(self, into: Path) -> None:
        """Copy logs (`logs/node-N.log`, `.err`) and disks (`disks/node-N/`) of all nodes."""
        into.mkdir(parents=True, exist_ok=True)
        self._loop.call(self._inner.collect(into))

    # What it is.

    @property
    def nodes(self) -> Sequence[int]:
        """1..n."""
        return [int(node) for node in self._inner.nodes]

    @property
    def brokers(self) -> Sequence[int]:
        return [int(node) for node in brokers_of(self._inner)]

    @property
    def controllers(self) -> Sequence[int]:
        return [int(node) for node in controllers_of(self._inner)]

    @property
    def bootstrap(self) -> str:
        """For `bootstrap.servers`: the brokers, or the controllers where there are none. The same
        addresses for the life of the cluster, whatever becomes of nodes."""
        return ",".join(self.address(node) for node in self.brokers or self.controllers)

    @property
    def bootstrap_controllers(self) -> str:
        """For `bootstrap.controllers`."""
        return ",".join(self.address(node) for node in self.controllers)

    def address(self, node: int) -> str:
        """`127.0.0.1:PORT` of one node."""
        found = self._inner.bootstrap[self._known(node)]
        return f"{found.host}:{found.port}"

    @property
    def version(self) -> str:
        """What runs: name and version of the target."""
        return self._inner.version

    @property
    def faults(self) -> Sequence[LastingFault]:
        """Those that last, the oldest first."""
        return tuple(self._faults)

    @property
    def events(self) -> Sequence[str]:
        """What was done to it, and what that proved, with the time of day (UTC)."""
        return tuple(self._events)

    def status(self, node: int) -> NodeStatus:
        return self._loop.call(self._inner.status(self._known(node)))

    def logs(self, node: int) -> str:
        """What all processes of a node have printed so far; our own nodes print what they do as
        lines of JSON."""
        assert isinstance(self._inner, LogReading)
        return self._loop.call(self._inner.log(self._known(node)))

    def wait_until(
        self,
        *,
        isr: Collection[int] | None = None,
        elr: Collection[int] | None = None,
        leader: int | None = None,
        leaderless: bool = False,
        whole: bool = False,
        topic: str = "",
        partition: int | None = None,
        within_s: float = 30.0,
    ) -> None:
        """Wait until all of this is so, of every partition of clients' topics, of those of one
        topic, or of one partition. `leader`: that broker leads; `whole`: every broker says that
        every replica is in sync. Raises ClusterError when the time is over, with what the brokers
        said.
        """
        asked = _conditions(isr, elr, leader, leaderless, len(self.brokers) if whole else 0)
        if not asked or (partition is not None and not topic):
            raise UsageError(
                "wait_until needs something to wait for, and the topic of a partition\n"
                "  try: wait_until(isr=[1, 2], topic='orders', partition=0)"
            )
        if not self.brokers:
            raise UsageError(f"{self._no_brokers}, and no partitions\n  try: Cluster(brokers=3)")
        self._loop.call(self._wait_until(asked, topic, partition, within_s))

    @property
    def _no_brokers(self) -> str:
        return f"cluster {self.name} has no brokers"

    async def _wait_until(
        self, asked: Sequence[Condition], topic: str, partition: int | None, within_s: float
    ) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        view = PartitionView(self._inner, topic, partition)
        try:
            for condition in asked:
                if lacks := await view.lacks(condition, deadline - loop.time()):
                    of = f" in {topic}" if topic else ""
                    of += f"-{partition}" if partition is not None else ""
                    raise ClusterError(
                        f"timed out after {within_s:g} s waiting until {condition}{of}: {lacks}\n"
                        "  try: within_s=60, or .logs(node) of a node that lags"
                    )
        finally:
            view.close()

    # What is done to it.

    def create_topic(
        self, name: str, *, partitions: int = 1, replicas: int = 3, min_isr: int = 2
    ) -> None:
        """Returns when every broker says that every replica of it is in sync. Raises ClusterError
        with what a broker answered."""
        brokers = self.brokers
        if not brokers:
            raise UsageError(f"{self._no_brokers}, and no topics\n  try: Cluster(brokers=3)")
        topic = NewTopic(name, partitions, replicas, config={"min.insync.replicas": str(min_isr)})
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        try:
            admin.create_topics([topic])[name].result(_TOPIC_WITHIN_S)
        except KafkaException as error:
            raise ClusterError(f"topic {name} was not created: {error}") from error
        self.wait_until(whole=True, topic=name)

    def fault(
        self, what: str | Fault, victim: VictimOrNode | None = None, **parameters: object
    ) -> LastingFault:
        """Begin a fault, by a name of `kraft-chaos inject --help` (`kill-leader`), by a kind of
        `docs/reference/faults.md` with a victim and its parameters, or as a value.

        It lasts until it is healed: as a context manager until the end of the block. Raises
        UsageError for what there is not, OperatorError where it cannot begin.
        """
        return self._inject(_fault(what, victim, parameters))

    def power_off(self, victim: VictimOrNode, *, mode: str = "lose-all") -> LastingFault:
        """Cut the power: what was not fsynced is lost. `mode`: lose-all, lose-data or torn."""
        return self.fault("power-off", victim, mode=mode)

    def kill(self, victim: VictimOrNode) -> LastingFault:
        """SIGKILL: what was written survives in the page cache."""
        return self.fault("kill", victim)

    def stop(self, victim: VictimOrNode) -> LastingFault:
        """SIGTERM."""
        return self.fault("stop", victim)

    def pause(self, victim: VictimOrNode) -> LastingFault:
        """SIGSTOP: connections stay open."""
        return self.fault("pause", victim)

    def wipe(self, victim: VictimOrNode) -> LastingFault:
        """Kill, and give a new, empty disk: the node comes back with another directory id."""
        return self.fault("wipe", victim)

    def partition(self, victim: VictimOrNode | Link, *, ways: str = "both") -> LastingFault:
        """Cut a node off from all others; clients still reach all. `ways`: both, out (the others do
        not hear it) or in. Of a `link` nothing arrives at its destination."""
        if not isinstance(victim, Link):
            kind = "partition-one-way" if ways in (Ways.IN, Ways.OUT) else "partition"
            return self.fault(kind, victim, ways=ways)
        if ways != str(Ways.BOTH):
            raise UsageError(f"ways={ways!r}: a link has one\n  try: link(2, 1) for the other way")
        self._known(victim.source)
        self._known(victim.destination)
        one_way = NetworkPartition(victim=OneNode(victim.source), ways=Ways.OUT)
        return self._inject(one_way, (victim,))

    def heal(self, *faults: LastingFault, proved: bool = True) -> list[FaultEvidence]:
        """End these faults, or all, the newest first. Raises NoEffectError for those that left no
        evidence of an effect, once all are ended; not without `proved`."""
        if gone := [each for each in faults if each not in self._faults]:
            raise UsageError(f"{gone[0]!r} does not last any more\n  try: heal it once")
        found = []
        for each in reversed(self._faults.copy()):
            if not faults or each in faults:
                found += self._loop.call(end(self._inner, [each.hit]))
                self._faults.remove(each)
                told = found[-1][1]
                effect = "took effect" if told.bit else "TOOK NO EFFECT"
                self._note(f"healed: {each!r}; it {effect}: {told.what}")
        if proved and (idle := [(hit, told) for hit, told in found if not told.bit]):
            hit, told = idle[0]
            nodes = ", ".join(map(str, hit.nodes))
            raise NoEffectError(f"{hit.fault.kind} of node {nodes} took no effect: {told.what}")
        return [told for _, told in found]

    def reset(self) -> bool:
        """Heal all faults, proved, and delete all topics. Whether it is as it was when it came up:
        False after a disk was lost, or voters or features were changed."""
        self.heal()
        if self._is_changed:
            return False
        return self._deletes_topics() and self._loop.call(is_new(self._inner, _NEW_WITHIN_S))

    def _deletes_topics(self) -> bool:
        if not self.brokers:
            return True
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        try:
            found = admin.list_topics(timeout=_TOPIC_WITHIN_S).topics
            names = [name for name in found if not name.startswith("__")]
            for deleted in admin.delete_topics(names).values() if names else ():
                deleted.result(_TOPIC_WITHIN_S)
        except KafkaException:
            return False
        return True

    def _inject(self, fault: Fault, links: tuple[Link, ...] | None = None) -> LastingFault:
        require(self._inner, fault)
        hits = [each.hit for each in self._faults]
        begun = LastingFault(
            self, self._loop.call(begin(self._inner, fault, hits, self._rng, links))
        )
        self._faults.append(begun)
        self._is_changed |= fault.harm.wipes or fault.aspect in _FOR_GOOD
        self._note(f"began: {begun!r}")
        return begun

    def _known(self, node: int) -> NodeId:
        if node not in self._inner.nodes:
            known = ", ".join(map(str, self._inner.nodes))
            raise UsageError(f"unknown node {node}; known: {known}")
        return NodeId(node)

    @property
    def _inner(self) -> Inner:
        if self._inner_or_none is None:
            raise UsageError("the cluster is not up\n  try: with Cluster(...) as cluster:")
        return self._inner_or_none


def _fault(
    what: str | Fault, victim: VictimOrNode | None, parameters: Mapping[str, object]
) -> Fault:
    if not isinstance(what, str):
        if parameters:
            raise UsageError(
                "a fault that is a value has its parameters already\n"
                "  try: the parameters where the value is made"
            )
        return what if victim is None else replace(what, victim=victim_of(victim))
    try:
        return fault_named(what, None if victim is None else victim_of(victim), parameters)
    except ValueError as error:
        raise UsageError(f"{error}\n  try: docs/reference/faults.md") from error


def _conditions(
    isr: Collection[int] | None,
    elr: Collection[int] | None,
    leader: int | None,
    leaderless: bool,
    brokers: int,
) -> list[Condition]:
    found: list[Condition] = []
    found += [IsrIs(tuple(isr))] if isr is not None else []
    found += [ElrIs(tuple(elr))] if elr is not None else []
    found += [Led((leader,))] if leader is not None else []
    found += [Leaderless()] if leaderless else []
    return [*found, Whole(brokers)] if brokers else found
