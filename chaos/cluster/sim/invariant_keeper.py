"""Keeps the invariants of a run: the first broken one is reported, and the run goes on without.

So the black-box checks get the whole run as well, which shows whether they find it too.

What surely survives on a machine's disk, whatever its node believes.

It is read after every step of the node, so only changes are looked at: quorum-state
is replaced as a whole, by another inode each time, and a log is as durable as it is long once no
page of it is dirty, which takes a step of the file system. Of its segments only the last one is
ever written or cut; of the others it is enough to know once that they are durable.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

from chaos.cluster.interface import BrokenInvariant, NodeId
from chaos.cluster.sim.disk.disk import LOG_DIRECTORY, Drive
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.disk.journal import ROOT
from chaos.cluster.sim.invariants import (
    BrokerWatch,
    ControllerAnswers,
    ControllerView,
    CoreView,
    InvariantViolated,
    LetIn,
    Looked,
    ReadClock,
    Watch,
    WatchedBroker,
    WatchedLife,
)
from chaos.cluster.sim.invariants.rules import OF_BROKERS, OF_CONTROLLERS
from chaos.cluster.sim.loop import VirtualLoop
from node.broker.broker import Broker
from node.effects import ElectionState
from node.ids import ConnectionId, Offset, ReplicaKey
from node.outbox import Output
from node.process_roles import CombinedNode, ControllerNode
from node.server.recovered import Recovered
from node.storage.disk import QUORUM_STATE
from node.storage.election_store import parse_election_state
from node.storage.log import Log
from node.storage.log_directories import LogDirectories

_base = attrgetter("base")


class DurableState:
    """In one life of a node; `directory` holds its files."""

    def __init__(self, files: FileSystem, directory: str, log: Log) -> None:
        self._files = files
        self._directory = directory
        self._log = log
        self._log_end = Offset(0)
        self._settled = Offset(0)  # segments with a base below are durable, and will not change
        self._looked_at = -1  # which step of the file system
        self._stored = ROOT  # no file is
        self._election = ElectionState()

    @property
    def log_end(self) -> Offset:
        """Every batch below is durable."""
        if self._looked_at != self._files.steps:
            self._looked_at = self._files.steps
            end = self._log.next_offset
            self._log_end = end if self._is_log_durable() else min(self._log_end, end)
        return self._log_end

    def _is_log_durable(self) -> bool:
        segments = self._log.segments
        self._settled = min(self._settled, segments[-1].base)
        for segment in segments[bisect_left(segments, self._settled, key=_base) :]:
            if not self._files.is_durable(f"{self._directory}/{segment.path}"):
                return False
        self._settled = segments[-1].base
        return True

    @property
    def election(self) -> ElectionState:
        """What quorum-state says after a power cut; nothing where there is none."""
        committed = self._files.journal.committed
        stored = committed.find(f"{self._directory}/{QUORUM_STATE}")
        if stored is not None and stored != self._stored:
            self._election = parse_election_state(committed.content(stored))
            self._stored = stored
        return self._election


class InvariantKeeper:
    """Of one cluster, from its formatting on."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.broken: BrokenInvariant | None = None
        self.is_open = False
        # How often each rule had something to judge, which is to be known of those that never had.
        self.looked: Looked = Counter(dict.fromkeys(OF_CONTROLLERS, 0))
        self.loop = loop
        self._lives: dict[int, int] = {}  # of controllers
        self._watch: Watch | None = None
        self._brokers: BrokerWatch | None = None

    def open(self, voters: Iterable[ReplicaKey], fetch_timeout_ms: int) -> None:
        self._watch = Watch(voters, fetch_timeout_ms, self.looked)
        self._note_whether_open()

    def open_for_brokers(self, min_isr: int) -> None:
        """`min_isr`: of topics without a value of their own."""
        self.looked.update(dict.fromkeys(OF_BROKERS, 0))
        self._brokers = BrokerWatch(min_isr, self.looked)
        self._note_whether_open()

    def close(self) -> None:
        """Where disks lie, nodes cannot keep what they promise, and no step proves a bug."""
        self._watch = self._brokers = None
        self._note_whether_open()

    def post(self) -> "ProcessMonitor":
        """For a process that has opened its logs, and has not started yet."""
        return ProcessMonitor(self)

    def watch_controller(
        self,
        post: "ProcessMonitor",
        found: Recovered,
        node: ControllerNode | CombinedNode,
        drive: Drive,
    ) -> None:
        disk = DurableState(drive.files, LOG_DIRECTORY, found.log)
        life = self._lives[found.key.id] = self._lives.get(found.key.id, 0) + 1
        seen = ControllerView(node.core, found.log)
        post.answers = ControllerAnswers(found.key.id, life, seen, self.looked)
        if self._brokers is not None:
            post.let_in = self._brokers.begin_controller(found.key.id)
        try:
            if self._watch is not None:
                view = CoreView(node.core, found.log, disk)
                post.life = self._watch.begin(found.key, view, self.now_ns())
        except InvariantViolated as violated:
            self.tell(violated)

    def watch_broker(
        self,
        post: "ProcessMonitor",
        found: Recovered,
        broker: Broker,
        held: LogDirectories,
        read_clock: ReadClock,
    ) -> None:
        """`held`: the logs of its replicas. `read_clock`: its own monotonic clock, in ns."""
        try:
            if self._brokers is not None:
                post.broker = WatchedBroker.begin(
                    self._brokers, found.key.id, broker, found.log, held, self.now_ns(), read_clock
                )
        except InvariantViolated as violated:
            self.tell(violated)

    def now_ns(self) -> int:
        return self.loop.elapsed_ns

    def _note_whether_open(self) -> None:
        """Kept, as it is asked after every step."""
        is_watched = self._watch is not None or self._brokers is not None
        self.is_open = self.broken is None and is_watched

    def tell(self, violated: InvariantViolated) -> None:
        """What follows from the first would only hide it."""
        self.broken = BrokenInvariant(
            invariant=violated.invariant,
            what=str(violated),
            node=NodeId(violated.node),
            t_ns=violated.at_ns,
        )
        self.close()


class ProcessMonitor:
    """The watch over one process, from its start to its end."""

    def __init__(self, keeper: InvariantKeeper) -> None:
        self.life: WatchedLife | None = None
        self.broker: WatchedBroker | None = None
        self.let_in: LetIn | None = None
        self.answers: ControllerAnswers | None = None
        self._keeper = keeper

    def before_truncation(self, end: Offset) -> None:
        if self.life is not None:
            self.life.before_truncation(end)

    def before_replacement(self) -> None:
        if self.life is not None:
            self.life.before_replacement()

    def hear(self, connection: ConnectionId, request: object, mono_ns: int) -> None:
        """What a step is about that was asked by others, at that time by the node's own clock;
        None: nothing that can be read. Before `after_step`."""
        if self.answers is not None:
            self.answers.hear(connection, request)
        if self.broker is not None:
            self.broker.hear(connection, request, mono_ns)

    def forget(self, connection: ConnectionId) -> None:
        """The client no longer waits for an answer there."""
        if self.answers is not None:
            self.answers.forget(connection)
        if self.broker is not None:
            self.broker.forget(connection)

    def after_sync(self) -> None:
        """Between two steps, by a flush without a waiting process."""
        if self.life is not None and self._keeper.is_open:
            self.life.after_sync()

    def after_step(self, outputs: Sequence[Output]) -> None:
        """All effects of the step were performed, but for frames."""
        if not self._keeper.is_open:
            return
        at_ns = self._keeper.loop.elapsed_ns
        try:
            if self.life is not None:
                self.life.after_step(outputs, at_ns)
            if self.broker is not None:
                self.broker.after_step(outputs, at_ns)
            if self.let_in is not None:
                self.let_in.after_step(outputs, at_ns)
            if self.answers is not None:
                self.answers.after_step(outputs, at_ns)
        except InvariantViolated as violated:
            self._keeper.tell(violated)
