"""The voters in one life of one node: what it believes, writes and acknowledges of them."""

from collections.abc import Iterable
from typing import NoReturn

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import KnownBatch
from chaos.cluster.sim.invariants.ledgers import Ledgers, Replica
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.voter_changes import (
    check_acknowledged,
    check_belief,
    check_change,
    check_stands,
)
from node.errors import ErrorCode
from node.ids import Epoch, Offset, ReplicaKey
from node.outbox import ResponseTo
from node.raft.roles import Leader, Role
from node.wire.describe_quorum import DescribeQuorumResponse
from node.wire.raft_voters import VoterChangeResponse

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
