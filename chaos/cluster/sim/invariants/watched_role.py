"""Epoch, leader, vote and high watermark in one life: in a node's messages and on its disk."""

from collections.abc import Mapping

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.epoch_origins import FOUND, TakenState, check_asked
from chaos.cluster.sim.invariants.known_batches import cut
from chaos.cluster.sim.invariants.ledgers import Ledgers, Replica
from chaos.cluster.sim.invariants.role_told import in_words, say_same, told_by
from chaos.cluster.sim.invariants.trace_fields import number
from chaos.cluster.sim.invariants.view import View
from node.effects import TraceValue
from node.ids import Epoch, NodeId, Offset, ReplicaKey, parse_uuid
from node.raft.roles import Leader, Role

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
        node, stored, said = self._replica.key.id, self._view.disk.election, told_by(role)
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
