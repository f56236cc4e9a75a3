"""A quorum whose nodes do what a test tells them: the invariants must see through it.

Each `Doctored` node is a `View` with a log that is real and all else settable; `step` is what a
node would have done in one step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chaos.cluster.sim.invariants import Watch, WatchedLife
from node.effects import AppendBatches, ElectionState, Trace, TraceValue, TruncateLog
from node.ids import (
    METADATA_LOG,
    NEVER_NS,
    NO_NODE,
    ChannelId,
    Endpoint,
    Epoch,
    NodeId,
    Offset,
    ReplicaKey,
    uuid_text,
)
from node.outbox import Output, RequestTo
from node.raft.roles import Candidate, Follower, Leader, Role, Unattached, election_state
from node.wire.apis import PeerRequest
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest
from tests.support.memory_log import MemoryLog
from tests.support.rig import batch, key


@dataclass
class Disk:
    election: ElectionState = ElectionState()
    log_end: Offset = Offset(0)


@dataclass
class Doctored:
    """One node. Times are of no importance, so each step is at its number."""

    node: int
    watch: Watch
    role: Role = field(default_factory=lambda: unattached(0))
    committed: Offset | None = None
    applied: Offset = Offset(0)
    digest: int = 0
    reads: int = 0
    log: MemoryLog = field(default_factory=MemoryLog)
    disk: Disk = field(default_factory=Disk)
    life: WatchedLife | None = None
    believes: Iterable[ReplicaKey] | None = None
    cluster_id: str = "c"
    polled_ns: int = 0
    change_due_ns: int = NEVER_NS

    @property
    def voters(self) -> Iterable[ReplicaKey]:
        """It believes what it was formatted with, unless the test says otherwise."""
        return self.watch.first if self.believes is None else self.believes

    def start(self) -> "Doctored":
        """A new life, with the log and the disk as they are."""
        self.committed, self.applied, self.reads = None, Offset(0), 0
        self.life = self.watch.begin(key(self.node), self, at_ns=0)
        return self

    def step(self, *outputs: Output) -> "Doctored":
        assert self.life is not None, "it was started"
        self.life.after_step(outputs, at_ns=self.life.steps + 1)
        return self

    # --- what a step may do ---

    def become(self, role: Role, *, persists: bool = True) -> "Doctored":
        self.role = role
        if persists:
            self.disk.election = election_state(role)
        return self.step()

    def append(self, data: bytes, *, flush: bool = True) -> "Doctored":
        self.log.append(data)
        if flush:
            self.disk.log_end = self.log.flush()
        return self.step(AppendBatches(log=METADATA_LOG, data=data))

    def lead(self, epoch: int, *, granting: Sequence[int] = (1, 2)) -> "Doctored":
        """Be elected: stand, win, append LeaderChange, all durable."""
        self.become(Candidate(epoch=Epoch(epoch), voted=key(self.node), election_deadline_ns=0))
        self.role = leader(self.node, epoch, granting=granting)
        self.disk.election = election_state(self.role)
        return self.append(batch(self.log.end().offset, epoch))

    def ask_for_vote(self, log_end: int, epoch: int) -> "Doctored":
        request = VoteRequest(
            cluster_id="c",
            voter=NodeId(1),
            voter_directory=None,
            epoch=Epoch(epoch),
            candidate=key(self.node),
            last_epoch=0,
            last_offset=log_end,
            pre_vote=False,
        )
        return self.step(_asked(request))

    def vote(self, candidate: int, epoch: int, *, persists: bool = True) -> "Doctored":
        self.role = unattached(epoch, voted=candidate)
        if persists:
            self.disk.election = election_state(self.role)
        return self.step(granted(candidate, epoch))

    def follow(self, leader: int, epoch: int, *, voted: int | None = None) -> "Doctored":
        return self.become(
            Follower(
                epoch=Epoch(epoch),
                leader=NodeId(leader),
                voted=None if voted is None else key(voted),
                fetch_deadline_ns=0,
            )
        )

    def publish(self, high_watermark: int) -> "Doctored":
        """Say what is committed, as the role it has."""
        self.committed = Offset(max(high_watermark, self.committed or 0))
        if isinstance(self.role, Leader):
            epoch, granting = self.role.epoch, [each.id for each in self.role.granting]
            self.role = leader(
                self.node, epoch, granting=granting, high_watermark=Offset(high_watermark)
            )
        return self.step()

    def truncate(self, end: int) -> "Doctored":
        self.log.truncate(Offset(end))
        self.disk.log_end = self.log.flush()
        return self.step(TruncateLog(log=METADATA_LOG, end=Offset(end)))

    def fetch(self, offset: int, epoch: int = 1) -> "Doctored":
        request = fetch_from(offset, epoch)
        return self.step(_asked(request))

    def take_read(self) -> "Doctored":
        self.reads += 1
        return self.step()

    def answer_reads(self, epoch: int) -> "Doctored":
        """All that it took."""
        fields: dict[str, TraceValue] = {"epoch": epoch, "ticket": self.reads}
        return self.step(Trace(event="c.read", fields={**fields, "arrived": 0, "heard": []}))


def _asked(request: PeerRequest) -> RequestTo:
    at = Endpoint(name="CONTROLLER", host="node-1", port=9101)
    return RequestTo(channel=ChannelId(0), endpoint=at, correlation_id=1, request=request)


def moved(state: str, epoch: int, *, silent_ns: int = -1) -> Trace:
    """A transition, as the trace has it."""
    fields: dict[str, TraceValue] = {"state": state, "epoch": epoch, "silent_ns": silent_ns}
    return Trace(event="q.state", fields=fields)


def unattached(epoch: int, *, voted: int | None = None) -> Unattached:
    who = None if voted is None else key(voted)
    return Unattached(epoch=Epoch(epoch), leader=NO_NODE, voted=who, election_deadline_ns=0)


def leader(
    node: int,
    epoch: int,
    *,
    granting: Sequence[int] = (1, 2),
    high_watermark: Offset | None = None,
) -> Leader:
    return Leader(
        epoch=Epoch(epoch),
        leader=NodeId(node),
        epoch_start=Offset(0),
        high_watermark=high_watermark,
        granting=tuple(map(key, granting)),
        replicas={},
        begin_due_ns={},
        check_quorum_deadline_ns=0,
    )


def granted(candidate: int, epoch: int, log: tuple[int, int] = (99, 99)) -> Trace:
    """`log`: epoch and end of the candidate's, newer than any if nothing is said."""
    who = key(candidate)
    return Trace(
        event="q.vote",
        fields={
            "candidate": who.id,
            "candidate_dir": uuid_text(who.directory),
            "epoch": epoch,
            "granted": True,
            "log_end": log[1],
            "log_epoch": log[0],
        },
    )


def fetch_from(offset: int, epoch: int) -> FetchRequest:
    return FetchRequest(
        cluster_id="c",
        replica=key(2),
        epoch=Epoch(epoch),
        fetch_offset=offset,
        last_epoch=0,
        max_wait_ms=0,
        max_bytes=1,
        high_watermark=-1,
    )
