"""Changes of the voters at the leader: AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter.

One at a time: a change is appended only once the previous one is committed, so that majorities of
the old set and of the new one always intersect; and once LeaderChange of this epoch is committed,
or two leaders could each append one that the other does not know (KIP-856, "Adding Voters"; the bug
of single-server changes). Until then a request waits, as KIP-856 says, up to its time-out. It is
answered when the new set commits its record. The form of the quorum decides which replicas may be
added and removed, and which record is written (`node.raft.voter_forms`).

    waits for                                               then
    ------------------------------------------------------  --------------------------------------
    LeaderChange and the last change are committed           its errors: 126, 127, 42
    (add) the replica shows that it can vote (see below)     its errors: 42, 35
    (add) the replica's log ends where ours does             its record is appended, and in force
    the record is committed                                  success; a removed leader resigns
"""

from collections.abc import Iterator
from dataclasses import field, replace
from operator import attrgetter

from node.errors import ErrorCode
from node.ids import (
    NEVER_NS,
    ZERO_UUID,
    ConnectionId,
    Endpoint,
    Epoch,
    NodeId,
    Now,
    Offset,
    ReplicaKey,
)
from node.lazy_dataclass import dataclass
from node.outbox import Parking, Waiting
from node.raft import deadlines
from node.raft.local_log import LocalLog
from node.raft.peers import Peers, Sent
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas, without_directories
from node.raft.roles import NOT_MET, Leader
from node.raft.voter_forms import (
    FEATURE,
    STATIC,
    KRaftVersions,
    Refused,
    VoterChange,
    VoterForm,
    why_unreachable,
)
from node.raft.voter_set import VoterSet
from node.records.control import ControlRecord, Voter, encode_control
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.vote import BeginQuorumEpochRequest, QuorumEpochResponse

_deadline_ns = attrgetter("deadline_ns")  # of waiting requests; read after every step


@dataclass(slots=True, kw_only=True)
class _Awaited:
    """A request that was not answered yet."""

    request: VoterChange
    epoch: Epoch  # in which it arrived
    deadline_ns: int
    told: ApiVersionsResponse | None = field(default=None)  # from the replica to be added
    is_itself: bool = field(default=False)  # did it acknowledge the leader, as that replica?
    mistaken: bool = field(default=False)  # another replica answers at its address
    offset: Offset | None = field(default=None)  # of its record, once it is appended


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """A replica to be added: its address, and whether it returned its API versions there."""

    at: Endpoint
    has_told: bool


class VoterChanges:
    def __init__(
        self, quorum: Quorum, log: LocalLog, replicas: Replicas, parking: Parking, cluster_id: str
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._replicas = replicas
        self._cluster_id = cluster_id
        self._waiting = Waiting[_Awaited](parking)

    # --- requests ---

    def on_request(self, connection: ConnectionId, request: VoterChange, now: Now) -> None:
        """Answered by `poll`, at the end of this step or later."""
        requested_ms = request.timeout_ms if isinstance(request, AddVoterRequest) else None
        wait_ns = deadlines.voter_change_wait_ns(self._quorum.timeouts, requested_ms)
        waiting = _Awaited(
            request=request, epoch=self._quorum.epoch, deadline_ns=now.mono_ns + wait_ns
        )
        self._waiting.park(connection, waiting)

    def on_update(self, request: UpdateVoterRequest, now: Now) -> UpdateVoterResponse:
        """Written or kept at once, or to be sent again: no request waits for a voter's address."""
        error = self._update(request, now)
        return UpdateVoterResponse(
            error=error,
            leader=self._quorum.leader,
            epoch=self._quorum.epoch,
            leader_endpoint=self._quorum.leader_at(),
        )

    def _update(self, request: UpdateVoterRequest, now: Now) -> ErrorCode:
        leader, voters = self._quorum.role, self._log.voters.newest
        if request.cluster_id not in (None, self._cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if request.epoch < self._quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if request.epoch > self._quorum.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(leader, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        row = Voter(
            key=request.voter,
            endpoints=request.endpoints,
            min_kraft_version=request.min_kraft_version,
            max_kraft_version=request.max_kraft_version,
        )
        version = self._log.voters.kraft_version
        if why_unreachable(row.endpoints, self._quorum.listener) or not _supports(row, version):
            return ErrorCode.INVALID_REQUEST
        if row.key.known_directory is None:
            return ErrorCode.INVALID_REQUEST
        if not voters.may_include(request.voter):  # a static voter's directory id is not known
            return ErrorCode.VOTER_NOT_FOUND
        if self._form.tells_leaders(version):
            return self._keep(row, leader)
        record = self._form.update_record(row, voters, version)
        if record is None or voters.rows.get(request.voter) == row:
            return ErrorCode.NONE
        if not self.may_change(leader):
            return ErrorCode.REQUEST_TIMED_OUT
        self._append(record, leader, now)
        return ErrorCode.NONE

    def _keep(self, row: Voter, leader: Leader) -> ErrorCode:
        """Keep in memory, once no earlier leader can have written of the voters (KAFKA-16538)."""
        if not self.has_committed_epoch(leader):
            return ErrorCode.REQUEST_TIMED_OUT
        self._quorum.update(replace(leader, told={**leader.told, row.key.id: row}))
        return ErrorCode.NONE

    def without(self, kraft_version: int) -> list[NodeId] | None:
        """Voters that did not report support for it to this leader; None where they report nothing,
        as the voters are in the log or configured. This node supports only the version that it was
        formatted with."""
        leader, voters = self._quorum.role, self._log.voters
        if not self._form.tells_leaders(voters.kraft_version) or not isinstance(leader, Leader):
            return None
        supporting = {row.key.id for row in leader.told.values() if _supports(row, kraft_version)}
        return sorted(set(voters.newest.by_id) - supporting)

    def unproven(self) -> dict[ReplicaKey, Unproven]:
        """Replicas to be added that did not yet show that they can vote. Only those that fetch are
        sent requests: the others are too many to track."""
        leader = self._quorum.role
        if not self._waiting.requests or not isinstance(leader, Leader):
            return {}
        return {
            waiting.request.voter: Unproven(at=at, has_told=waiting.told is not None)
            for waiting in self._waiting.requests.values()
            if not waiting.is_itself and waiting.request.voter in leader.replicas
            if waiting.request.voter not in self._log.voters.newest
            if (at := self._address(waiting.request)) is not None
        }

    def on_versions(self, key: ReplicaKey, at: Endpoint, told: ApiVersionsResponse) -> None:
        """It returned its API versions from that address."""
        for waiting in self._of(key, at):
            waiting.told = told

    def on_acknowledged(self, key: ReplicaKey, at: Endpoint, *, is_itself: bool) -> None:
        """The replica at that address answered the BeginQuorumEpoch sent to the one to be added."""
        for waiting in self._of(key, at):
            waiting.is_itself, waiting.mistaken = is_itself, not is_itself

    def _of(self, key: ReplicaKey, at: Endpoint) -> Iterator[_Awaited]:
        for waiting in self._waiting.requests.values():
            if waiting.request.voter == key and self._address(waiting.request) == at:
                yield waiting

    def _address(self, request: VoterChange) -> Endpoint | None:
        """The address of the replica to be added; None if none is."""
        if not isinstance(request, AddVoterRequest):
            return None
        row = Voter(key=request.voter, endpoints=self._form.new_endpoints(request))
        return VoterSet.of_rows([row]).endpoint(request.voter.id, self._quorum.listener)

    # --- timers ---

    def poll(self, now: Now) -> None:
        if not self._waiting.requests:
            self._replicas.awaited = frozenset()
            return
        for connection, waiting in self._waiting.all():
            response = self._go_on(waiting, now)
            if response is not None:
                self._waiting.respond(connection, response)
        self._replicas.awaited = frozenset(
            waiting.request.voter
            for waiting in self._waiting.requests.values()
            if isinstance(waiting.request, AddVoterRequest)
        )

    def deadline_ns(self) -> int:
        waiting = self._waiting
        return waiting.earliest_ns(_deadline_ns) if waiting.requests else NEVER_NS

    def is_removed(self, leader: Leader) -> bool:
        """Is this leader's removal committed? Until then it leads on, so that it can be
        committed."""
        is_known = leader.high_watermark is not None
        return is_known and not self._quorum.is_voter and not self.is_pending()

    def may_change(self, leader: Leader) -> bool:
        """Are LeaderChange of this epoch and the last change of the voters committed? A leader
        that is removed by a committed record writes no other: it resigns."""
        is_free = self.has_committed_epoch(leader) and not self.is_pending()
        return is_free and self._quorum.is_voter and self._replicas.may_write(leader)

    def has_committed_epoch(self, leader: Leader) -> bool:
        return leader.high_watermark is not None

    def is_pending(self) -> bool:
        """Is there a change that is not committed, as far as we know?"""
        since = self._log.voters.sets[-1]
        return since.epoch > 0 and not self._is_committed(since.offset)

    def waiting(self) -> tuple[bool, bool]:
        """Is a voter being added, and is one being removed: does a request of that kind wait, or
        its uncommitted record, even if its client no longer waits?"""
        kinds = {type(waiting.request) for waiting in self._waiting.requests.values()}
        sets = self._log.voters.sets
        is_written = self.is_pending() and len(sets) > 1
        before, after = (set(each.voters.keys) for each in sets[-2:]) if is_written else ((), ())
        added, removed = set(after) - set(before), set(before) - set(after)
        return AddVoterRequest in kinds or bool(added), RemoveVoterRequest in kinds or bool(removed)

    def is_caught_up(self, leader: Leader, request: AddVoterRequest) -> bool:
        """Does it have, durably, all that we have? Otherwise nothing could be committed
        meanwhile."""
        return leader.replicas.get(request.voter, NOT_MET).end == self._log.end.offset

    def _is_committed(self, offset: Offset) -> bool:
        return (self._quorum.committed or Offset(0)) > offset

    def _go_on(self, waiting: _Awaited, now: Now) -> VoterChangeResponse | None:
        """None: it keeps waiting."""
        leader, request = self._quorum.role, waiting.request
        if request.cluster_id not in (None, self._cluster_id):
            return _refused(ErrorCode.INCONSISTENT_CLUSTER_ID, "it is another cluster's")
        if not isinstance(leader, Leader) or leader.epoch != waiting.epoch:
            what = "this node does not lead"
            if waiting.offset is not None:
                what += " any more; the change is written, and may still be committed"
            return _refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, what)
        if waiting.offset is None:
            refused = (
                self._malformed(request)
                or _unsupported(leader, now)
                or self._lacking(waiting)
                or self._change(waiting, leader, now)
            )
            if refused is not None:
                return refused
        if waiting.offset is not None and self._is_done(waiting.request, waiting.offset):
            return VoterChangeResponse()
        return self._timed_out(waiting, leader) if now.mono_ns >= waiting.deadline_ns else None

    def _is_done(self, request: VoterChange, offset: Offset) -> bool:
        at_once = isinstance(request, AddVoterRequest) and not request.ack_when_committed
        return at_once or self._is_committed(offset)

    def _malformed(self, request: VoterChange) -> VoterChangeResponse | None:
        if request.voter.id < 0 or request.voter.directory == ZERO_UUID:
            return _refused(ErrorCode.INVALID_REQUEST, "a voter has an id and a directory id")
        version = self._log.voters.kraft_version
        return _response_of(self._form.refuses(request, version, self._quorum.listener))

    def _lacking(self, waiting: _Awaited) -> VoterChangeResponse | None:
        """A response in another version than the request's is an error, and names nothing."""
        if waiting.told is None:
            return None
        if waiting.mistaken:
            at = self._address(waiting.request)
            assert at is not None, "a replica that is removed is sent no requests"
            what = f"another replica answers at {at.host}:{at.port}: it would never be asked"
            return _refused(ErrorCode.INVALID_REQUEST, what)
        return _response_of(self._form.lacks(waiting.told, self._log.voters.kraft_version))

    def _change(self, waiting: _Awaited, leader: Leader, now: Now) -> VoterChangeResponse | None:
        """Append the requested change, if nothing blocks it any more."""
        if not self.may_change(leader):
            return None
        request, voters = waiting.request, self._log.voters.newest
        forbidden = _response_of(self._form.forbids(request, voters))
        if forbidden is not None:
            return forbidden
        if isinstance(request, AddVoterRequest) and (
            not waiting.is_itself or not self.is_caught_up(leader, request)
        ):
            return None
        record = self._form.change_record(request, voters, _kraft_versions(waiting.told))
        waiting.offset = self._append(record, leader, now)
        return None

    def _append(self, record: ControlRecord, leader: Leader, now: Now) -> Offset:
        encoded = [encode_control(record)]
        return self._log.append_as_leader(encoded, leader.epoch, now, control=True).last_offset

    def _timed_out(self, waiting: _Awaited, leader: Leader) -> VoterChangeResponse:
        request = waiting.request
        if waiting.offset is not None:
            what = "it is written, and no majority has it yet: it may still be committed"
        elif not self._replicas.may_write(leader):
            what = "not all voters have the records that name the first of them"
        elif not self.may_change(leader):
            what = "another change, or the election of this leader, is not committed yet"
        elif request.voter not in leader.replicas:
            return _refused(ErrorCode.INVALID_REQUEST, "it is no observer: it does not fetch")
        elif not waiting.is_itself:
            at = self._address(request)
            assert at is not None, "a replica that is removed is not waited for"
            does = "does not answer" if waiting.told is None else "acknowledges no leader"
            what = f"it {does} at {at.host}:{at.port}, where the others would ask it"
        elif (end := leader.replicas[request.voter].end) is None:
            what = "it has not caught up: it fetches a snapshot"
        else:
            what = f"it has not caught up: its log ends at {end}, ours at {self._log.end.offset}"
        return _refused(ErrorCode.REQUEST_TIMED_OUT, what)

    @property
    def _form(self) -> VoterForm:
        return self._log.voters.form


def _unsupported(leader: Leader, now: Now) -> VoterChangeResponse | None:
    """Every replica of the log, observers included, has to support the records that name voters
    (KIP-856, "Compatibility, Deprecation, and Migration Plan")."""
    nodes = without_directories(leader, now.mono_ns)
    if not nodes:
        return None
    what = f"node {nodes[0]} fetches without a directory id: it knows no voters by directory"
    return _refused(ErrorCode.UNSUPPORTED_VERSION, f"{what}; upgrade it first")


def _kraft_versions(told: ApiVersionsResponse | None) -> KRaftVersions:
    return (STATIC, STATIC) if told is None else told.levels(FEATURE)


def _supports(row: Voter, version: int) -> bool:
    return row.min_kraft_version <= version <= row.max_kraft_version


def _response_of(refused: Refused | None) -> VoterChangeResponse | None:
    return None if refused is None else _refused(*refused)


def _refused(error: ErrorCode, message: str) -> VoterChangeResponse:
    return VoterChangeResponse(error=error, message=message)


# How a replica that is to become a voter shows that it can vote.
#
# Its Fetches (`node.raft.replicas`) show only that it fetches, and that it has a directory id, as
# brokers do too. So the leader sends requests to the address that candidates will use, until it
# gets responses, or until the AddRaftVoter request times out:
#
#     ApiVersions       does it serve what voters send one another? (KIP-853, AddVoter; KIP-856,
#                       "Compatibility, Deprecation, and Migration Plan") No broker does.
#     BeginQuorumEpoch  is the replica at that address the right one, by its id and directory id?
#                       Kafka does not check: with another node's address it adds a voter that
#                       no candidate will ever get the vote of.


_WHAT_IS_SERVED = ApiVersionsRequest()


class NewVoters:
    def __init__(
        self,
        quorum: Quorum,
        peers: Peers,
        changes: VoterChanges,
        cluster_id: str,
        advertised: tuple[Endpoint, ...],
    ) -> None:
        self._quorum = quorum
        self._peers = peers
        self._changes = changes
        self._cluster_id = cluster_id
        self._advertised = advertised
        self._sent_to: dict[ReplicaKey, Endpoint] = {}

    def send(self, mono_ns: int) -> None:
        for key, unproven in self._changes.unproven().items():
            request = self._lead(key) if unproven.has_told else _WHAT_IS_SERVED
            if self._peers.may_send(key, request):
                self._sent_to[key] = unproven.at
                self._peers.send_at(key, unproven.at, request, mono_ns)

    def _lead(self, key: ReplicaKey) -> Sent:
        """The same request that it will get as a voter."""
        return BeginQuorumEpochRequest(
            cluster_id=self._cluster_id,
            voter=key.id,
            voter_directory=key.known_directory,
            leader=self._quorum.key.id,
            epoch=self._quorum.epoch,
            leader_endpoints=self._advertised[:1],
        )

    def is_asked(self, key: ReplicaKey) -> bool:
        """Is this a request that a non-voter is sent as part of this check?"""
        return key in self._sent_to and key not in self._quorum.voters

    def on_response(self, key: ReplicaKey, response: ApiVersionsResponse) -> None:
        self._changes.on_versions(key, self._sent_to[key], response)

    def on_acknowledged(self, key: ReplicaKey, response: QuorumEpochResponse, mono_ns: int) -> None:
        """The response of a non-voter: its epoch and leader are ignored."""
        is_itself = ErrorCode.NONE is response.top_error is response.error
        if is_itself or response.error is ErrorCode.INVALID_VOTER_KEY:
            self._changes.on_acknowledged(key, self._sent_to[key], is_itself=is_itself)
        else:
            self._peers.back_off(key, mono_ns)
