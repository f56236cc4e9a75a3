"""The one owner of a node's role: every transition is here, and nowhere else (`QuorumState`).

    from         to           when
    -----------  -----------  ---------------------------------------------------------------
    (start)      Unattached   by default; in the log's epoch if that is above the stored one
    (start)      Resigned     quorum-state says that we led this epoch (KAFKA-10527)
    (start)      Candidate    quorum-state says that we voted for ourselves
    (start)      Follower     quorum-state knows a leader that has an address
    Unattached   Unattached   higher epoch; vote granted
                 Prospective  election time-out, if a voter
                 Follower     leader learned
    Prospective  Prospective  vote granted
                 Candidate    a majority would vote for us
                 Follower     rejected or timed out while a leader is known; leader learned
                 Unattached   rejected or timed out; higher epoch
    Candidate    Leader       a majority voted for us
                 Prospective  election time-out (after a loss, too)
                 Follower     leader of this epoch or a higher one learned
                 Unattached   higher epoch
    Follower     Prospective  fetch time-out, if a voter
                 Follower     leader of a higher epoch learned
                 Unattached   higher epoch
    Leader       Resigned     check-quorum, shutdown
                 Follower     leader of a higher epoch learned
                 Unattached   higher epoch
    Resigned     Unattached   election time-out, with epoch + 1; higher epoch
                 Follower     leader of a higher epoch learned

A change of epoch, leader or vote is persisted before it is traced, and both precede whatever the
step sends. Prospective and Resigned are memory only: what quorum-state holds stays true.
The vote of an epoch survives every transition within the epoch.
"""

from dataclasses import replace
from typing import TypeVar

from node.effects import ElectionState
from node.ids import NEVER_NS, NO_NODE, Endpoint, Epoch, NodeId, Offset, ReplicaKey
from node.raft import deadlines
from node.raft.known_quorum import KnownQuorum
from node.raft.roles import (
    LAST_EPOCH,
    Ballot,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
    silent_ns,
    voted_in,
)
from node.raft.voter_set import VoterSet

R = TypeVar("R", Unattached, Prospective, Candidate, Leader, Follower, Resigned)


class Quorum(KnownQuorum):
    """The rules for leaving a role."""

    # --- start ---

    def start(self, mono_ns: int, committed: Offset | None) -> None:
        """Take the role that quorum-state and the log allow (`QuorumState.initialize`).
        `committed`: where the newest snapshot ends, if there is any; a voter removed by a record
        before it does not stand."""
        self.committed = committed
        stored, of_log = self._stored, self._log.end.epoch
        self.role = _before_start(max(stored.epoch, of_log))
        if of_log > stored.epoch:
            self._become(self._fresh_unattached(of_log, mono_ns), mono_ns)
        else:
            self._become(self.initial_role(stored, mono_ns), mono_ns)
        if committed is not None:
            self._trace_high_watermark(committed, "follower")

    def initial_role(self, stored: ElectionState, mono_ns: int) -> Role:
        """The role of a restarted node in its stored epoch."""
        if stored.leader == self.key.id:
            # Never Leader again in the same epoch: what was not flushed is lost, and leading on
            # would give its offsets to other records (KAFKA-10527).
            return Resigned(
                epoch=stored.epoch,
                leader=self.key.id,
                election_deadline_ns=self.candidacy.after_ns(mono_ns),
            )
        if stored.voted == self.key and self.can_lead:
            return Candidate(
                epoch=stored.epoch,
                voted=self.key,
                ballot=self._own_ballot(),
                election_deadline_ns=self._election_deadline(mono_ns),
            )
        if self.has_address(stored.leader):
            return Follower(
                epoch=stored.epoch,
                leader=stored.leader,
                leader_at=self.addresses.by_set(stored.leader),
                voted=stored.voted,
                fetch_deadline_ns=self._fetch_deadline(mono_ns),
            )
        unattached = self._fresh_unattached(stored.epoch, mono_ns)
        return replace(unattached, leader=stored.leader, voted=stored.voted)

    # --- transitions ---

    def to_unattached(self, epoch: Epoch, mono_ns: int, leader: NodeId = NO_NODE) -> None:
        same_epoch = epoch == self.epoch
        kept = deadlines.kept_election_deadline_ns(self.role, self.voters)
        if kept is None or not self.can_lead:
            kept = self._election_deadline(mono_ns)
        self._become(
            Unattached(
                epoch=epoch,
                leader=leader,
                voted=voted_in(self.role) if same_epoch else None,
                election_deadline_ns=kept,
            ),
            mono_ns,
        )

    def to_prospective(self, mono_ns: int) -> None:
        role = self.role
        assert isinstance(role, Unattached | Follower | Candidate), f"{role} cannot stand"
        assert self.can_lead, "only a node that can lead stands for election"
        self._become(
            Prospective(
                epoch=role.epoch,
                leader=self.leader,
                leader_at=role.leader_at if isinstance(role, Follower) else None,
                voted=voted_in(role),
                ballot=self._own_ballot(),
                election_deadline_ns=self._election_deadline(mono_ns),
            ),
            mono_ns,
        )

    def to_candidate(self, mono_ns: int) -> None:
        role = self.role
        assert isinstance(role, Prospective), f"{role} was not asked"
        self._become(
            Candidate(
                epoch=Epoch(role.epoch + 1),
                voted=self.key,
                ballot=self._own_ballot(),
                election_deadline_ns=self._election_deadline(mono_ns),
            ),
            mono_ns,
        )

    def to_leader(self, mono_ns: int) -> None:
        """The caller appends LeaderChange in the same step: it is the first batch of the epoch."""
        role = self.role
        assert isinstance(role, Candidate), f"{role} cannot win"
        assert self.can_lead, "it would decide from less than what is committed"
        self._become(
            Leader(
                epoch=role.epoch,
                leader=self.key.id,
                epoch_start=self._log.end.offset,
                granting=tuple(sorted(key for key in role.ballot.granted if key in self.voters)),
                replicas={},
                begin_due_ns={},
                check_quorum_deadline_ns=mono_ns + deadlines.check_quorum_timeout_ns(self.timeouts),
            ),
            mono_ns,
        )

    def to_follower(
        self, epoch: Epoch, leader: NodeId, mono_ns: int, at: Endpoint | None = None
    ) -> None:
        same_epoch = epoch == self.epoch
        self._become(
            Follower(
                epoch=epoch,
                leader=leader,
                leader_at=at or self.addresses.by_set(leader),
                voted=voted_in(self.role) if same_epoch else None,
                fetch_deadline_ns=self._fetch_deadline(mono_ns),
            ),
            mono_ns,
        )

    def to_resigned(self, preferred: tuple[ReplicaKey, ...], mono_ns: int) -> None:
        role = self.role
        assert isinstance(role, Leader), f"{role} cannot resign"
        self._become(
            Resigned(
                epoch=role.epoch,
                leader=self.key.id,
                preferred=preferred,
                election_deadline_ns=self.candidacy.after_ns(mono_ns),
            ),
            mono_ns,
        )

    def grant_vote(self, candidate: ReplicaKey, mono_ns: int) -> None:
        """Cast the real vote of this epoch. The election time-out is drawn anew."""
        deadline = self._election_deadline(mono_ns)
        role = self.role
        assert isinstance(role, Unattached | Prospective), f"{role} has no vote to cast"
        if isinstance(role, Prospective):
            role = replace(role, ballot=self._own_ballot())
        self._become(replace(role, voted=candidate, election_deadline_ns=deadline), mono_ns)

    def after_prospective(self, mono_ns: int) -> None:
        """No majority would vote for us: back to the leader we knew, or to looking for one."""
        role = self.role
        assert isinstance(role, Prospective), f"{role} was not asked"
        if role.leader_at is not None or self.has_address(role.leader):
            self.to_follower(role.epoch, role.leader, mono_ns, role.leader_at)
        else:
            self.to_unattached(role.epoch, mono_ns, role.leader)

    def learn(self, epoch: Epoch, leader: NodeId, mono_ns: int, at: Endpoint | None = None) -> None:
        """Another node named an epoch and perhaps its leader and the leader's address: follow it,
        if it is news (`maybeTransition`). A leader need not be one of our voters."""
        if epoch < self.epoch:
            return
        if leader not in (NO_NODE, self.key.id) and (at is not None or self.has_address(leader)):
            is_sought = self.leader == NO_NODE or isinstance(self.role, Unattached)
            if epoch > self.epoch or is_sought:
                self.to_follower(epoch, leader, mono_ns, at)
        elif epoch > self.epoch:
            self.to_unattached(epoch, mono_ns)

    def hear_leader(
        self, epoch: Epoch, leader: NodeId, mono_ns: int, at: Endpoint | None = None
    ) -> None:
        """A message of the leader itself: a node that had lost touch with it follows again, too."""
        role, can_reach = self.role, at is not None or self.has_address(leader)
        if epoch == self.epoch and isinstance(role, Prospective) and can_reach:
            self.to_follower(epoch, leader, mono_ns, at)
        elif epoch == self.epoch and isinstance(role, Follower) and role.leader == leader:
            self.update(replace(role, leader_at=at or role.leader_at))
        else:
            self.learn(epoch, leader, mono_ns, at)

    def follow_voters(self, before: VoterSet, mono_ns: int) -> None:
        """The voter set changed. A node that may stand for election now waits for its time-out, as
        after a start; one that no longer may waits for nothing."""
        match self.role:
            case Unattached() as role if self.can_lead == (role.election_deadline_ns == NEVER_NS):
                deadline = self._election_deadline(mono_ns)
                self.update(replace(role, election_deadline_ns=deadline))
            case Leader() as role if deadlines.is_alone(role, before):
                # Until now no voter had to fetch, and nothing renewed it.
                deadline = mono_ns + deadlines.check_quorum_timeout_ns(self.timeouts)
                self.update(replace(role, check_quorum_deadline_ns=deadline))
            case _:
                pass

    # --- within a role ---

    def update(self, role: R) -> R:
        """Replace the role by itself with other details: same class, epoch, leader and vote."""
        assert type(role) is type(self.role), f"{self.role} is no {role}"
        assert role.epoch == self.role.epoch, f"{self.role} is no {role}"
        self.role = role
        return role

    def publish_high_watermark(self, offset: Offset) -> None:
        """A follower learned it, or a leader computed it; `committed` only ever grows."""
        match self.role:
            case Leader() as leader:
                if offset == leader.high_watermark:
                    return
                self.update(leader.reached(offset))
                role = "leader"
            case _:
                if self.committed is not None and offset <= self.committed:
                    return
                role = "follower"
        self._trace_high_watermark(offset, role)
        self.committed = max(offset, self.committed or Offset(0))

    # --- internals ---

    def _become(self, role: Role, mono_ns: int) -> None:
        assert role.epoch >= self.role.epoch, f"epoch goes down: {self.role} -> {role}"
        assert role.epoch <= LAST_EPOCH, "there is no epoch left for another election"
        assert not self.contradicts(role.epoch, role.leader), f"{self.role} -> {role}"
        self.persist(role)
        before, self.role = self.role, role
        self._trace_state(silent_ns(before, mono_ns))

    def _own_ballot(self) -> Ballot:
        return Ballot().with_vote(self.key, granted=True)

    def _fresh_unattached(self, epoch: Epoch, mono_ns: int) -> Unattached:
        return Unattached(epoch=epoch, election_deadline_ns=self._election_deadline(mono_ns))

    def _election_deadline(self, mono_ns: int) -> int:
        """A node that cannot lead never stands."""
        return self.candidacy.after_ns(mono_ns) if self.can_lead else NEVER_NS

    def _fetch_deadline(self, mono_ns: int) -> int:
        return mono_ns + deadlines.fetch_timeout_ns(self.timeouts)


def _before_start(epoch: Epoch) -> Unattached:
    """No role yet: `start` leaves it at once."""
    return Unattached(epoch=epoch, election_deadline_ns=NEVER_NS)
