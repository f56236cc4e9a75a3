"""The quorum as a whole: hands events to the exchanges, and does what each role requires.

What a node sends is decided by its role and by outstanding requests, not by what just happened:
after every event `poll` takes the transitions that are due and sends what is due. So nothing needs
to be remembered about a request that was lost; it is simply sent again.

Takes the transitions that are due, and writes a new leader's control records.

`deadlines` says which transitions are due, `quorum` makes them.
"""

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from node import limits
from node.config import QuorumTimeouts, SnapshotSettings
from node.effects import ElectionState
from node.ids import (
    ChannelId,
    ConnectionId,
    Endpoint,
    Epoch,
    LogPosition,
    NodeId,
    Now,
    Offset,
    ReplicaKey,
)
from node.outbox import Dirty, Outbox, Parking
from node.raft import deadlines
from node.raft.common import refuse_to_others
from node.raft.deadlines import Move
from node.raft.descriptions import Gauge, describe_cluster, describe_quorum, quorum_gauges
from node.raft.fetch_follower import FollowerFetch
from node.raft.fetch_leader import LeaderFetch
from node.raft.local_log import LocalLog
from node.raft.own_address import OwnAddress
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.replicas import ReadIndex, Registered, Replicas
from node.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from node.raft.snapshots import FollowerSnapshots, LeaderSnapshots, LocalSnapshots, PieceWriter
from node.raft.voter_changes import NewVoters, VoterChanges
from node.raft.voter_history import VoterHistory
from node.raft.voter_set import VoterSet
from node.raft.votes import Epochs, Votes, preferred_candidates
from node.records.batch import BatchHeader, KeyValue
from node.records.control import ControlRecord, LeaderChange, encode_control
from node.storage.view import LogView
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import PeerRequest, Response
from node.wire.fetch import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

# Control records that a leader writes of itself and of the voters.


def begin_epoch(log: LocalLog, leader: Leader, voters: VoterSet, now: Now) -> None:
    """LeaderChange is the first batch of an epoch: nothing older is committed without it."""
    change = LeaderChange(
        leader=leader.leader,
        voters=log.voters.form.told(voters.keys),
        granting_voters=log.voters.form.told(leader.granting),
    )
    _append(log, [change, *log.voters.first_records(())], leader, now)


def name_voters(log: LocalLog, leader: Leader, replicas: Replicas, now: Now) -> None:
    """The first leader names the voters, once all have fetched (KIP-856, "Bootstrapping")."""
    if not log.voters.is_named:
        records = log.voters.first_records(replicas.met(leader))
        if records:
            _append(log, records, leader, now)


def _append(log: LocalLog, records: Sequence[ControlRecord], leader: Leader, now: Now) -> None:
    encoded = [encode_control(record) for record in records]
    log.append_as_leader(encoded, leader.epoch, now, control=True)


class DueMoves:
    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        reads: ReadIndex,
        epochs: Epochs,
        changes: VoterChanges,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._reads = reads
        self._epochs = epochs
        self._changes = changes

    def take(self, now: Now, elapsed_ns: int) -> bool:
        """Take one due transition, if any. All input from before `elapsed_ns` was handled."""
        quorum, role = self._quorum, self._quorum.role
        if isinstance(role, Resigned) and self._epochs.is_shutting_down:
            return False
        if isinstance(role, Leader) and self._changes.is_removed(role):
            self.resign(now)
            return True
        move = deadlines.due_move(role, quorum, elapsed_ns)
        if move is not None:
            self._make(move, now)
        return move is not None

    def resign(self, now: Now) -> None:
        role = self._quorum.role
        assert isinstance(role, Leader), f"{role} cannot resign"
        self._quorum.to_resigned(preferred_candidates(role, self._quorum), now.mono_ns)

    def _make(self, move: Move, now: Now) -> None:
        quorum, mono_ns = self._quorum, now.mono_ns
        match move:
            case Move.ASK:
                quorum.to_prospective(mono_ns)
            case Move.STAND:
                quorum.to_candidate(mono_ns)
            case Move.GIVE_UP:
                quorum.after_prospective(mono_ns)
            case Move.LEAD:
                self._lead(now)
            case Move.FIND_LEADER:
                quorum.to_unattached(quorum.epoch, mono_ns)
            case Move.RESIGN:
                self.resign(now)
            case Move.NEXT_EPOCH:
                quorum.to_unattached(Epoch(quorum.epoch + 1), mono_ns)
            case _:
                assert_never(move)

    def _lead(self, now: Now) -> None:
        self._quorum.to_leader(now.mono_ns)
        self._reads.restart()
        leader = self._quorum.role
        assert isinstance(leader, Leader)
        begin_epoch(self._log, leader, self._quorum.voters, now)


class QuorumPart(StrEnum):
    """What a poll of the quorum may leave alone: most steps serve clients of the broker or the
    controller. (Fetches that wait, and snapshots, see for themselves whether there are any.)"""

    ROLE = "the role, its timers, changes of the voters, and what is sent to them"
    CLIENT = "what is committed, and which node leads, as the role on top of the quorum knows it"


QuorumRequest = PeerRequest | DescribeQuorumRequest | AddVoterRequest | RemoveVoterRequest


class Raft:
    def __init__(
        self,
        *,
        cluster_id: str,
        key: ReplicaKey,
        directory: UUID,
        voters: VoterHistory,
        timeouts: QuorumTimeouts,
        advertised: tuple[Endpoint, ...],
        servers: tuple[Endpoint, ...],
        snapshots: SnapshotSettings,
        election: ElectionState,
        view: LogView,
        rng: random.Random,
        outbox: Outbox,
        parking: Parking,
    ) -> None:
        """`directory`: the id of this node's disk, whether or not the quorum uses it."""
        self.log = LocalLog(view, voters, outbox)
        self.quorum = Quorum(
            key=key,
            listener=advertised[0].name,
            timeouts=timeouts,
            log=self.log,
            election=election,
            rng=rng,
            outbox=outbox,
        )
        self.reads = ReadIndex(self.quorum)
        self.cluster_id = cluster_id
        self._advertised = advertised
        self._outbox = outbox
        self.polled_ns = 0
        self._elapsed_ns = 0
        self.dirty = Dirty(QuorumPart, {QuorumPart.ROLE: self._role_due_ns})
        self._voters = self.log.voters.newest  # the set that the role is based on
        self._peers = Peers(self.quorum, servers, outbox)
        self._votes = Votes(self.quorum, self.log, self._peers, outbox, cluster_id)
        self._epochs = Epochs(self.quorum, self._peers, cluster_id, advertised)
        self._replicas = Replicas(self.quorum, self.log, self.reads)
        self._serving = LeaderFetch(
            self.quorum, self.log, self._replicas, self.reads, outbox, parking, cluster_id
        )
        self.changes = VoterChanges(self.quorum, self.log, self._replicas, parking, cluster_id)
        self._moves = DueMoves(self.quorum, self.log, self.reads, self._epochs, self.changes)
        self._new_voters = NewVoters(self.quorum, self._peers, self.changes, cluster_id, advertised)
        self._own_address = OwnAddress(
            self.quorum, self.log, self._peers, self.changes, cluster_id, advertised[0], directory
        )
        self.snapshots = LocalSnapshots(view, snapshots, outbox)
        self._serving_snapshots = LeaderSnapshots(self.quorum, self.log, self._replicas, cluster_id)
        self._fetching_snapshots = FollowerSnapshots(
            self.quorum, self.log, self.snapshots, self._peers, cluster_id
        )
        self._fetching = FollowerFetch(
            self.quorum, self.log, self._fetching_snapshots, self._peers, cluster_id, rng
        )

    # --- start and stop ---

    def start(self, now: Now) -> None:
        """Take a role, and make durable what a killed process may have left unflushed."""
        assert self.log.is_read, "whether it may lead is not known yet"
        self.log.trace_known_voters()
        if self.log.unreplayable is not None:
            self.log.trace_unreplayable()
        if self.log.end.offset > self.log.durable:
            self.log.flush()
        self.snapshots.start()
        newest = self.snapshots.newest()  # no node takes a snapshot beyond what is committed
        self.quorum.start(now.mono_ns, None if newest is None else newest.id.offset)
        self.poll(now)

    def resign_for_shutdown(self, now: Now) -> bool:
        """Give up leadership before stopping; False if there is none to give up."""
        self._touch()
        self._epochs.is_shutting_down = True
        if isinstance(self.quorum.role, Leader):
            self._moves.resign(now)
        return not self.is_ready_to_stop()

    def is_shutting_down(self) -> bool:
        return self._epochs.is_shutting_down

    def is_ready_to_stop(self) -> bool:
        """All reachable voters acknowledged the resignation, it timed out, or another node
        leads."""
        role = self.quorum.role
        if not isinstance(role, Resigned) or self._elapsed_ns >= role.election_deadline_ns:
            return True
        return role.told.issuperset(self.quorum.others)

    # --- events ---

    def on_request(
        self, connection: ConnectionId, listener: str, request: QuorumRequest, now: Now
    ) -> Response | None:
        """The response, or None for a request that waits; `poll` answers it."""
        self._touch()
        if listener != self._advertised[0].name:
            refused = refuse_to_others(request, self.quorum.voters)
            if refused is not None:
                return refused
        match request:
            case FetchRequest():
                return self._serving.on_request(connection, request, now)
            case FetchSnapshotRequest():
                return self._serving_snapshots.on_request(request, now)
            case VoteRequest():
                return self._votes.on_request(request, now)
            case BeginQuorumEpochRequest():
                return self._epochs.on_begin(request, now.mono_ns)
            case EndQuorumEpochRequest():
                return self._epochs.on_end(request, now.mono_ns)
            case DescribeQuorumRequest():
                return describe_quorum(
                    request, self.quorum, self.log, self._replicas, self._advertised, now
                )
            case AddVoterRequest() | RemoveVoterRequest():
                self.changes.on_request(connection, request, now)
                return None
            case UpdateVoterRequest():
                return self.changes.on_update(request, now)
        assert_never(request)

    def describe_cluster(
        self,
        request: DescribeClusterRequest,
        listener: str,
        registered: Mapping[NodeId, tuple[Endpoint, ...]],
    ) -> DescribeClusterResponse:
        """The response to a client of that listener; `registered`: the controllers' addresses."""
        return describe_cluster(
            request, self.quorum, self.cluster_id, self._advertised, listener, registered
        )

    def gauges(self, mono_ns: int) -> dict[str, Gauge]:
        """Metrics as of this moment."""
        return quorum_gauges(self.quorum, self.log, self._replicas, self.changes, mono_ns)

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, now: Now
    ) -> None:
        self._touch()
        key = self._peers.at(channel)
        request, fault = self._peers.take(channel, correlation_id), None
        match request, response:
            case (FetchRequest(), FetchResponse()):
                fault = self._fetching.on_response(key, request, response, now.mono_ns)
            case (VoteRequest(), VoteResponse()):
                self._votes.on_response(key, request, response, now)
            case (BeginQuorumEpochRequest(), QuorumEpochResponse()) if self._new_voters.is_asked(
                key
            ):
                self._new_voters.on_acknowledged(key, response, now.mono_ns)
            case (BeginQuorumEpochRequest() | EndQuorumEpochRequest(), QuorumEpochResponse()):
                self._epochs.on_response(key, request, response, now.mono_ns)
            case (FetchSnapshotRequest(), FetchSnapshotResponse()):
                fault = self._fetching_snapshots.on_response(key, request, response, now.mono_ns)
            case (UpdateVoterRequest(), UpdateVoterResponse()):
                self._own_address.on_response(response, now.mono_ns)
            case (ApiVersionsRequest(), ApiVersionsResponse()):
                self._new_voters.on_response(key, response)
            case _:
                return  # response on a connection dropped since
        if fault is None:
            self._peers.made_sense(channel)
        else:
            self.on_garbled(channel, fault, now)

    def on_disconnected(self, channel: ChannelId, now: Now) -> None:
        """Outstanding requests may never have arrived, and will not be answered."""
        self._touch()
        key = self._peers.at(channel)
        self._peers.lost(key, now.mono_ns)
        self._epochs.on_lost(key, now.mono_ns)

    def on_garbled(self, channel: ChannelId, reason: str, now: Now) -> None:
        """The response was invalid: hang up and try again later."""
        key = self._peers.at(channel)
        reason = reason[: limits.MAX_MESSAGE_CHARACTERS]
        self._outbox.trace("q.garbled", peer=key.id, reason=reason)
        self._peers.drop(key)
        self.on_disconnected(channel, now)

    def on_flushed(self, end: Offset) -> None:
        self._touch()
        self.log.on_flushed(end)
        if isinstance(self.quorum.role, Leader):
            self._replicas.advance_high_watermark()
        self._fetching.learn_high_watermark()

    def may_write(self) -> bool:
        """Is this the leader, and may it write more than the records that name the voters?"""
        leader = self.quorum.role
        return isinstance(leader, Leader) and self._replicas.may_write(leader)

    def tell_registered(self, registered: Registered) -> None:
        """Sets the source of what nodes registered about themselves."""
        self._replicas.registered = registered

    def voters_without(self, kraft_version: int) -> Sequence[NodeId] | None:
        """Voters that did not report support for it (`VoterChanges.without`)."""
        return self.changes.without(kraft_version)

    def append(self, records: Sequence[KeyValue], now: Now) -> BatchHeader:
        """Append a batch as the leader."""
        assert isinstance(self.quorum.role, Leader), "only a leader appends"
        self._touch()
        return self.log.append_as_leader(records, self.quorum.epoch, now)

    def begin_snapshot(self, id_: LogPosition) -> PieceWriter:
        """Begin a snapshot; a FetchSnapshot in progress is dropped for it."""
        self._touch()
        return self.snapshots.begin(id_)

    # --- timers ---

    def elapse(self, mono_ns: int) -> None:
        """All input from before `mono_ns` was handled, so what is due by then is due.

        Other steps may be late: after a slow fsync the message that resets a timer may still be
        queued behind the current one, and must not find an election begun.
        """
        self._elapsed_ns = mono_ns

    def poll(self, now: Now) -> None:
        mono_ns = now.mono_ns
        is_busy = self.dirty.take(QuorumPart.ROLE, mono_ns)
        self.polled_ns = mono_ns
        role = self.quorum.role
        if is_busy:
            self.dirty.mark(QuorumPart.CLIENT)
            self._go_on(now)
        self.snapshots.poll(now)
        self._serving.poll(mono_ns)
        if is_busy:
            self._send(mono_ns)
            if self.quorum.role is not role or self.log.is_written:
                # What this step wrote is seen in the next one, and so is what its role has to do.
                self.dirty.mark(QuorumPart.ROLE)

    def _touch(self) -> None:
        self.dirty.mark(QuorumPart.ROLE)
        self.dirty.mark(QuorumPart.CLIENT)

    def _go_on(self, now: Now) -> None:
        """Do what is due, except sending."""
        mono_ns = now.mono_ns
        if isinstance(leader := self.quorum.role, Leader):
            name_voters(self.log, leader, self._replicas, now)
            self._own_address.write(now)
        self.changes.poll(now)
        self._follow_voters(mono_ns)
        for key in self._peers.poll(self._elapsed_ns):
            self._epochs.on_lost(key, mono_ns)
        while self._moves.take(now, self._elapsed_ns):
            pass

    def _send(self, mono_ns: int) -> None:
        """Send what the role requires, and drop connections with requests of an earlier role."""
        match self.quorum.role:
            case Leader():
                self._new_voters.send(mono_ns)
                self._epochs.send(mono_ns)
            case Follower():
                self._own_address.send(mono_ns)
            case Prospective() | Candidate():
                self._votes.send(mono_ns)
            case Resigned():
                self._epochs.send(mono_ns)
            case Unattached():
                pass
        self._fetching_snapshots.send(mono_ns)
        self._fetching.send(mono_ns)

    def deadline_ns(self) -> int:
        """When `poll` has something to do, at the latest."""
        waiting_ns = self._serving.deadline_ns()
        return min(self.dirty.due_ns(QuorumPart.ROLE), waiting_ns, self.snapshots.deadline_ns())

    def _role_due_ns(self) -> int:
        role, polled_ns = self.quorum.role, self.polled_ns
        return min(
            deadlines.role_deadline_ns(role, polled_ns=polled_ns, elapsed_ns=self._elapsed_ns),
            self._own_address.deadline_ns(polled_ns),
            self._peers.deadline_ns(),
            self.changes.deadline_ns(),
        )

    def _follow_voters(self, mono_ns: int) -> None:
        """An earlier step, or this one, appended or truncated records that name voters."""
        before, self._voters = self._voters, self.quorum.voters
        if self._voters is before:
            return
        self.quorum.follow_voters(before, mono_ns)
        if isinstance(self.quorum.role, Leader):
            self._replicas.advance_high_watermark()
