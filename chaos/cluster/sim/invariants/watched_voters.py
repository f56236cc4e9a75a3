"""The voters in one life of one node: those it believes, writes and acknowledges."""

from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

from chaos.cluster.sim.invariants.known_batches import (
    Keys,
    KnownBatch,
    KnownBatches,
    are_by_id,
    holds,
)
from chaos.cluster.sim.invariants.ledgers import Ledgers, Replica
from chaos.cluster.sim.invariants.rules import Broken
from chaos.cluster.sim.invariants.view import View
from node.errors import ErrorCode
from node.ids import Epoch, Offset, ReplicaKey
from node.outbox import ResponseTo
from node.raft.roles import Leader, Role
from node.records.batch import Batch
from node.records.control import AddVoter, RemoveVoter, Voters, decode_control
from node.wire.raft_voters import DescribeQuorumResponse, VoterChangeResponse

# The voters by the logs, not by the node's own reading of them.


def named_in(control: Batch, before: KnownBatch) -> Keys | None:
    """The voters that a control batch after `before` names; None: it names none."""
    naming, names = before.naming, None
    known = naming.names if naming is not None and naming.names is not None else frozenset()
    for record in control.records():
        match decode_control(record.key, record.value):
            case Voters(voters=rows):
                names = known = frozenset(voter.key for voter in rows)
            case AddVoter(key=key):
                names = known = known | {key}
            case RemoveVoter(key=key):
                names = known = known - {key}
            case _:
                pass
    return names


def check_belief(node: ReplicaKey, voters: Iterable[ReplicaKey], voting: Keys) -> None:
    """A node's voters are those that the last such record of its log names."""
    if frozenset(voters) != voting:
        what = (
            f"n{node.id} has the voters {_nodes(voters)}, and by its log they are {_nodes(voting)}"
        )
        raise Broken("V4-voters-of-the-log", what)


def check_stands(
    node: ReplicaKey, state: str, log: KnownBatch, batches: KnownBatches, committed: Offset
) -> None:
    """A node that asks for votes is a voter by its own log, with its disk; before a log names any
    disk, by its id. Or it was one before a record that is not `committed`, as far as it knows:
    without it no node might be elected (Raft thesis 4.2.2). A leader may remove itself."""
    if state not in ("prospective", "candidate"):
        return
    voting, last = batches.voting(log), log.naming
    names = {key.id for key in voting} if are_by_id(voting) else voting
    before = batches.voting(last.prefix) if last is not None and last.prefix is not None else ()
    is_being_removed = last is not None and committed < last.end and node in before
    if node not in names and node.id not in names and not is_being_removed:
        what = f"n{node.id} ({node.directory}) is {state}, and by its log {_nodes(voting)} are "
        raise Broken("Q19-voters-stand-for-election", f"{what}the voters")


def check_change(
    before: KnownBatch,
    written: KnownBatch,
    committed: Offset,
    batches: KnownBatches,
    durable_of: Callable[[ReplicaKey], KnownBatch],
) -> None:
    """A leader writes the voters, and not as the first batch of its epoch: it has committed in this
    epoch, and the change before is committed; an added voter has, durably, all that was written.
    Only the first leader of listed nodes (KIP-856) names them as soon as it knows them."""
    epoch, start = written.epoch, batches.start_of(written.epoch)
    if written.names is None or start is None or written.base == start:
        return
    if are_by_id(batches.voting(before)):
        return
    last = before.naming
    if committed <= start:
        what = f"{written} changes the voters, and nothing of its epoch is committed"
        raise Broken("V3-epoch-committed-before-change", what)
    if last is not None and last.epoch == epoch and committed < last.end:
        what = f"{written} changes the voters, and {last}, which did, is not committed"
        raise Broken("V2-one-change-uncommitted", what)
    for key in sorted(written.names - batches.voting(before)):
        if not holds(durable_of(key), before):
            what = f"{written} adds n{key.id}, which lacks {before}"
            raise Broken("V10-added-when-caught-up", what)


def check_first_write(
    before: KnownBatch,
    written: KnownBatch,
    batches: KnownBatches,
    durable_of: Callable[[ReplicaKey], KnownBatch],
) -> None:
    """The first batch that a leader of listed nodes (KIP-856) writes besides its LeaderChange and
    the records of its voters: all voters have those, durably."""
    is_more = written.has_metadata or (written.names is not None and before.naming is not None)
    if before.has_metadata or not is_more or not are_by_id(batches.first):
        return
    naming = before.naming
    lacking = [
        key
        for key in sorted(batches.voting(before))
        if naming is None or not holds(durable_of(key), naming)
    ]
    if lacking:
        what = f"{written} is written, and {_nodes(lacking)} lack what names the voters"
        raise Broken("P5-first-voters-on-all-before-more", what)


def check_removed(node: ReplicaKey, role: Leader, log: KnownBatch) -> None:
    """A leader that is no longer a voter leads until that is committed, and no longer: also where
    it wrote another change behind it."""
    known = role.high_watermark
    if known is None:
        return
    for naming in _in_force(log, role.epoch):
        if naming.names is not None and node not in naming.names and known >= naming.end:
            what = (
                f"n{node.id} still leads after its removal from the voters was committed: {naming}"
            )
            raise Broken("V9-removed-leader-resigns", what)


def check_acknowledged(
    node: ReplicaKey,
    role: Leader,
    acknowledged: int,
    log: KnownBatch,
    committed: Offset,
    batches: KnownBatches,
) -> None:
    """A leader acknowledges no more changes than it made in its epoch and committed. (No client in
    the simulator asks for an answer before that.)"""
    done = sum(
        naming.epoch == role.epoch and naming.end <= committed and _is_change(naming, batches)
        for naming in _in_force(log, role.epoch)
    )
    if acknowledged > done:
        what = (
            f"n{node.id} acknowledged in epoch {role.epoch} {acknowledged} changes of the voters "
        )
        raise Broken("V5-acknowledged-changes-stay", f"{what}and {done} are committed")


def _is_change(naming: KnownBatch, batches: KnownBatches) -> bool:
    """Changes of the voters; not of their listeners, nor the first record that names listed
    ones."""
    before = batches.first if naming.prefix is None else batches.voting(naming.prefix)
    return not are_by_id(before) and naming.names != before


def _in_force(log: KnownBatch, epoch: Epoch) -> Iterator[KnownBatch]:
    """Batches that named the voters since that epoch began, and the last before it; newest
    first."""
    naming = log.naming
    while naming is not None:
        yield naming
        before = naming.prefix
        naming = None if naming.epoch < epoch or before is None else before.naming


# Judged for each control batch of a leader: it may name voters.
_CHANGED = (
    "V2-one-change-uncommitted",
    "V3-epoch-committed-before-change",
    "V10-added-when-caught-up",
)


def _nodes(voters: Iterable[ReplicaKey]) -> str:
    return ", ".join(f"n{key.id}" for key in sorted(voters))


class WatchedVoters:
    """Raises Broken."""

    def __init__(self, ledgers: Ledgers, replica: Replica, view: View) -> None:
        self._ledgers = ledgers
        self._replica = replica
        self._view = view
        self._voters: object = ()  # another one once its belief changes
        self._naming: KnownBatch | None = None
        self._before = self._log = replica.log  # before the last step, and after it
        self._acknowledged = (Epoch(0), 0)  # how many changes, as the leader of an epoch

    def after_step(self) -> None:
        """Its log or its belief may have changed, and a request for a change may have waited too
        long."""
        log, view = self._replica.log, self._view
        self._before, self._log = self._log, log
        voters = view.voters
        if voters is not self._voters or log.naming is not self._naming:
            self._voters, self._naming = voters, log.naming
            self._believe(log, voters)
        if view.change_due_ns <= view.polled_ns:
            self._answer_late()

    def stand(self, state: str) -> None:
        """It is in this state now."""
        self._ledgers.looked["Q19-voters-stand-for-election"] += 1
        check_stands(
            self._replica.key, state, self._replica.log, self._ledgers.batches, self._committed
        )

    def change(self, before: KnownBatch) -> None:
        """As the leader, it wrote a control batch after `before`."""
        ledgers = self._ledgers
        for rule in _CHANGED:
            ledgers.looked[rule] += 1
        check_change(
            before, self._replica.log, self._committed, ledgers.batches, ledgers.durable_of
        )

    def acknowledge(self, answer: ResponseTo, leads: Role | None) -> None:
        """It answers a request, perhaps about the voters, in a step in which it led, or began
        to."""
        response = answer.response
        if isinstance(response, DescribeQuorumResponse):
            self._describe(response)
        if not isinstance(response, VoterChangeResponse):
            return
        self._ledgers.looked["V11-changes-come-to-an-end"] += 1
        if response.error is not ErrorCode.NONE:
            return
        self._ledgers.looked["V5-acknowledged-changes-stay"] += 1
        if not isinstance(leads, Leader):
            what = f"n{self._replica.key.id} acknowledges a change of the voters, and does not lead"
            raise Broken("V5-acknowledged-changes-stay", what)
        known, count = self._acknowledged
        count = count + 1 if known == leads.epoch else 1
        self._acknowledged = (leads.epoch, count)
        log, batches = self._replica.log, self._ledgers.batches
        check_acknowledged(self._replica.key, leads, count, log, self._committed, batches)

    def _describe(self, told: DescribeQuorumResponse) -> None:
        """As a leader, by its log as before or after this step."""
        is_known = self._replica.log.naming is not None
        if told.top_error or told.error or not (is_known or self._is_first):
            return
        rule, batches = "told-quorum-is-so", self._ledgers.batches
        self._ledgers.looked[rule] += 1
        voters = frozenset(each.key for each in told.voters)
        if voters not in (batches.voting(self._before), batches.voting(self._replica.log)):
            what = (
                f"n{self._replica.key.id} answers with the voters {_nodes(voters)}, and by its log "
            )
            raise Broken(rule, f"{what}they are {_nodes(batches.voting(self._replica.log))}")

    @property
    def _is_first(self) -> bool:
        """The voters before any record names them."""
        return self._replica.key in self._ledgers.batches.first

    def _believe(self, log: KnownBatch, voters: Iterable[ReplicaKey]) -> None:
        if log.naming is not None or self._is_first:
            self._ledgers.looked["V4-voters-of-the-log"] += 1
            check_belief(self._replica.key, voters, self._ledgers.batches.voting(log))

    def _answer_late(self) -> NoReturn:
        """A pending request for a change of the voters had to be answered."""
        late_ns = self._view.polled_ns - self._view.change_due_ns
        what = f"n{self._replica.key.id} does not answer a request for a change of the voters, "
        what += f"{late_ns / 1e9:.3f} s after its time-out"
        raise Broken("V11-changes-come-to-an-end", what)

    @property
    def _committed(self) -> Offset:
        return self._view.committed or Offset(0)
