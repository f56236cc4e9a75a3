"""Planted bugs in the quorum's log: high watermark, durability, snapshots, reads (Q, R)."""

from collections.abc import Sequence

from chaos.bugs.planted import Planted
from node.ids import ConnectionId, LogPosition, Offset, Ticket
from node.raft import replicas, voter_set
from node.raft.client import RaftClient
from node.raft.fetch_follower import FollowerFetch
from node.raft.fetch_leader import LeaderFetch, Parked
from node.raft.replicas import ReadIndex, Replicas
from node.raft.roles import Leader
from node.storage.log import Log
from node.storage.recovery import FLUSHES_A_RISE
from node.storage.snapshots import Snapshots
from node.wire.fetch import FetchResponse

# Q-HALF-MAJORITY: half of the voters, rounded down, count as a majority; two of five elect a
# leader and commit, while the other three do the same (Raft thesis 3.4: any two majorities
# overlap).


def half_of(size: int) -> int:
    """As if any two halves had a voter in common. A single voter still needs itself."""
    return max(1, size // 2)


def replicated_to_half(ends: Sequence[Offset]) -> Offset:
    """Records on so many voters are committed."""
    return sorted(ends, reverse=True)[half_of(len(ends)) - 1]


Q_HALF_MAJORITY = Planted(
    owner=voter_set,
    decision="majority_of",
    wrong=half_of,
    other=Planted(owner=replicas, decision="replicated_to_majority", wrong=replicated_to_half),
)


# Q-HWM-DOWN: the high watermark follows the voters' current log ends, even if they are lower than
# before (KIP-856, "High Watermark").


def as_computed(candidate: Offset, _known: Offset | None) -> Offset:
    """After a change of voters a majority may lack what the majority before it had."""
    return candidate


Q_HWM_DOWN = Planted(owner=replicas, decision="never_lower", wrong=as_computed)


# Q-HWM-EPOCH: off by one, the high watermark is published before LeaderChange is replicated
# (KAFKA-12619; Raft, figure 8).


def commit_at_epoch_start(candidate: Offset, epoch_start: Offset) -> bool:
    """Records of older epochs are committed while another leader may still truncate them."""
    return candidate >= epoch_start


Q_HWM_EPOCH = Planted(owner=replicas, decision="covers_leader_change", wrong=commit_at_epoch_start)


# Q-HWM-SELF: a leader counts its own log whether it is a voter or not (KAFKA-16530).


_as_it_should_q_hwm_self = Replicas.voter_ends


def with_its_own(self: Replicas, leader: Leader) -> list[Offset]:
    """A removed leader commits what no majority of the remaining voters has."""
    ends = _as_it_should_q_hwm_self(self, leader)
    return ends if self._quorum.is_voter else [self._log.durable, *ends]


Q_HWM_SELF = Planted(owner=Replicas, decision="voter_ends", wrong=with_its_own)


# Q-MARK-EARLY: the recovery point of the log rises when a batch is written, not flushed.
#
# A power cut that keeps files and loses bytes then leaves a mark that vouches for lost data. The
# node takes that for corruption, and never starts again: that costs one node, or the cluster if all
# lose power.


def write_and_mark(self: Log, data: bytes) -> None:
    if data:
        self.segments[-1].file.append(data)
        self.flushed = False
        self.mark.late = FLUSHES_A_RISE - 1
        self.mark.rise(self.next_offset)


Q_MARK_EARLY = Planted(owner=Log, decision="_write", wrong=write_and_mark)


# Q-NO-FSYNC: a voter sends its next Fetch before its last append is durable (KAFKA-10533).


def fetch_unflushed(_self: FollowerFetch) -> bool:
    """The leader counts a log end that a power cut undoes."""
    return True


Q_NO_FSYNC = Planted(owner=FollowerFetch, decision="may_fetch", wrong=fetch_unflushed)


# Q-PURGATORY: a parked Fetch is answered late, by a thread that reads shared state: the epoch is
# that of the time when it was parked, the high watermark the current one (KAFKA-15100).


_as_it_should_q_purgatory = LeaderFetch.response_to_parked


def answer_late(
    self: LeaderFetch, connection: ConnectionId, parked: Parked, mono_ns: int
) -> FetchResponse | None:
    """A leader that was deposed meanwhile answers for its old epoch, with a high watermark that
    belongs to another log than the fetcher's."""
    quorum, request = self._quorum, parked.request
    if isinstance(quorum.role, Leader) and quorum.epoch == request.epoch:
        return _as_it_should_q_purgatory(self, connection, parked, mono_ns)
    if mono_ns < parked.deadline_ns:
        return None
    known = quorum.committed
    return FetchResponse(
        leader=quorum.key.id,
        epoch=request.epoch,
        high_watermark=-1 if known is None else known,
        log_start=self._log.view.start(),
    )


Q_PURGATORY = Planted(owner=LeaderFetch, decision="response_to_parked", wrong=answer_late)


# Q-SEGMENT: the log is deleted past the newest snapshot, up to its last segment (KAFKA-14238).
#
# What is between the snapshot and the log's new start is lost, and a replica that lacks it can
# neither fetch nor load it.


def cut_past(self: Log, snapshot: LogPosition) -> None:
    while len(self.segments) > 1:
        oldest = self.segments.pop(0)
        oldest.file.close()
        self.disk.remove(oldest.path)
    self.kept.remove_before(snapshot.offset)
    start = max(self.segments[0].base, snapshot.offset)
    self.begin = LogPosition(snapshot.epoch, start)
    if self.epochs.begin_at(start, self.next_offset):
        self._save_epochs()


Q_SEGMENT = Planted(owner=Log, decision="delete_before_snapshot", wrong=cut_past)


# Q-SNAP-OFF: a snapshot is named after its last offset (KAFKA-14618).
#
# The right name is the offset after it. A replica that loads it expects the last record again.


def last_contained(self: RaftClient) -> LogPosition:
    return LogPosition(self._epoch, Offset(self.handed_over - 1))


Q_SNAP_OFF = Planted(owner=RaftClient, decision="snapshot_id", wrong=last_contained)


# Q-SNAP-TORN: a snapshot is renamed before its bytes are durable.
#
# A power cut then leaves an invalid snapshot, while the log before its end is already deleted.


def write_unflushed(self: Snapshots, id_: LogPosition, position: int, data: bytes) -> None:
    if position == 0:
        self._begin(id_)
    part = self._written(id_)
    part.reader.feed(data)
    part.file.append(data)


Q_SNAP_TORN = Planted(owner=Snapshots, decision="write", wrong=write_unflushed)


# R-STALE-READ: reads are answered from the local image without confirming that the node still
# leads, as Apache Kafka does (Raft thesis 6.4 says why not).


def confirm_all(self: ReadIndex) -> Ticket:
    """As if a majority had just fetched."""
    return self.issued


R_STALE_READ = Planted(owner=ReadIndex, decision="confirmed", wrong=confirm_all)
