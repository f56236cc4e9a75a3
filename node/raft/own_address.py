"""UpdateRaftVoter, as a voter sends it to its leader to announce its own address (KIP-853).

Candidates send Vote to the address in the voter set. A voter that came back with another address
would not be reached by any candidate once its leader is lost. So it sends its address to the
leader, which commits the new set; and repeats it after a while, as long as its own log has the old
address: the leader takes one change at a time. A leader that moved writes its own address.

Where the log holds no voters (kraft.version 0), each voter sends every leader once its directory
id, its address, and that it supports no other kraft.version; a leader that would raise it has to
know that all could follow (KAFKA-16538). Where the configuration lists the voters of a quorum of
KIP-856, it has their addresses, and none are sent.
"""

from uuid import UUID

from node.errors import ErrorCode
from node.ids import NEVER_NS, Endpoint, Epoch, Now, ReplicaKey
from node.raft import deadlines
from node.raft.common import heed
from node.raft.local_log import LocalLog
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.roles import Follower, Leader
from node.raft.voter_changes import VoterChanges
from node.raft.voter_forms import STATIC
from node.raft.voter_set import VoterSet
from node.records.control import Voter
from node.wire.raft_voters import UpdateVoterRequest, UpdateVoterResponse


class OwnAddress:
    """`own`: by the listener that voters use among themselves."""

    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        peers: Peers,
        changes: VoterChanges,
        cluster_id: str,
        own: Endpoint,
        directory: UUID,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._peers = peers
        self._changes = changes
        self._cluster_id = cluster_id
        self._own = own
        self._disk = ReplicaKey(quorum.key.id, directory)
        self._is_known_by_disk = quorum.key.known_directory is not None
        self._taken_in: Epoch | None = None  # when a leader accepted what it only keeps in memory
        self._known_to: VoterSet | None = None  # the last voter set found to have our address
        self._due_ns = 0
        self._is_owed = False  # is a request due, as of the last check?

    def write(self, now: Now) -> None:
        """As the leader, once no other change is pending."""
        if isinstance(self._quorum.role, Leader) and (request := self._request()) is not None:
            self._changes.on_update(request, now)

    def send(self, mono_ns: int) -> None:
        """Send to a leader that answers. Before a Fetch of the same step, which may be parked."""
        role = self._quorum.role
        self._is_owed = False
        if not isinstance(role, Follower) or not role.fetched:
            return
        request = self._request() or self._introduction()
        self._is_owed = request is not None
        if request is None or mono_ns < self._due_ns:
            return
        leader = self._peers.leader(role.leader)
        if self._peers.may_send(leader, request):
            self._peers.send(leader, request, mono_ns)
            self._due_ns = mono_ns + deadlines.update_interval_ns(self._quorum.timeouts)

    def deadline_ns(self, polled_ns: int) -> int:
        """When it is sent again. What is overdue waits for the leader: its deadline counts."""
        return self._due_ns if self._is_owed and self._due_ns > polled_ns else NEVER_NS

    def on_response(self, response: UpdateVoterResponse, mono_ns: int) -> None:
        """Whether the address was written is seen in the log. A leader that does not support
        UpdateRaftVoter of static voters need not get it again."""
        is_taken = response.error in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION)
        if heed(self._quorum, response, mono_ns) and is_taken:
            self._taken_in = self._quorum.epoch

    def _request(self) -> UpdateVoterRequest | None:
        """None: there is nothing to send."""
        voters = self._quorum.voters
        if voters is self._known_to:
            return None
        row = self._moved(voters)
        if row is None:
            self._known_to = voters
            return None
        return UpdateVoterRequest(
            cluster_id=self._cluster_id,
            epoch=self._quorum.epoch,
            voter=row.key,
            endpoints=row.endpoints,
        )

    def _introduction(self) -> UpdateVoterRequest | None:
        """None: this leader has it, or none is sent, as for a voter known by its directory id."""
        history, quorum, epoch = self._log.voters, self._quorum, self._quorum.epoch
        if self._is_known_by_disk or self._taken_in == epoch or not quorum.is_voter:
            return None
        if not history.form.tells_leaders(history.kraft_version):
            return None
        return UpdateVoterRequest(
            cluster_id=self._cluster_id,
            epoch=epoch,
            voter=self._disk,
            endpoints=(self._own,),
            max_kraft_version=STATIC,
        )

    def _moved(self, voters: VoterSet) -> Voter | None:
        """Our own row as it ought to be; None: it is correct, or is not to be written."""
        row, history = voters.rows.get(self._quorum.key), self._log.voters
        if row is None or self._own in row.endpoints:
            return None
        others = tuple(at for at in row.endpoints if at.name != self._own.name)
        moved = Voter(key=row.key, endpoints=(self._own, *others))
        record = history.form.update_record(moved, voters, history.kraft_version)
        return None if record is None else moved
