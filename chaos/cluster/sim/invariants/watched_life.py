"""One life of one node, followed step by step."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from chaos.cluster.sim.invariants.broken import Broken, InvariantViolated
from chaos.cluster.sim.invariants.commits import Commits
from chaos.cluster.sim.invariants.confirmed_reads import Arrivals, Fetches
from chaos.cluster.sim.invariants.elections import Elections
from chaos.cluster.sim.invariants.epoch_origins import FOUND, Origins, TakenState, check_asked
from chaos.cluster.sim.invariants.equal_images import EqualImages
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, KnownBatches, cut, holds
from chaos.cluster.sim.invariants.role_told import in_words, say_same, told_by
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.voter_changes import (
    check_belief,
    check_change,
    check_first_write,
    check_removed,
    check_stands,
    named_in,
)
from node.effects import (
    AppendBatches,
    CutLog,
    FinishSnapshot,
    ReplaceLog,
    Trace,
    TraceValue,
    TruncateLog,
)
from node.ids import METADATA_LOG, Epoch, LogPosition, NodeId, Offset, ReplicaKey, parse_uuid
from node.outbox import Ask, Output
from node.raft.roles import Leader, Role
from node.records.batch import read_header, split_batches
from node.records.control import LeaderChange, decode_control
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest

_READ_BYTES = 1024 * 1024
# By type, since most outputs are neither.
_WRITES = frozenset((AppendBatches, TruncateLog, ReplaceLog, CutLog))
_CLAIMS = frozenset((Ask, Trace, FinishSnapshot))


@dataclass(eq=False, slots=True)
class Replica:
    """A node with its disk, over all its lives. `durable` is a part of `log`."""

    key: ReplicaKey
    log: KnownBatch = NOTHING
    durable: KnownBatch = NOTHING
    epoch: Epoch = Epoch(0)  # the highest that it was in
    lives: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What all lives of all nodes are compared with."""

    durable_of: Callable[[ReplicaKey], KnownBatch]
    batches: KnownBatches
    elections: Elections
    origins: Origins
    fetches: Fetches
    commits: Commits
    images: EqualImages
    least_silent_ns: int  # a leader that was heard later than this is not given up


class WatchedLife:
    """From the moment a process has opened its log. What breaks an invariant raises Broken there,
    and InvariantViolated from the methods that the simulator calls."""

    def __init__(self, ledgers: Ledgers, replica: Replica, view: View) -> None:
        self.number = replica.lives
        self.steps = 0
        self._ledgers = ledgers
        self._replica = replica
        self._view = view
        self._role: Role | None = None
        self._committed: Offset | None = None
        self._applied = view.applied
        self._durable_end = Offset(-1)  # not known
        self._arrivals = Arrivals()
        self._voters: Iterable[ReplicaKey] = ()
        self._naming: KnownBatch | None = None
        self._moved: TakenState = (FOUND, Epoch(0))

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """The node took a step, and all that it asked for was done, but for frames.

        None of those has left yet. Raises InvariantViolated.
        """
        self.steps += 1
        try:
            self._follow(outputs)
        except Broken as broken:
            self.blame(broken, at_ns)

    def after_sync(self) -> None:
        """Something became durable between two steps. What is written from now on is not, and in
        the next look the disk could not tell the two apart."""
        self._follow_disk()

    def before_truncation(self, end: Offset) -> None:
        """The log is being cut: should the node die of that, what lies above is there or not."""
        if end < self._replica.durable.end:
            self._replica.durable = cut(self._replica.durable, end)
        self._durable_end = Offset(-1)

    def before_replacement(self) -> None:
        """The log is being replaced: should the node die of that, it has either of the two."""
        self._replica.durable = NOTHING
        self._durable_end = Offset(-1)

    def blame(self, broken: Broken, at_ns: int) -> NoReturn:
        key = self._replica.key
        raise InvariantViolated(
            broken, node=key.id, life=self.number, step=self.steps, at_ns=at_ns
        ) from None

    # --- what it found on its disk ---

    def find(self) -> None:
        """Compare the disk that this life begins with to what was known of it. Raises Broken."""
        replica, stored = self._replica, self._view.disk.election
        if stored.epoch < replica.epoch:
            what = f"was in epoch {replica.epoch}, and its disk holds {stored.epoch}"
            raise Broken("Q1-monotonic-epoch", f"n{replica.key.id} {what}")
        self._moved = (FOUND, stored.epoch)
        origins = self._ledgers.origins
        if stored.voted == replica.key:
            origins.stands(stored.epoch)
        if stored.leader == replica.key.id:
            origins.resigns(replica.key, stored.epoch)
        origins.enters(replica.key, stored.epoch)
        self._claim(stored.epoch, stored.leader, stored.voted)
        start = self._start()
        log = self._whole_log(start)
        # A snapshot that is newer than what was durable stands for all that was committed of it.
        is_replaced = (start.epoch, start.end) > (replica.durable.epoch, replica.durable.end)
        if not (is_replaced or holds(log, replica.durable)):
            what = f"had {replica.durable} durably, and finds a log without it: {log} is its last"
            raise Broken("durable-stays", f"n{replica.key.id} {what}")
        replica.log = log
        self._follow_disk()
        self._ledgers.commits.still_kept()

    def _start(self) -> KnownBatch:
        """What lies before the log's first batch: all below a snapshot, or nothing."""
        view = self._view.log
        if view.start() == 0:
            return NOTHING
        ids = [snapshot.id for snapshot in view.snapshots()]
        if not ids or ids[0].offset != view.start():
            what = f"starts at {view.start()}, and has the snapshots {ids}"
            raise Broken("Q14-log-starts-at-a-snapshot", f"n{self._replica.key.id} {what}")
        return self._ledgers.commits.ending_at(ids[0])

    def _whole_log(self, log: KnownBatch) -> KnownBatch:
        view = self._view.log
        end = view.end().offset
        while log.end < end:
            log = self._appended(log, view.read(log.end, _READ_BYTES))
        return log

    def _appended(self, log: KnownBatch, data: bytes) -> KnownBatch:
        position = 0
        while position < len(data):
            header = read_header(data, position)
            end = position + header.size
            names = named_in(header, data[position:end], log) if header.is_control else None
            log = self._ledgers.batches.append(log, header, names)
            position = end
        return log

    # --- every step ---

    def _follow(self, outputs: Sequence[Output]) -> None:
        view, now = self._view, self._ledgers.fetches.next_step()
        self._arrivals.note(view.reads, now)
        for output in outputs:
            if type(output) in _WRITES:
                self._write(output)
            elif type(output) is Trace and output.event == "q.state":
                self._move(output.fields)
        if view.disk.log_end != self._durable_end:
            self._follow_disk()
        led, role, committed, applied = self._role, view.role, view.committed, view.applied
        self._follow_voters()
        if role is not led:
            self._enter(role)
            if isinstance(role, Leader):
                check_removed(self._replica.key, role, self._replica.log)
        if committed != self._committed:
            self._commit(committed, role if isinstance(role, Leader) else led)
        if applied != self._applied:
            self._apply(applied)
        for output in outputs:
            if type(output) in _CLAIMS:
                self._heed(output)

    def _write(self, output: Output) -> None:
        match output:
            case AppendBatches(log=log, data=data) if log == METADATA_LOG:
                before, self._replica.log = (
                    self._replica.log,
                    self._appended(self._replica.log, data),
                )
                if isinstance(self._view.role, Leader):
                    self._lead_on(data, before)
            case TruncateLog(log=log, end=end) if log == METADATA_LOG:
                self._truncate(end)
            case ReplaceLog(snapshot=id_):
                self._replace(id_)
            case CutLog():
                self._start()

    def _heed(self, output: Output) -> None:
        """What the node tells others, or its account, or keeps as committed."""
        match output:
            case Ask(request=FetchRequest(fetch_offset=offset, epoch=epoch)):
                self._ledgers.fetches.send(self._replica.key, epoch)
                self._fetch(offset)
            case FinishSnapshot(snapshot=id_):
                self._ledgers.commits.ending_at(id_)
            case Ask(request=VoteRequest(last_offset=offset)):
                self._ask_for_vote(offset)
            case Trace(event="q.vote", fields=fields) if fields["granted"]:
                self._answer_vote(fields)
            case Trace(event="c.active", fields=fields):
                self._activate(fields)
            case Trace(event="c.read", fields=fields):
                arrived = self._arrivals.of(_number(fields, "ticket"))
                epoch = Epoch(_number(fields, "epoch"))
                voting = self._ledgers.batches.voting(self._replica.log)
                self._ledgers.fetches.confirm(self._replica.key, epoch, arrived, voting)
            case _:
                pass

    # --- its log ---

    def _truncate(self, end: Offset) -> None:
        node = self._replica.key.id
        if isinstance(self._view.role, Leader):
            raise Broken("Q6-leader-appends-only", f"n{node} leads, and cuts its log at {end}")
        if self._committed is not None and end < self._committed:
            what = f"cuts its log at {end}, below its high watermark {self._committed}"
            raise Broken("Q10-no-cut-below-high-watermark", f"n{node} {what}")
        self.before_truncation(end)
        self._replica.log = cut(self._replica.log, end)
        self._ledgers.commits.still_kept()

    def _replace(self, snapshot: LogPosition) -> None:
        if isinstance(self._view.role, Leader):
            what = f"n{self._replica.key.id} leads, and replaces its log by a snapshot"
            raise Broken("Q16-leader-loads-none", what)
        self._replica.log = self._ledgers.commits.ending_at(snapshot)
        self._durable_end = Offset(-1)
        self._start()

    def _follow_disk(self) -> None:
        self._durable_end = self._view.disk.log_end
        self._replica.durable = cut(self._replica.log, self._durable_end)

    def _fetch(self, offset: int) -> None:
        if offset > self._durable_end:
            what = f"fetches from {offset}, and its disk is sure to hold what is below "
            what += f"{self._durable_end}"
            raise Broken("Q18-durable-before-counted", f"n{self._replica.key.id} {what}")

    def _ask_for_vote(self, log_end: int) -> None:
        if log_end > self._durable_end:
            what = (
                f"asks for votes with a log that ends at {log_end}, and its disk is sure to hold "
            )
            what += f"what is below {self._durable_end}"
            raise Broken("durable-before-asked", f"n{self._replica.key.id} {what}")

    def _lead_on(self, data: bytes, before: KnownBatch) -> None:
        """A leader wrote a batch."""
        if data and read_header(data).is_control:
            self._begin_epoch(data, before)
            self._change_voters(before)
        ledgers = self._ledgers
        check_first_write(before, self._replica.log, ledgers.batches, ledgers.durable_of)

    def _begin_epoch(self, data: bytes, before: KnownBatch) -> None:
        voting = self._ledgers.batches.voting(before)
        for batch in split_batches(data):
            for record in batch.records():
                change = decode_control(record.key, record.value)
                if isinstance(change, LeaderChange):
                    epoch = batch.header.leader_epoch
                    self._ledgers.elections.names(self._replica.key.id, change, epoch, voting)

    # --- who votes ---

    def _change_voters(self, before: KnownBatch) -> None:
        ledgers, committed = self._ledgers, self._view.committed or Offset(0)
        check_change(before, self._replica.log, committed, ledgers.batches, ledgers.durable_of)

    def _follow_voters(self) -> None:
        log, voters = self._replica.log, self._view.voters
        if voters is self._voters and log.naming is self._naming:
            return
        self._voters, self._naming = voters, log.naming
        if log.naming is not None or self._replica.key in self._ledgers.batches.first:
            check_belief(self._replica.key, voters, self._ledgers.batches.voting(log))

    # --- its role ---

    def _move(self, state: Mapping[str, TraceValue]) -> None:
        """One of the transitions of a step, in which there may be several."""
        key, origins = self._replica.key, self._ledgers.origins
        epoch, silent_ns = Epoch(_number(state, "epoch")), _number(state, "silent_ns")
        before, self._moved = self._moved, (str(state["state"]), epoch)
        committed = self._view.committed or Offset(0)
        check_stands(key, self._moved[0], self._replica.log, self._ledgers.batches, committed)
        match state["state"]:
            case "candidate":
                check_asked(key, before, epoch)
                origins.stands(epoch)
            case "resigned":
                origins.resigns(key, epoch)
            case "prospective" if 0 <= silent_ns < self._ledgers.least_silent_ns:
                what = f"n{key.id} gives up the leader of epoch {epoch}, which it heard "
                what += f"{silent_ns / 1e9:.3f} s ago"
                raise Broken("heard-leader-is-kept", what)
            case _:
                pass

    def _enter(self, role: Role) -> None:
        """The role is another object: mostly the same role with other details."""
        before, self._role = self._role, role
        same_epoch = before is not None and before.epoch == role.epoch
        if isinstance(role, Leader):
            if not (isinstance(before, Leader) and same_epoch):
                self._lead(role)
                before = None
            if role.high_watermark is not None:
                self._publish(role, before.high_watermark if isinstance(before, Leader) else None)
        elif not (before is not None and same_epoch and say_same(before, role)):
            self._speak(role)

    def _speak(self, role: Role) -> None:
        """It is in an epoch, knows a leader, has voted: every answer says so from now on."""
        node, stored, said = self._replica.key.id, self._view.disk.election, told_by(role)
        if role.epoch < self._replica.epoch:
            what = f"n{node} goes from epoch {self._replica.epoch} back to {role.epoch}"
            raise Broken("Q1-monotonic-epoch", what)
        self._ledgers.origins.enters(self._replica.key, role.epoch)
        self._ledgers.elections.remembers(self._replica.key, role)
        self._claim(role.epoch, said.leader, said.voted)
        if stored != said:
            what = f"n{node} speaks of {in_words(said)}, and its disk is sure to hold "
            raise Broken("durable-before-visible", what + in_words(stored))

    def _lead(self, role: Leader) -> None:
        self._speak(role)
        ledgers, key = self._ledgers, self._replica.key
        ledgers.elections.votes(key, key, role.epoch)
        start = ledgers.batches.start_of(role.epoch)
        log = self._replica.log if start is None else cut(self._replica.log, start)
        ledgers.elections.reigns(key, self.number, role, ledgers.batches.voting(log))
        ledgers.commits.elect(role.epoch, self._replica.log)

    def _claim(self, epoch: Epoch, leader: NodeId, voted: ReplicaKey | None) -> None:
        self._replica.epoch = epoch
        self._ledgers.elections.leads(leader, epoch)
        self._ledgers.elections.votes(self._replica.key, voted, epoch)

    def _answer_vote(self, vote: Mapping[str, TraceValue]) -> None:
        """A granted vote is in an answer: it is the one on the disk, unless that is further on."""
        directory = parse_uuid(str(vote["candidate_dir"]))
        candidate = ReplicaKey(NodeId(_number(vote, "candidate")), directory)
        epoch, stored = Epoch(_number(vote, "epoch")), self._view.disk.election
        key = self._replica.key
        self._ledgers.elections.votes(key, candidate, epoch)
        if stored.epoch < epoch or (stored.epoch == epoch and stored.voted != candidate):
            what = f"n{key.id} grants n{candidate.id} its vote in epoch {epoch}, and its disk is "
            raise Broken("durable-before-visible", f"{what}sure to hold {in_words(stored)}")
        self._compare_with_own(candidate, (_number(vote, "log_epoch"), _number(vote, "log_end")))

    def _compare_with_own(self, candidate: ReplicaKey, log: tuple[int, int]) -> None:
        """Also where the vote is repeated: no candidate is excused for what it had once."""
        own = self._replica.durable
        if log < (own.epoch, own.end):
            what = f"n{self._replica.key.id} grants n{candidate.id} its vote, whose log ends at "
            what += f"{log[1]} in epoch {log[0]}, and holds {own} durably"
            raise Broken("votes-for-newer-logs", what)

    # --- what is committed ---

    def _publish(self, role: Leader, before: Offset | None) -> None:
        """A leader's high watermark: never lower than it was, and above its LeaderChange."""
        published, node = role.high_watermark, self._replica.key.id
        if published is None or published == before:
            return
        if before is not None and published < before:
            what = f"n{node}, leader of epoch {role.epoch}, lowers its high watermark from "
            raise Broken("Q8-node-high-watermark", f"{what}{before} to {published}")
        start = self._ledgers.batches.start_of(role.epoch)
        if start is None or published <= start:
            what = f"n{node} publishes {published} in epoch {role.epoch}, whose LeaderChange is at "
            raise Broken("Q13-high-watermark-above-leader-change", f"{what}{start}")

    def _commit(self, committed: Offset | None, leads: Role | None) -> None:
        known, self._committed = self._committed, committed
        if committed is None or (known is not None and committed < known):
            what = f"n{self._replica.key.id} lowers its high watermark from {known} to {committed}"
            raise Broken("Q8-node-high-watermark", what)
        epoch = leads.epoch if isinstance(leads, Leader) else None
        self._ledgers.commits.reach(self._replica.log, committed, epoch)

    def _apply(self, applied: Offset) -> None:
        self._applied = applied
        if applied > (self._committed or 0):
            what = f"shows and acknowledges all below {applied}, and {self._committed} is committed"
            raise Broken("committed-before-applied", f"n{self._replica.key.id} {what}")
        self._ledgers.images.compare(self._replica.key.id, applied, self._view.digest)

    def _activate(self, claim: Mapping[str, TraceValue]) -> None:
        """The controller decides from its image, which holds all that its log held before it."""
        offset, epoch = _number(claim, "offset"), Epoch(_number(claim, "epoch"))
        start = self._ledgers.batches.start_of(epoch)
        if start is None or offset <= start:
            what = f"is active in epoch {epoch}, whose LeaderChange is at {start}, with an image "
            what += f"of what lies below {offset}"
            raise Broken("M2-active-after-replay", f"n{self._replica.key.id} {what}")


def _number(fields: Mapping[str, TraceValue], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int), f"{name} is {value!r}"
    return value
