"""Planted bugs in changes of the voters (V, KIP-853, KIP-856)."""

from collections.abc import Iterator
from dataclasses import replace

from chaos.bugs.planted import Planted
from node.ids import ConnectionId, Endpoint, NodeId, Now, Offset, ReplicaKey
from node.raft import raft
from node.raft.descriptions import describe_quorum
from node.raft.known_quorum import Addresses, KnownQuorum
from node.raft.local_log import LocalLog
from node.raft.own_address import OwnAddress
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas
from node.raft.roles import Leader, Progress, Role
from node.raft.voter_changes import VoterChanges
from node.raft.voter_forms import KRaftVersions, VoterChange, WholeSets
from node.raft.voter_history import VoterHistory
from node.raft.voter_set import VoterSet
from node.raft.votes import Votes
from node.records.control import ControlRecord, Voter
from node.wire.fetch import FetchRequest
from node.wire.raft_voters import AddVoterRequest, DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.vote import VoteRequest, VoteResponse

# V-BAD-ENDPOINT: an added voter is recorded with a wrong address (KAFKA-20661).


_PORT = 1  # where nothing listens
_as_it_should_v_bad_endpoint = WholeSets.change_record
_as_told = Addresses.of


def elsewhere(
    self: WholeSets, change: VoterChange, voters: VoterSet, supported: KRaftVersions
) -> ControlRecord:
    """It fetches from a known leader. Once that is gone, no node can ask it for its vote."""
    if isinstance(change, AddVoterRequest):
        moved = tuple(replace(at, port=_PORT) for at in change.endpoints)
        change = replace(change, endpoints=moved)
    return _as_it_should_v_bad_endpoint(self, change, voters, supported)


def believes_so(_self: OwnAddress, _voters: VoterSet) -> Voter | None:
    """It advertises that address itself, and so has no update for its leader."""
    return None


def by_the_set(self: Addresses, node: NodeId, role: Role) -> Endpoint | None:
    """A leader has the same wrong address."""
    return self.by_set(node) or _as_told(self, node, role)


V_BAD_ENDPOINT = Planted(
    owner=WholeSets,
    decision="change_record",
    wrong=elsewhere,
    other=Planted(
        owner=OwnAddress,
        decision="_moved",
        wrong=believes_so,
        other=Planted(owner=Addresses, decision="of", wrong=by_the_set),
    ),
)


# V-COMMIT-ONLY: new voters are in force once their record is committed, not once it is written
# (KIP-856, "Voter Changes").


def once_committed(self: KnownQuorum) -> VoterSet:
    """A majority of the old set may commit and elect without the new set knowing it. The first
    voters of a log are exempt: nothing can be committed without them."""
    known = self.committed or Offset(0)
    sets, is_logged = self._log.voters.sets, self._log.voters.is_logged
    first = sets[0] if is_logged or len(sets) == 1 else sets[1]
    in_force = [since.voters for since in sets if since.offset < known]
    return in_force[-1] if known > first.offset and in_force else first.voters


V_COMMIT_ONLY = Planted(owner=KnownQuorum, decision="voters", wrong=property(once_committed))


# V-ID-KEY: a leader tracks a node's log end by its id, not by its disk (KIP-856, motivation).


_as_it_should_v_id_key = Replicas.on_valid_fetch


def by_node(self: Replicas, connection: ConnectionId, request: FetchRequest, now: Now) -> None:
    """A new disk is counted with the log end of the lost one."""
    _as_it_should_v_id_key(self, connection, request, now)
    voter = self._quorum.voters.by_id.get(request.replica.id)
    if voter is not None and voter != request.replica:
        _as_it_should_v_id_key(self, connection, replace(request, replica=voter), now)


V_ID_KEY = Planted(owner=Replicas, decision="on_valid_fetch", wrong=by_node)


# V-LAG: any replica that ever fetched counts as caught up, and becomes a voter (KIP-856,
# "AddVoter"; Apache Kafka accepts one that had caught up within the last hour).


def has_fetched(self: VoterChanges, leader: Leader, request: AddVoterRequest) -> bool:
    """Until it has caught up, nothing can be committed that one of the others lacks."""
    del self
    return request.voter in leader.replicas


V_LAG = Planted(owner=VoterChanges, decision="is_caught_up", wrong=has_fetched)


# V-NO-EPOCH-COMMIT: a change of the voters is accepted before anything of the epoch is committed
# (KIP-856, Raft's bug of single-server changes).


def not_asked_for(self: VoterChanges, leader: Leader) -> bool:
    """Two leaders may each append a change that the other does not know; majorities of the two sets
    need not overlap."""
    del self, leader
    return True


V_NO_EPOCH_COMMIT = Planted(owner=VoterChanges, decision="has_committed_epoch", wrong=not_asked_for)


# V-NO-UNDO: the voters of a truncated record stay in force (KIP-856, "Internal Listener").


def keep_all(self: VoterHistory, end: Offset) -> VoterHistory:
    """Nodes that count by a set in no log may elect beside those that count by the one before."""
    del end
    return self


V_NO_UNDO = Planted(owner=VoterHistory, decision="truncated", wrong=keep_all)


# V-REFORMAT: a voter is identified by its id alone, and a new disk has the lost one's vote
# (KIP-856, motivation).


def by_id(self: VoterSet, key: object) -> bool:
    """Two wiped disks elect a leader that lacks acknowledged records."""
    assert isinstance(key, ReplicaKey), key
    return key.id in self.by_id


V_REFORMAT = Planted(owner=VoterSet, decision="__contains__", wrong=by_id)


# V-REJOIN: a removed voter becomes a voter again as soon as it follows, without a request
# (KAFKA-19850).


_as_it_should_v_rejoin = VoterChanges.poll


def add_back(self: VoterChanges, now: Now) -> None:
    """An operator who removes a node finds that it is still a voter."""
    _as_it_should_v_rejoin(self, now)
    leader, voters = self._quorum.role, self._log.voters
    if not isinstance(leader, Leader) or not self.may_change(leader):
        return
    back = next(_followers(self, leader), None)
    if back is not None:
        request = AddVoterRequest(
            cluster_id=None, voter=back.key, endpoints=back.endpoints, timeout_ms=0
        )
        supported = back.min_kraft_version, back.max_kraft_version
        record = voters.form.change_record(request, voters.newest, supported)
        self._append(record, leader, now)


def _followers(changes: VoterChanges, leader: Leader) -> Iterator[Voter]:
    """Former voters that have all that the leader has."""
    *earlier, newest = (since.voters.rows for since in changes._log.voters.sets)
    for row in (row for rows in earlier for row in rows.values()):
        end = leader.replicas.get(row.key, Progress()).end
        if row.key.id not in {key.id for key in newest} and end == changes._log.end.offset:
            yield row


V_REJOIN = Planted(owner=VoterChanges, decision="poll", wrong=add_back)


# V-STRICT-VOTE: a node that is no voter by its own log grants no vote, and gets none from nodes
# with logs that do not list it (KIP-856, "Leader Election").


_as_it_should_v_strict_vote = Votes.on_request


def among_its_own_voters(self: Votes, request: VoteRequest, now: Now) -> VoteResponse:
    """Where a change reached only some nodes, neither the new set nor the old one elects a
    leader."""
    voters = self._quorum.voters
    if self._quorum.key in voters and request.candidate in voters:
        return _as_it_should_v_strict_vote(self, request, now)
    return self._response(granted=False)


V_STRICT_VOTE = Planted(owner=Votes, decision="on_request", wrong=among_its_own_voters)


# V-TOLD-OLD: DescribeQuorum returns the voters that elected the leader, whatever was changed and
# acknowledged since.


def as_elected(
    request: DescribeQuorumRequest,
    quorum: Quorum,
    log: LocalLog,
    replicas: Replicas,
    advertised: tuple[Endpoint, ...],
    now: Now,
) -> DescribeQuorumResponse:
    """All its actions use the right voters, and no trace and no disk shows others."""
    response = describe_quorum(request, quorum, log, replicas, advertised, now)
    leader = quorum.role
    if not isinstance(leader, Leader):
        return response
    earlier = [since.voters for since in log.voters.sets if since.epoch < leader.epoch]
    keys = set((earlier[-1] if earlier else log.voters.newest).keys)
    told = (*response.voters, *response.observers)
    return replace(
        response,
        voters=tuple(each for each in told if each.key in keys),
        observers=tuple(each for each in told if each.key not in keys),
    )


V_TOLD_OLD = Planted(owner=raft, decision="describe_quorum", wrong=as_elected)


# V-TWO-PENDING: voters are changed while another change is not committed (KAFKA-20661).


def none_is(self: VoterChanges) -> bool:
    """A majority of the newest set need not overlap one of the set before the last."""
    del self
    return False


V_TWO_PENDING = Planted(owner=VoterChanges, decision="is_pending", wrong=none_is)
