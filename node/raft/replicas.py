"""Replica progress at the leader: log ends, the high watermark, confirmed reads, check-quorum.

The leader remembers the progress of every observer that the quorum knows: registered brokers and
controllers, the voters' nodes, and replicas named in AddRaftVoter. Any other id may be made up, so
only a few of those are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from node.ids import MS, ConnectionId, Endpoint, NodeId, Now, Offset, ReplicaKey, Ticket
from node.lazy_dataclass import dataclass
from node.raft import deadlines
from node.raft.local_log import LocalLog
from node.raft.quorum import Quorum
from node.raft.roles import NOT_MET, Leader, Progress
from node.raft.voter_set import VoterSet
from node.wire.fetch import FetchRequest

# The rule of what is committed (KIP-595, `LeaderState.maybeUpdateHighWatermark`).


def replicated_to_majority(ends: Sequence[Offset]) -> Offset:
    """The offset below which a majority has everything; `ends` has one entry per voter."""
    return sorted(ends, reverse=True)[len(ends) // 2]


def covers_leader_change(candidate: Offset, epoch_start: Offset) -> bool:
    """Records of older epochs are committed only together with one of this epoch.

    `epoch_start` is the offset of LeaderChange, so the candidate must be greater (KAFKA-12619;
    Raft, figure 8).
    """
    return candidate > epoch_start


def never_lower(candidate: Offset, known: Offset | None) -> Offset:
    """A lower candidate (a voter lost its log) does not take back what was published."""
    return candidate if known is None else max(candidate, known)


def advance(known: Offset | None, ends: Sequence[Offset], epoch_start: Offset) -> Offset | None:
    """The leader's high watermark, given the voters' durable log ends."""
    candidate = replicated_to_majority(ends)
    if not covers_leader_change(candidate, epoch_start):
        return known
    return never_lower(candidate, known)


# Does this leader still lead? Confirmed once for every round of reads (Raft thesis, 6.4).
#
# Only a Fetch that was sent after the read arrived proves that its sender follows us then; a Fetch
# that was already on its way may come from a voter that has elected another leader since. The
# network does not show when a request was sent, but one that follows, on the same connection, a
# response of ours was sent after that response. So every waiting read takes a ticket; a response to
# a voter marks its connection with the newest ticket; the voter's next valid Fetch on that
# connection acknowledges all tickets up to the mark; and a ticket that a majority acknowledged may
# be served.


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The mark of a response to a voter: the newest ticket, and when the response left."""

    ticket: Ticket
    responded_ns: int


class Voting(Protocol):
    """The part of `node.raft.quorum.Quorum` that names the voters."""

    @property
    def key(self) -> ReplicaKey: ...

    @property
    def voters(self) -> VoterSet: ...


class ReadIndex:
    def __init__(self, quorum: Voting) -> None:
        self._quorum = quorum
        self.issued = Ticket(0)  # the newest ticket
        self._acknowledged: dict[ReplicaKey, Ticket] = {}
        self._marks: dict[ConnectionId, Mark] = {}
        self._followed_ns: dict[ReplicaKey, int] = {}
        # Of which voters, and what they acknowledged; None: to be computed again.
        self._confirmed: tuple[VoterSet, Ticket] | None = None

    @property
    def followed_ns(self) -> Mapping[ReplicaKey, int]:
        """When the newest response left that a voter's valid Fetch has followed on its connection:
        the voter sent that Fetch later, in this epoch. Only traced; decides nothing."""
        return self._followed_ns

    def take_ticket(self) -> Ticket:
        self.issued = Ticket(self.issued + 1)
        self._confirmed = None
        return self.issued

    def confirmed(self) -> Ticket:
        """All tickets up to this one are acknowledged by a majority; the leader counts itself."""
        voters = self._quorum.voters
        if self._confirmed is None or self._confirmed[0] is not voters:
            self._confirmed = voters, self._by_majority(voters)
        return self._confirmed[1]

    def awaits(self, voter: ReplicaKey) -> bool:
        """Would a response to this voter now help a read that waits?"""
        if self._newest(voter) >= self.issued or self.confirmed() >= self.issued:
            return False
        return voter in self._quorum.voters

    def on_response(self, connection: ConnectionId, voter: ReplicaKey, mono_ns: int) -> None:
        if voter in self._quorum.voters:
            self._marks[connection] = Mark(ticket=self.issued, responded_ns=mono_ns)

    def on_fetch(self, connection: ConnectionId, voter: ReplicaKey) -> None:
        """`voter`: one of the current voters."""
        mark = self._marks.get(connection)
        if mark is None:
            return
        self._acknowledged[voter] = max(mark.ticket, self._newest(voter))
        self._followed_ns[voter] = max(mark.responded_ns, self._followed_ns.get(voter, 0))
        self._confirmed = None

    def on_closed(self, connection: ConnectionId) -> None:
        self._marks.pop(connection, None)

    def restart(self) -> None:
        """A new epoch: acknowledgements of an older one confirm nothing."""
        self._acknowledged.clear()
        self._marks.clear()
        self._followed_ns.clear()
        self._confirmed = None

    def _by_majority(self, voters: VoterSet) -> Ticket:
        me = self._quorum.key
        newest = [
            self.issued if key.id == me.id and key == me else self._newest(key)
            for key in voters.keys
        ]
        return sorted(newest, reverse=True)[voters.majority - 1]

    def _newest(self, voter: ReplicaKey) -> Ticket:
        """The newest ticket that it acknowledged."""
        return self._acknowledged.get(voter, Ticket(0))


_STRANGERS = 256  # unknown observers tracked at most; more are served and forgotten
_DISKS = 4  # directories tracked per known node: an operator replaces one disk at a time
# An observer is dropped after so long without a Fetch (LeaderState.OBSERVER_SESSION_TIMEOUT_MS).
_OBSERVER_SESSION_NS = 300_000 * MS


def observers(leader: Leader, voters: VoterSet, mono_ns: int) -> list[ReplicaKey]:
    """Non-voters that fetched recently."""
    since = mono_ns - _OBSERVER_SESSION_NS
    return [
        key
        for key, progress in leader.replicas.items()
        if key not in voters and progress.last_fetch_ns > since
    ]


class Registered(Protocol):
    """What nodes said of themselves by their own registrations."""

    def knows(self, node: NodeId) -> bool:
        """Is it registered, as a broker or as a controller?"""

    def is_broker_alone(self, node: NodeId) -> bool:
        """A broker, and no controller. False where controllers cannot register."""

    def controller_at(self, node: NodeId) -> tuple[Endpoint, ...]:
        """The addresses that a controller registered."""


class _NoRegistrations:
    """Nothing was registered, or this node does not replay registrations."""

    def knows(self, node: NodeId) -> bool:  # noqa: ARG002 - as of all
        return False

    def is_broker_alone(self, node: NodeId) -> bool:  # noqa: ARG002 - as of all
        return False

    def controller_at(self, node: NodeId) -> tuple[Endpoint, ...]:  # noqa: ARG002 - as of all
        return ()


def without_directories(leader: Leader, mono_ns: int) -> list[NodeId]:
    """Nodes that fetched recently without a directory id, so do not support voters with directory
    ids. A node that has both an id and a directory id does (KIP-856, "Fetch", Handling)."""
    since = mono_ns - _OBSERVER_SESSION_NS
    fetching = [(at.last_fetch_ns, key) for key, at in leader.replicas.items()]
    newest = {key.id: key for fetched_ns, key in sorted(fetching) if fetched_ns > since}
    return sorted(node for node, key in newest.items() if key.known_directory is None)


class Replicas:
    def __init__(self, quorum: Quorum, log: LocalLog, reads: ReadIndex) -> None:
        self._quorum = quorum
        self._log = log
        self._reads = reads
        self.registered: Registered = _NoRegistrations()
        self.awaited: frozenset[ReplicaKey] = (
            frozenset()
        )  # replicas that AddRaftVoter requests wait for

    def on_valid_fetch(self, connection: ConnectionId, request: FetchRequest, now: Now) -> None:
        """The replica has, durably, everything below its fetch offset, and follows us now."""
        leader, key = self._leader(), request.replica
        if key == self._quorum.key:
            return  # no node fetches from itself: the frame is damaged, and proves nothing
        if key in self._quorum.voters:
            self._on_voter(connection, request, now)
            return
        leader = self._without_silent(leader, now.mono_ns)
        if self._has_room(leader, key):
            replicas = self._progress(leader, key, request, now)
            self._quorum.update(replace(leader, replicas=replicas))

    def _on_voter(self, connection: ConnectionId, request: FetchRequest, now: Now) -> None:
        leader, key = self._leader(), self._quorum.voters.own(request.replica)
        before = leader.replicas.get(key, NOT_MET)
        self._reads.on_fetch(connection, key)
        replicas = self._progress(leader, key, request, now)
        self._quorum.update(self._heard(leader, key, replicas, now.mono_ns))
        if replicas[key].end != before.end:
            self.advance_high_watermark()

    def on_snapshot_fetch(self, replica: ReplicaKey, now: Now) -> None:
        """The replica follows us, whatever it has."""
        if replica == self._quorum.key:
            return
        is_voter = replica in self._quorum.voters
        leader = self._leader() if is_voter else self._without_silent(self._leader(), now.mono_ns)
        if is_voter or self._has_room(leader, replica):
            progress = leader.replicas.get(replica, NOT_MET).fetched_snapshot(now)
            replicas = {**leader.replicas, replica: progress}
            if is_voter:
                leader = self._heard(leader, replica, replicas, now.mono_ns)
            self._quorum.update(replace(leader, replicas=replicas))

    def _without_silent(self, leader: Leader, mono_ns: int) -> Leader:
        voters = self._quorum.voters
        kept = {*voters.keys, *observers(leader, voters, mono_ns)}
        if all(key in kept for key in leader.replicas):
            return leader
        return replace(leader, replicas={k: p for k, p in leader.replicas.items() if k in kept})

    def _has_room(self, leader: Leader, observer: ReplicaKey) -> bool:
        voters, known = self._quorum.voters, leader.replicas
        if observer in known or observer in self.awaited or voters.may_include(observer):
            return True
        if observer.id < 0:
            return False
        others = [key for key in known if key not in voters]
        if self._is_known(observer.id):
            return sum(key.id == observer.id for key in others) < _DISKS
        return sum(not self._is_known(key.id) for key in others) < _STRANGERS

    def _is_known(self, node: NodeId) -> bool:
        return node in self._quorum.voters.by_id or self.registered.knows(node)

    def could_vote(self, leader: Leader, mono_ns: int) -> dict[ReplicaKey, tuple[Endpoint, ...]]:
        """Observers that could become voters, with their addresses as far as known (KIP-856,
        "CouldBeVoters"): nodes that may vote in this quorum, with a directory id, and not
        registered as brokers only."""
        form, registered = self._log.voters.form, self.registered
        found: dict[ReplicaKey, tuple[Endpoint, ...]] = {}
        for key in observers(leader, self._quorum.voters, mono_ns):
            listed = form.candidate_at(key.id)
            is_able = key.known_directory is not None and not registered.is_broker_alone(key.id)
            if listed is not None and is_able:
                found[key] = listed or registered.controller_at(key.id)
        return found

    def _progress(
        self, leader: Leader, key: ReplicaKey, request: FetchRequest, now: Now
    ) -> dict[ReplicaKey, Progress]:
        progress = leader.replicas.get(key, NOT_MET).fetched(
            end=Offset(request.fetch_offset),
            leader_end=self._log.end.offset,
            now=now,
            outcome="valid",
        )
        return {**leader.replicas, key: progress}

    def _heard(
        self,
        leader: Leader,
        voter: ReplicaKey,
        replicas: Mapping[ReplicaKey, Progress],
        mono_ns: int,
    ) -> Leader:
        """Fetches of a majority (with ourselves) renew the check-quorum time-out."""
        quorum, timeouts = self._quorum, self._quorum.timeouts
        begin_ns = mono_ns + deadlines.begin_epoch_interval_ns(timeouts)
        # A voter removed since its Fetch does not count towards a majority of the rest.
        still = (
            leader.fetched
            if leader.fetched <= quorum.voters.rows.keys()
            else frozenset(key for key in leader.fetched if key in quorum.voters)
        )
        fetched, deadline = still | {voter}, leader.check_quorum_deadline_ns
        if len(fetched) + (1 if quorum.is_voter else 0) >= quorum.voters.majority:
            fetched = frozenset()
            deadline = mono_ns + deadlines.check_quorum_timeout_ns(timeouts)
        return leader.followed(
            replicas=replicas,
            begin_due_ns={**leader.begin_due_ns, voter: begin_ns},
            fetched=fetched,
            check_quorum_deadline_ns=deadline,
        )

    def advance_high_watermark(self) -> None:
        leader = self._leader()
        ends = self.voter_ends(leader)
        new = advance(leader.high_watermark, ends, leader.epoch_start)
        if new is not None:
            self._quorum.publish_high_watermark(new)

    def may_write(self, leader: Leader) -> bool:
        """May this leader write more than the records that name the voters? Where the log holds
        metadata, all voters had those records before it was written."""
        if self._log.metadata_from is not None:
            return True
        return self._log.voters.lets_write(self.voter_ends(leader))

    def met(self, leader: Leader) -> list[ReplicaKey]:
        """The replicas that fetched in this epoch, the latest last."""
        replicas = leader.replicas
        return sorted(replicas, key=lambda key: replicas[key].last_fetch_ns)

    def voter_ends(self, leader: Leader) -> list[Offset]:
        """The durable log end of every voter; our own only as far as it is flushed.

        The voters are those of the log's last record of them, committed or not: a voter that is
        removed counts no more once its removal is appended, and again if that is truncated. So a
        leader that removes itself commits without its own log (`VoterHistory.newest`).
        """
        me, replicas = self._quorum.key, leader.replicas
        return [
            self._log.durable
            if key.id == me.id and key == me
            else replicas.get(key, NOT_MET).end or Offset(0)
            for key in self._quorum.voters.keys
        ]

    def _leader(self) -> Leader:
        assert isinstance(self._quorum.role, Leader), "only a leader is fetched from"
        return self._quorum.role
