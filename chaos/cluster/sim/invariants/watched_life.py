"""One life of one node, followed step by step."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from chaos.cluster.sim.invariants.broken import Broken, InvariantViolated
from chaos.cluster.sim.invariants.confirmed_reads import Arrivals
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, cut, holds
from chaos.cluster.sim.invariants.ledgers import Ledgers, Replica
from chaos.cluster.sim.invariants.trace_fields import number
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.voter_changes import check_first_write, check_removed, named_in
from chaos.cluster.sim.invariants.watched_role import WatchedRole
from chaos.cluster.sim.invariants.watched_voters import WatchedVoters
from node.effects import (
    AppendBatches,
    DeleteBeforeSnapshot,
    FinishSnapshot,
    ReplaceLog,
    Trace,
    TraceValue,
    TruncateLog,
)
from node.ids import METADATA_LOG, Epoch, LogPosition, Offset
from node.outbox import Output, RequestTo, ResponseTo
from node.raft.roles import Leader, Role
from node.records.batch import read_header, split_batches
from node.records.control import LeaderChange, decode_control
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest

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
