"""A node's machine: its disk, clock and output, the processes that run on it one by one, and what a
run saves of it."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from uuid import UUID

import orjson

from chaos.cluster.cluster_errors import MachineryError, StepError
from chaos.cluster.interface import NodeId, NodeStatus, UnaskedEnd
from chaos.cluster.sim.disk.disk import LOG_DIRECTORY, Drive, SimDisk
from chaos.cluster.sim.invariant_keeper import InvariantKeeper, ProcessMonitor
from chaos.cluster.sim.known_frames import KnownFrames
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import Network
from chaos.cluster.sim.process import SimProcess
from chaos.cluster.sim.surroundings import Between, Ear, ListeningFraming, NodeClock, Surroundings
from chaos.cluster.sim.watchdog import StepHalted, Watchdog
from chaos.cluster.topology import lost_disk
from chaos.conditions import Conditions
from node.config import NodeConfig
from node.server.directories import log_directories, metadata_directory
from node.server.outcome import FAILED, Refusal, describe_failure
from node.server.output import TraceWriter
from node.server.recovered import (
    AnyNode,
    Recovered,
    broker_on,
    combined_on,
    node_on,
    recover,
    recover_replicas,
    start_lines,
)
from node.storage.disk import META_PROPERTIES, StorageError
from node.storage.format import FormattedVoters, format_data_directory, format_log_directory
from node.storage.log_directories import LogDirectories
from node.storage.meta import MetaProperties, load_meta

_LAST_LINES = 8  # of a log, that tell why a process ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all machines of a cluster share."""

    loop: VirtualLoop
    network: Network
    seed: int
    conditions: Conditions
    keeper: InvariantKeeper
    watchdog: Watchdog
    framing: KnownFrames  # the controllers'
    broker_framing: KnownFrames


class Machine:
    """Formatted once; `boot` begins a life."""

    def __init__(self, site: Site, config: NodeConfig, clock: NodeClock) -> None:
        self.node = NodeId(config.node_id)
        self.clock = clock
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.process: SimProcess | None = None
        self.lost: list[Drive] = []  # disks that were wiped, in order
        self.unasked_ends: list[UnaskedEnd] = []
        self.between: Between | None = None  # see `chaos.cluster.sim.disk.power_cuts`
        self._site = site
        self._config = config
        self._lives = 0
        self._said_before = 0  # bytes of stderr of earlier processes
        self._drives = 0
        self._beside = random.Random(f"{site.seed}:directories-beside:{self.node}")
        self.drive = self._new_drive()

    @property
    def status(self) -> NodeStatus:
        process = self.process
        if process is None or process.exit_code is not None:
            return NodeStatus.OFF
        return NodeStatus.PAUSED if process.is_paused else NodeStatus.RUNNING

    @property
    def exit_code(self) -> int:
        """Of the last process, if it ended or never began; 0 while it runs."""
        if self.process is None:
            return FAILED
        return self.process.exit_code or 0

    @property
    def is_listed(self) -> bool:
        """Its configuration lists the voters, not its disk (KIP-856)."""
        return bool(self._config.quorum_voters)

    def format(
        self,
        cluster_id: str,
        voters: FormattedVoters,
        directory_id: UUID,
        *,
        static: bool,
        elr: bool,
    ) -> None:
        """Make the empty disk this node's. Raises StepError where that does not end."""
        try:
            with self._watched("it formats its disk"):
                self._format(cluster_id, voters, directory_id, static=static, elr=elr)
        except StepHalted as error:
            raise self._fail(error) from error

    def _format(
        self,
        cluster_id: str,
        voters: FormattedVoters,
        directory_id: UUID,
        *,
        static: bool,
        elr: bool,
    ) -> None:
        listed = self.is_listed and not static
        for disk in self._disks().values():
            if disk != self.drive.disk:
                meta = MetaProperties(
                    cluster_id=cluster_id,
                    node_id=self._config.node_id,
                    directory_id=UUID(int=self._beside.getrandbits(128), version=4),
                    lists_voters=listed,
                )
                format_data_directory(disk, meta)
        format_log_directory(
            self.drive.disk,
            cluster_id=cluster_id,
            node_id=self._config.node_id,
            voters=None if self.is_listed else voters,
            timestamp_ms=self.clock.now().wall_ns // 1_000_000,
            directory_id=directory_id,
            static=static,
            elr=elr,
        )

    def run_clock_at(self, rate: float) -> None:
        """So many times as fast as true time; timers that are set follow."""
        self.clock.run_at(rate)
        if self.process is not None:
            self.process.hear(lambda: None)  # it looks at its deadline again

    def wipe(self) -> None:
        """Another, empty disk in the place of the old one, which is kept to be looked at."""
        assert self.status is NodeStatus.OFF
        self.lost.append(self.drive)
        self.drive = self._new_drive()

    @property
    def is_formatted(self) -> bool:
        return self.drive.disk.exists(META_PROPERTIES)

    @property
    def directory_id(self) -> UUID:
        """Of the disk. Raises StorageError where it is not formatted."""
        return load_meta(self.drive.disk).directory_id

    def boot(self) -> None:
        """Start a process on what the disk holds; one that cannot start says why and is OFF."""
        assert self.status is NodeStatus.OFF
        self._lives += 1
        self._said_before = len(self.stderr)
        self.process = None
        halted = ""
        try:
            with self._watched("it opens its disk"):
                self.process = self._process()
        except StepHalted as error:
            failed, halted = self._fail(error), str(error)
            if not error.of_node:
                raise failed from error
            self._say(f"the simulator halted it: {failed}\n")
        except (Refusal, StorageError) as error:
            self._say(f"{error}\n")
        except OSError as error:
            self._say(f"kraft-node {self.node}: {describe_failure(error)}\n")
        if self.process is not None:
            self.process.start()
        else:
            self.drive.files.close_all()
            self._end_unasked(FAILED, told_to_stop=False, halted=halted)

    def last_words(self) -> str:
        """The last lines of stderr of the newest process, also of one that could not begin."""
        said = self.stderr[self._said_before :].decode(errors="replace")
        return "\n".join(said.splitlines()[-_LAST_LINES:])

    def kill(self) -> None:
        """SIGKILL, or the end of the power."""
        if self.process is not None:
            self.process.kill()

    def _new_drive(self) -> Drive:
        self._drives += 1
        which = f"{self.node}:{self._drives}"
        return Drive(
            random.Random(f"{self._site.seed}:disk:{which}"),
            random.Random(f"{self._site.seed}:late-flushes:{which}"),
            self._between,
            self._site.conditions,
            [_name(path) for path in self._config.directories if _name(path) != LOG_DIRECTORY],
        )

    def _disks(self) -> dict[str, SimDisk]:
        """By the paths in its configuration."""
        return {path: self.drive.directory(_name(path)) for path in self._config.directories}

    def _drawn_ids(self) -> Callable[[], UUID]:
        """Of directories that lack one, in this life."""
        drawn = random.Random(f"{self._site.seed}:directory:{self.node}:{self._lives}")
        return lambda: UUID(int=drawn.getrandbits(128), version=4)

    def _process(self) -> SimProcess:
        new_directory = self._drawn_ids()()
        config = self._started_with()
        found = recover(config, self._disks()[config.log_dir], new_directory)
        drawn = random.Random(f"{self._site.seed}:incarnation:{self.node}:{self._lives}")
        incarnation = UUID(int=drawn.getrandbits(128), version=4)
        traces = TraceWriter(
            found.disk_key,
            incarnation,
            self.stdout.extend,
            orjson.dumps,  # the same lines at a fifth of the cost
        )
        for line in start_lines(found):
            traces.add(line, self.clock.true())
        rng = random.Random(f"{self._site.seed}:node:{self.node}:{self._lives}")
        ear = Ear()
        node, replicas, post = self._node_on(config, found, rng, incarnation, ear)
        return SimProcess(
            node=node,
            found=found,
            replicas=replicas,
            config=config,
            traces=traces,
            around=Surroundings(
                loop=self._site.loop,
                network=self._site.network,
                clock=self.clock,
                drive=self.drive,
                between=self._between,
                post=post,
                ear=ear,
                watchdog=self._site.watchdog,
                life=self._lives,
                err=self._say,
                close_files=self.drive.files.close_all,
                end_unasked=self._end_unasked,
            ),
        )

    def _started_with(self) -> NodeConfig:
        home = metadata_directory(self._config, self._disks())
        return replace(self._config, metadata_log_dir=home)

    def _node_on(
        self,
        config: NodeConfig,
        found: Recovered,
        rng: random.Random,
        incarnation: UUID,
        ear: Ear,
    ) -> tuple[AnyNode, LogDirectories | None, ProcessMonitor]:
        """What goes on from the disk, with its replicas if it is a broker."""
        role = config.role
        framing, of_brokers = (
            ListeningFraming(ear, each) for each in (self._site.framing, self._site.broker_framing)
        )
        keeper, post = self._site.keeper, self._site.keeper.post()
        if role is None:
            node = node_on(found, config, rng, incarnation, framing)
            keeper.watch_controller(post, found, node, self.drive)
            return node, None, post
        directories = log_directories(config, found.meta, self._disks(), self._drawn_ids())
        held = recover_replicas(role, directories)
        if not config.is_controller:
            broker = broker_on(found, held, config, role, rng, incarnation, of_brokers)
            keeper.watch_broker(post, found, broker.core.role, held, self.clock.mono_ns)
            return broker, held, post
        both = combined_on(found, held, config, role, rng, incarnation, framing, of_brokers)
        keeper.watch_controller(post, found, both, self.drive)
        keeper.watch_broker(post, found, both.core.role.broker, held, self.clock.mono_ns)
        return both, held, post

    def _fail(self, halted: StepHalted) -> StepError | MachineryError:
        return self._site.watchdog.fail(self.node, halted, self.clock.true().mono_ns)

    def _watched(self, what: str) -> AbstractContextManager[None]:
        now = self._site.loop.now
        return self._site.watchdog.over(self.node, self._lives, what, now)

    def _end_unasked(self, exit_code: int, *, told_to_stop: bool, halted: str) -> None:
        self.unasked_ends.append(
            UnaskedEnd(
                node=self.node,
                mono_ns=self.clock.true().mono_ns,
                exit_code=exit_code,
                words=self.last_words(),
                told_to_stop=told_to_stop,
                halted=halted,
            )
        )

    def _between(self) -> None:
        if self.between is not None:
            self.between()

    def _say(self, text: str) -> None:
        self.stderr += text.encode()


def _name(path: str) -> str:
    """Of a log directory, on the disk of its node."""
    return PurePosixPath(path).name


# What a run saves of a machine: the output of its processes, and its disks.


def save_machine(machine: Machine, into: Path) -> None:
    """Write `logs/node-N.log` (stdout), `logs/node-N.err` and `disks/node-N/`, and a directory
    beside that for each disk that it lost."""
    logs, disks, name = into / "logs", into / "disks", f"node-{machine.node}"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / f"{name}.log").write_bytes(machine.stdout)
    (logs / f"{name}.err").write_bytes(machine.stderr)
    _save_drive(machine.drive, disks / name)
    for number, drive in enumerate(machine.lost, start=1):
        _save_drive(drive, disks / lost_disk(machine.node, number))


def _save_drive(drive: Drive, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    made = {into}
    for path, content in drive.log_directory().items():
        file = into / path
        if file.parent not in made:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.add(file.parent)
        file.write_bytes(content)
