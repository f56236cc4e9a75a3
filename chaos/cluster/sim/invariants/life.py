"""One life of one node, followed step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from chaos.cluster.sim.invariants.batches import NOTHING, Batch, Batches, cut, holds
from chaos.cluster.sim.invariants.commits import Commits
from chaos.cluster.sim.invariants.elections import Elections
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.violation import Broken, InvariantViolated
from node.effects import AppendBatches, ElectionState, Trace, TraceValue, TruncateLog
from node.ids import NO_NODE, Epoch, NodeId, Offset, ReplicaKey, parse_uuid
from node.messages import FetchRequest
from node.raft.outbox import Ask, Output
from node.raft.quorum import election_state, leader_of, voted_in
from node.raft.roles import Leader, Role
from node.records.batch import read_header

_READ_BYTES = 1024 * 1024
# By type, since most outputs are neither.
_WRITES = frozenset((AppendBatches, TruncateLog))
_CLAIMS = frozenset((Ask, Trace))


@dataclass(eq=False, slots=True)
class Replica:
    """A node with its disk, over all its lives. `durable` is a part of `log`."""

    key: ReplicaKey
    log: Batch = NOTHING
    durable: Batch = NOTHING
    epoch: Epoch = Epoch(0)  # the highest that it was in
    lives: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What all lives of all nodes are compared with."""

    batches: Batches
    elections: Elections
    commits: Commits


class Life:
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

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """The node took a step, and all that it asked for was done, but for frames.

        None of those has left yet. Raises InvariantViolated.
        """
        self.steps += 1
        try:
            self._follow(outputs)
        except Broken as broken:
            self.blame(broken, at_ns)

    def before_truncation(self, end: Offset) -> None:
        """The log is being cut: should the node die of that, what lies above is there or not."""
        if end < self._replica.durable.end:
            self._replica.durable = cut(self._replica.durable, end)
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
        self._claim(stored.epoch, stored.leader, stored.voted)
        log = self._whole_log()
        if not holds(log, replica.durable):
            what = f"had {replica.durable} durably, and finds a log without it: {log} is its last"
            raise Broken("durable-stays", f"n{replica.key.id} {what}")
        replica.log = log
        self._follow_disk()
        self._ledgers.commits.still_kept()

    def _whole_log(self) -> Batch:
        log, view = NOTHING, self._view.log
        end = view.end().offset
        while log.end < end:
            log = self._appended(log, view.read(log.end, _READ_BYTES))
        return log

    def _appended(self, log: Batch, data: bytes) -> Batch:
        position = 0
        while position < len(data):
            header = read_header(data, position)
            log = self._ledgers.batches.append(log, header)
            position += header.size
        return log

    # --- every step ---

    def _follow(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if type(output) in _WRITES:
                self._write(output)
        view = self._view
        if view.disk.log_end != self._durable_end:
            self._follow_disk()
        led = self._role
        if view.role is not led:
            self._enter(view.role)
        if view.committed != self._committed:
            self._commit(view.committed, view.role if isinstance(view.role, Leader) else led)
        if view.applied != self._applied:
            self._apply(view.applied)
        for output in outputs:
            if type(output) in _CLAIMS:
                self._heed(output)

    def _write(self, output: Output) -> None:
        match output:
            case AppendBatches(data=data):
                self._replica.log = self._appended(self._replica.log, data)
            case TruncateLog(end=end):
                self._truncate(end)

    def _heed(self, output: Output) -> None:
        """What the node tells others, or its account."""
        match output:
            case Ask(request=FetchRequest(fetch_offset=offset)):
                self._fetch(offset)
            case Trace(event="q.vote", fields=fields) if fields["granted"]:
                self._answer_vote(fields)
            case Trace(event="c.active", fields=fields):
                self._activate(fields)
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

    def _follow_disk(self) -> None:
        self._durable_end = self._view.disk.log_end
        self._replica.durable = cut(self._replica.log, self._durable_end)

    def _fetch(self, offset: int) -> None:
        if offset > self._durable_end:
            what = f"fetches from {offset}, and its disk is sure to hold what is below "
            what += f"{self._durable_end}"
            raise Broken("Q18-durable-before-counted", f"n{self._replica.key.id} {what}")

    # --- its role ---

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
        elif not (before is not None and same_epoch and _says_the_same(before, role)):
            self._speak(role)

    def _speak(self, role: Role) -> None:
        """It is in an epoch, knows a leader, has voted: every answer says so from now on."""
        node, stored, said = self._replica.key.id, self._view.disk.election, election_state(role)
        if role.epoch < self._replica.epoch:
            what = f"n{node} goes from epoch {self._replica.epoch} back to {role.epoch}"
            raise Broken("Q1-monotonic-epoch", what)
        self._claim(role.epoch, said.leader, said.voted)
        if stored != said:
            what = f"n{node} speaks of {_told(said)}, and its disk is sure to hold {_told(stored)}"
            raise Broken("durable-before-visible", what)

    def _lead(self, role: Leader) -> None:
        self._speak(role)
        ledgers, key = self._ledgers, self._replica.key
        ledgers.elections.votes(key, key, role.epoch)
        ledgers.elections.reigns(key, self.number, role)
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
            raise Broken("durable-before-visible", f"{what}sure to hold {_told(stored)}")

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

    def _activate(self, claim: Mapping[str, TraceValue]) -> None:
        """The controller decides from its image, which holds all that its log held before it."""
        offset, epoch = _number(claim, "offset"), Epoch(_number(claim, "epoch"))
        start = self._ledgers.batches.start_of(epoch)
        if start is None or offset <= start:
            what = f"is active in epoch {epoch}, whose LeaderChange is at {start}, with an image "
            what += f"of what lies below {offset}"
            raise Broken("M2-active-after-replay", f"n{self._replica.key.id} {what}")


def _says_the_same(one: Role, other: Role) -> bool:
    return leader_of(one) == leader_of(other) and voted_in(one) == voted_in(other)


def _number(fields: Mapping[str, TraceValue], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int), f"{name} is {value!r}"
    return value


def _told(state: ElectionState) -> str:
    leader = "no leader" if state.leader == NO_NODE else f"leader n{state.leader}"
    vote = "no vote" if state.voted is None else f"a vote for n{state.voted.id}"
    return f"epoch {state.epoch}, {leader}, {vote}"
