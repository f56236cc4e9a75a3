"""One life of one node, followed step by step: its messages, its disk, its log."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, cut, holds
from chaos.cluster.sim.invariants.ledgers import (
    FOUND,
    Arrivals,
    Ledgers,
    Replica,
    TakenState,
    check_asked,
    election_state_of,
    in_words,
    say_same,
)
from chaos.cluster.sim.invariants.rules import Broken, InvariantViolated, number
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.watched_voters import (
    WatchedVoters,
    check_first_write,
    check_removed,
    named_in,
)
from node.effects import (
    AppendBatches,
    DeleteBeforeSnapshot,
    FinishSnapshot,
    ReplaceLog,
    Trace,
    TraceValue,
    TruncateLog,
)
from node.ids import METADATA_LOG, Epoch, LogPosition, NodeId, Offset, ReplicaKey, parse_uuid
from node.outbox import Output, RequestTo, ResponseTo
from node.raft.roles import Leader, Role
from node.records.batch import read_header, split_batches
from node.records.control import LeaderChange, decode_control
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest

# Epoch, leader, vote and high watermark in one life: in a node's messages and on its disk.


# Judged for every role, and for every new leader.
_SPOKEN = (
    "Q1-monotonic-epoch",
    "Q2-one-leader-per-epoch",
    "Q3-one-vote-per-epoch",
    "durable-before-visible",
    "epochs-have-an-origin",
)
_LED = ("Q4-elected-by-a-majority", "Q11-leader-completeness", "Q17-no-leader-again")


class WatchedRole:
    """Raises Broken."""

    def __init__(self, ledgers: Ledgers, replica: Replica, view: View) -> None:
        self.role: Role | None = None  # at the last look
        self._ledgers = ledgers
        self._replica = replica
        self._view = view
        self._looked = ledgers.looked
        self._life = replica.lives
        self._moved: TakenState = (FOUND, Epoch(0))

    def find(self) -> None:
        """The state at the start of this life, compared to what was known of its disk."""
        replica, stored = self._replica, self._view.disk.election
        if stored.epoch < replica.epoch:
            what = f"was in epoch {replica.epoch}, and its disk holds {stored.epoch}"
            raise Broken("Q1-monotonic-epoch", f"n{replica.key.id} {what}")
        self._moved = (FOUND, stored.epoch)
        origins = self._ledgers.origins
        if stored.voted == replica.key:
            origins.stands(stored.epoch)
        if stored.leader == replica.key.id:
            if self._votes_alone():
                # It became candidate and leader within one step: a fault in that step left only
                # this.
                origins.stands(stored.epoch)
            origins.resigns(replica.key, stored.epoch)
        origins.enters(replica.key, stored.epoch)
        self._claim(stored.epoch, stored.leader, stored.voted)

    def _votes_alone(self) -> bool:
        """Judged by the log at the last look."""
        voting = self._ledgers.batches.voting(self._replica.log)
        return {voter.id for voter in voting} == {self._replica.key.id}

    def move(self, state: Mapping[str, TraceValue]) -> None:
        """One transition of a step, which may have several."""
        key, origins = self._replica.key, self._ledgers.origins
        epoch, silent_ns = Epoch(number(state, "epoch")), number(state, "silent_ns")
        before, self._moved = self._moved, (str(state["state"]), epoch)
        match state["state"]:
            case "candidate":
                self._looked["asked-before-standing"] += 1
                check_asked(key, before, epoch)
                origins.stands(epoch)
            case "resigned":
                origins.resigns(key, epoch)
            case "prospective" if silent_ns >= self._ledgers.least_silent_ns:
                self._looked["heard-leader-is-kept"] += 1
            case "prospective" if 0 <= silent_ns < self._ledgers.least_silent_ns:
                what = f"n{key.id} gives up the leader of epoch {epoch}, which it heard "
                what += f"{silent_ns / 1e9:.3f} s ago"
                raise Broken("heard-leader-is-kept", what)
            case _:
                pass

    def enter(self, role: Role) -> None:
        """The role is another object: mostly the same role with other details."""
        before, self.role = self.role, role
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
        """It is in an epoch, knows a leader, has voted: every answer shows that from now on."""
        node, stored, said = self._replica.key.id, self._view.disk.election, election_state_of(role)
        for rule in _SPOKEN:
            self._looked[rule] += 1
        if role.epoch < self._replica.epoch:
            what = f"n{node} goes from epoch {self._replica.epoch} back to {role.epoch}"
            raise Broken("Q1-monotonic-epoch", what)
        self._ledgers.origins.enters(self._replica.key, role.epoch)
        self._ledgers.elections.remembers(self._replica.key, role)
        self._claim(role.epoch, said.leader, said.voted)
        if stored != said:
            what = f"n{node} shows {in_words(said)}, and its disk surely holds only "
            raise Broken("durable-before-visible", what + in_words(stored))

    def _lead(self, role: Leader) -> None:
        self._speak(role)
        ledgers, key = self._ledgers, self._replica.key
        for rule in _LED:
            self._looked[rule] += 1
        ledgers.elections.votes(key, key, role.epoch)
        start = ledgers.batches.start_of(role.epoch)
        log = self._replica.log if start is None else cut(self._replica.log, start)
        ledgers.elections.reigns(key, self._life, role, ledgers.batches.voting(log))
        ledgers.commits.elect(role.epoch, self._replica.log)

    def _claim(self, epoch: Epoch, leader: NodeId, voted: ReplicaKey | None) -> None:
        self._replica.epoch = epoch
        self._ledgers.elections.leads(leader, epoch)
        self._ledgers.elections.votes(self._replica.key, voted, epoch)

    def answer_vote(self, vote: Mapping[str, TraceValue]) -> None:
        """A granted vote is in an answer: it is the one on the disk, unless the disk is in a later
        epoch."""
        directory = parse_uuid(str(vote["candidate_dir"]))
        candidate = ReplicaKey(NodeId(number(vote, "candidate")), directory)
        epoch, stored = Epoch(number(vote, "epoch")), self._view.disk.election
        key = self._replica.key
        self._looked["votes-for-newer-logs"] += 1
        self._ledgers.elections.votes(key, candidate, epoch)
        if stored.epoch < epoch or (stored.epoch == epoch and stored.voted != candidate):
            what = f"n{key.id} grants n{candidate.id} its vote in epoch {epoch}, and its disk "
            raise Broken("durable-before-visible", f"{what}surely holds only {in_words(stored)}")
        self._compare_with_own(candidate, (number(vote, "log_epoch"), number(vote, "log_end")))

    def _compare_with_own(self, candidate: ReplicaKey, log: tuple[int, int]) -> None:
        """Also where the vote is repeated: an earlier log of the candidate does not count."""
        own = self._replica.durable
        if log < (own.epoch, own.end):
            what = (
                f"n{self._replica.key.id} grants its vote to n{candidate.id} with a log that "
                "ends at "
            )
            what += f"{log[1]} in epoch {log[0]}, and holds {own} durably"
            raise Broken("votes-for-newer-logs", what)

    def _publish(self, role: Leader, before: Offset | None) -> None:
        """A leader's high watermark: never lower than it was, and above its LeaderChange."""
        published, node = role.high_watermark, self._replica.key.id
        if published is None or published == before:
            return
        self._looked["Q13-high-watermark-above-leader-change"] += 1
        if before is not None and published < before:
            what = f"n{node}, leader of epoch {role.epoch}, lowers its high watermark from "
            raise Broken("Q8-node-high-watermark", f"{what}{before} to {published}")
        start = self._ledgers.batches.start_of(role.epoch)
        if start is None or published <= start:
            what = f"n{node} publishes {published} in epoch {role.epoch}, with its LeaderChange at "
            raise Broken("Q13-high-watermark-above-leader-change", f"{what}{start}")


_READ_BYTES = 1024 * 1024
# By type, and by trace event, since most outputs are neither.
_WRITES = frozenset((AppendBatches, TruncateLog, ReplaceLog, DeleteBeforeSnapshot))
_CLAIMS = frozenset((RequestTo, ResponseTo, FinishSnapshot))
_COMMITTED = ("Q8-node-high-watermark", "Q9-committed-by-majority", "Q12-committed-agree")
_CLAIMING = frozenset(("q.vote", "c.active", "c.read"))


class WatchedLife:
    """Follows a process from the moment it has opened its log. A broken invariant raises Broken
    inside, and InvariantViolated from the methods that the simulator calls."""

    def __init__(self, ledgers: Ledgers, replica: Replica, view: View) -> None:
        self.number = replica.lives
        self.steps = 0
        self._ledgers = ledgers
        self._replica = replica
        self._view = view
        self._looked = ledgers.looked
        self._committed: Offset | None = None
        self._applied = view.applied
        self._durable_end = Offset(-1)  # unknown
        self._arrivals = Arrivals()
        self._role = WatchedRole(ledgers, replica, view)
        self._voters = WatchedVoters(ledgers, replica, view)

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """The node took a step, and all its effects were performed, but for frames.

        None of those has left yet. Raises InvariantViolated.
        """
        self.steps += 1
        try:
            self._follow(outputs)
        except Broken as broken:
            self.blame(broken, at_ns)

    def after_sync(self) -> None:
        """Something became durable between two steps. What is written from now on is not durable,
        and at the next look the disk could not tell the two apart."""
        self._follow_disk()

    def before_truncation(self, end: Offset) -> None:
        """The log is being truncated: should the node die of that, what lies above is there or
        not."""
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
        self._role.find()
        replica = self._replica
        start = self._start()
        log = self._whole_log(start)
        # A snapshot newer than the durable log replaces the committed part of it.
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
        self._looked["Q14-log-starts-at-a-snapshot"] += 1
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
        for batch in split_batches(data):
            names = named_in(batch, log) if batch.header.is_control else None
            self._looked["Q5-log-matching"] += 1
            if names is not None:
                self._looked["V1-one-voter-at-a-time"] += 1
                self._looked["P5-all-listed-are-named-at-once"] += 1
            log = self._ledgers.batches.append(log, batch.header, names)
        return log

    # --- every step ---

    def _follow(self, outputs: Sequence[Output]) -> None:
        view, now, reads = self._view, self._ledgers.fetches.next_step(), self._view.reads
        if reads > self._arrivals.newest:
            self._arrivals.note(reads, now)
        told: list[Output] = []  # sent to others, traced, or kept as committed
        for output in outputs:
            if type(output) is Trace:
                if output.event == "q.state":
                    self._voters.stand(str(output.fields["state"]))
                    self._role.move(output.fields)
                elif output.event in _CLAIMING:
                    told.append(output)
            elif type(output) in _WRITES:
                self._write(output)
            elif type(output) in _CLAIMS:
                told.append(output)
        if view.disk.log_end != self._durable_end:
            self._follow_disk()
        led, role, committed, applied = self._role.role, view.role, view.committed, view.applied
        leads = role if isinstance(role, Leader) else led
        self._voters.after_step()
        if role is not led:
            self._role.enter(role)
            if isinstance(role, Leader):
                self._looked["V9-removed-leader-resigns"] += 1
                check_removed(self._replica.key, role, self._replica.log)
        if committed != self._committed:
            self._commit(committed, leads)
        if applied != self._applied:
            self._apply(applied)
        for output in told:
            if type(output) is ResponseTo:
                self._voters.acknowledge(output, leads)
            else:
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
            case DeleteBeforeSnapshot():
                self._start()

    def _heed(self, output: Output) -> None:
        """What the node sends to others, traces, or keeps as committed."""
        match output:
            case RequestTo():
                self._ask(output.request)
            case FinishSnapshot(snapshot=id_):
                self._looked["Q15-snapshots-of-committed"] += 1
                self._ledgers.commits.ending_at(id_)
            case Trace(event="q.vote", fields=fields) if fields["granted"]:
                self._role.answer_vote(fields)
            case Trace(event="c.active", fields=fields):
                self._activate(fields)
            case Trace(event="c.read", fields=fields):
                self._looked["reads-are-confirmed"] += 1
                arrived = self._arrivals.of(number(fields, "ticket"))
                epoch = Epoch(number(fields, "epoch"))
                voting = self._ledgers.batches.voting(self._replica.log)
                self._ledgers.fetches.confirm(self._replica.key, epoch, arrived, voting)
            case _:
                pass

    def _ask(self, request: object) -> None:
        if isinstance(request, FetchRequest):
            self._ledgers.fetches.send(self._replica.key, request.epoch)
            self._fetch(request.fetch_offset)
        elif isinstance(request, VoteRequest):
            self._ask_for_vote(request.last_offset)

    # --- its log ---

    def _truncate(self, end: Offset) -> None:
        node = self._replica.key.id
        self._looked["Q6-leader-appends-only"] += 1
        self._looked["Q10-no-cut-below-high-watermark"] += 1
        if isinstance(self._view.role, Leader):
            raise Broken("Q6-leader-appends-only", f"n{node} leads, and truncates its log to {end}")
        if self._committed is not None and end < self._committed:
            what = f"truncates its log to {end}, below its high watermark {self._committed}"
            raise Broken("Q10-no-cut-below-high-watermark", f"n{node} {what}")
        self.before_truncation(end)
        self._replica.log = cut(self._replica.log, end)
        self._ledgers.commits.still_kept()

    def _replace(self, snapshot: LogPosition) -> None:
        self._looked["Q16-leader-loads-none"] += 1
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
        self._looked["Q18-durable-before-counted"] += 1
        if offset > self._durable_end:
            what = f"fetches from {offset}, and its disk surely holds only what is below "
            what += f"{self._durable_end}"
            raise Broken("Q18-durable-before-counted", f"n{self._replica.key.id} {what}")

    def _ask_for_vote(self, log_end: int) -> None:
        self._looked["durable-before-asked"] += 1
        if log_end > self._durable_end:
            what = (
                f"asks for votes with a log that ends at {log_end}, and its disk surely holds only "
            )
            what += f"what is below {self._durable_end}"
            raise Broken("durable-before-asked", f"n{self._replica.key.id} {what}")

    def _lead_on(self, data: bytes, before: KnownBatch) -> None:
        """A leader wrote a batch."""
        if data and read_header(data).is_control:
            self._begin_epoch(data, before)
            self._voters.change(before)
        ledgers = self._ledgers
        self._looked["P5-first-voters-on-all-before-more"] += 1
        check_first_write(before, self._replica.log, ledgers.batches, ledgers.durable_of)

    def _begin_epoch(self, data: bytes, before: KnownBatch) -> None:
        voting = self._ledgers.batches.voting(before)
        for batch in split_batches(data):
            for record in batch.records():
                change = decode_control(record.key, record.value)
                if isinstance(change, LeaderChange):
                    epoch = batch.header.leader_epoch
                    self._ledgers.elections.names(self._replica.key.id, change, epoch, voting)

    # --- what is committed ---

    def _commit(self, committed: Offset | None, leads: Role | None) -> None:
        known, self._committed = self._committed, committed
        for rule in _COMMITTED:
            self._looked[rule] += 1
        if committed is None or (known is not None and committed < known):
            what = f"n{self._replica.key.id} lowers its high watermark from {known} to {committed}"
            raise Broken("Q8-node-high-watermark", what)
        epoch = leads.epoch if isinstance(leads, Leader) else None
        self._ledgers.commits.reach(self._replica.log, committed, epoch)

    def _apply(self, applied: Offset) -> None:
        self._applied = applied
        self._looked["committed-before-applied"] += 1
        self._looked["M2-equal-images"] += 1
        if applied > (self._committed or 0):
            what = f"shows and acknowledges all below {applied}, and {self._committed} is committed"
            raise Broken("committed-before-applied", f"n{self._replica.key.id} {what}")
        self._ledgers.images.compare(self._replica.key.id, applied, self._view.digest)

    def _activate(self, claim: Mapping[str, TraceValue]) -> None:
        """The controller decides from its image, which holds all that its log had before it became
        active."""
        offset, epoch = number(claim, "offset"), Epoch(number(claim, "epoch"))
        self._looked["M2-active-after-replay"] += 1
        start = self._ledgers.batches.start_of(epoch)
        if start is None or offset <= start:
            what = f"is active in epoch {epoch}, with its LeaderChange at {start}, and an image "
            what += f"of what lies below {offset}"
            raise Broken("M2-active-after-replay", f"n{self._replica.key.id} {what}")
