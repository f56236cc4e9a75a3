"""What a node knows of its quorum, and tells of it: to be asked; `quorum.py` changes it."""

import random
from collections.abc import Sequence

from node.config import QuorumTimeouts
from node.effects import ElectionState, PersistElectionState
from node.endpoint import Endpoint
from node.ids import NEVER_NS, NO_NODE, Epoch, LogPosition, NodeId, Offset, ReplicaKey, uuid_text
from node.outbox import Outbox
from node.raft.addresses import Addresses
from node.raft.candidacy import Candidacy
from node.raft.local_log import LocalLog
from node.raft.roles import STATE_NAMES, Leader, Role, Unattached, election_state, voted_in
from node.raft.voter_set import VoterSet


class KnownQuorum:
    """`election`: what quorum-state holds."""

    def __init__(
        self,
        *,
        key: ReplicaKey,
        listener: str,
        timeouts: QuorumTimeouts,
        log: LocalLog,
        election: ElectionState,
        rng: random.Random,
        outbox: Outbox,
    ) -> None:
        self.key = key
        self.listener = listener  # by which voters reach one another
        self.timeouts = timeouts
        self.role: Role = Unattached(epoch=election.epoch, election_deadline_ns=NEVER_NS)
        self.candidacy = Candidacy(key, log, timeouts, rng)
        self.addresses = Addresses(log, listener)
        self.committed: Offset | None = None  # the highest high watermark known in this life
        self._log = log
        self._stored = election
        self._others: tuple[VoterSet | None, list[ReplicaKey]] = (None, [])  # of which set
        self._outbox = outbox

    @property
    def voters(self) -> VoterSet:
        """The newest set. Not by way of `VoterHistory.newest`: nothing is asked more often."""
        return self._log.voters.sets[-1].voters

    @property
    def others(self) -> Sequence[ReplicaKey]:
        """The voters on other nodes."""
        voters = self.voters
        if self._others[0] is not voters:
            self._others = voters, voters.others(self.key)
        return self._others[1]

    @property
    def is_voter(self) -> bool:
        return self.candidacy.is_voter

    @property
    def can_lead(self) -> bool:
        """May it stand for election (`Candidacy`)?"""
        return self.candidacy.is_open(self.committed)

    @property
    def epoch(self) -> Epoch:
        return self.role.epoch

    @property
    def leader(self) -> NodeId:
        """The leader of this epoch, -1 when unknown."""
        return self.role.leader

    @property
    def high_watermark(self) -> Offset | None:
        """What this node may publish: a leader only what its own epoch has committed."""
        return self.role.high_watermark if isinstance(self.role, Leader) else self.committed

    def contradicts(self, epoch: Epoch, leader: NodeId) -> bool:
        """Does `leader` differ from the one we know in the same epoch? Nobody honest says so."""
        known = self.leader
        return epoch == self.epoch and NO_NODE not in (leader, known) and leader != known

    def has_address(self, node: NodeId) -> bool:
        """By the voter set."""
        return self.addresses.by_set(node) is not None

    def leader_at(self) -> Endpoint | None:
        """Where the leader is to be reached, as answers tell it."""
        return self.addresses.of_leader(self.role)

    # --- what is told of it ---

    def persist(self, role: Role) -> None:
        """Durable before visible: a vote forgotten in a power cut could be cast twice."""
        state = election_state(role)
        if state != self._stored:
            self._stored = state
            self._outbox.emit(PersistElectionState(state=state))

    def _trace_high_watermark(self, offset: Offset, role: str) -> None:
        self._outbox.trace("q.hwm", hwm=offset, epoch=self.epoch, role=role)

    def _trace_state(self, silent_ns: int) -> None:
        voted = voted_in(self.role)
        end: LogPosition = self._log.end
        self._outbox.trace(
            "q.state",
            state=STATE_NAMES[type(self.role)],
            epoch=self.epoch,
            leader=self.leader,
            voted=NO_NODE if voted is None else voted.id,
            voted_dir="" if voted is None else uuid_text(voted.directory),
            log_end=end.offset,
            log_epoch=end.epoch,
            silent_ns=silent_ns,
        )
