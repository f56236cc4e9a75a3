"""Fetch, as a follower sends it, and as a node without a leader sends it to find one."""

import random
from collections.abc import Iterable, Iterator

from node import limits
from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft import deadlines
from node.raft.common import heed
from node.raft.local_log import LocalLog
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.roles import Follower, Unattached
from node.raft.snapshots import FollowerSnapshots
from node.records.batch import Batch, DamagedBatch, read_header, split_batches
from node.records.metadata import MalformedRecord, check_contents
from node.storage.view import LogView
from node.wire.fetch import FetchRequest, FetchResponse

# How much of a log is decoded in one step, which delays all other input, heartbeats included.


_BATCH_IN_RECORDS = 5  # checking a batch takes as long as decoding so many records


def portion(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The first batch, and those after it for which there is time in the same step."""
    handled = 0
    for batch in batches:
        cost = batch.header.record_count + _BATCH_IN_RECORDS
        if handled and handled + cost > limits.MAX_RECORDS_PER_STEP:
            return
        handled += cost
        yield batch


# Checks of a Fetch response before it is appended to our log: the leader may be faulty.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The batches to append, and what is wrong with the bytes after them, if anything is."""

    batches: list[Batch]
    fault: str | None = None


def sound_batches(data: bytes, end: LogPosition, epoch: Epoch) -> Fetched:
    """The batches to append: complete and valid, from our end on, and none of an epoch above ours.

    A batch of a newer epoch was read by a leader that changed meanwhile; its log may not be the one
    we are being compared with (KAFKA-18723). A Fetch may cut its last batch anywhere, but never its
    first. Batches that a step has no time for are left to the next Fetch.
    """
    batches: list[Batch] = []
    try:
        for batch in portion(split_batches(data)):
            _check_order(batch, end, epoch)
            check_contents(batch)
            batches.append(batch)
            end = LogPosition(batch.header.leader_epoch, batch.header.next_offset)
    except DamagedBatch as damage:
        if not (damage.torn and batches):
            return Fetched(batches=batches, fault=str(damage))
    except MalformedRecord as malformed:
        return Fetched(batches=batches, fault=str(malformed))
    return Fetched(batches=batches)


def _check_order(batch: Batch, end: LogPosition, epoch: Epoch) -> None:
    header = batch.header
    if header.base_offset != end.offset or not end.epoch <= header.leader_epoch <= epoch:
        raise DamagedBatch(
            0,
            f"offset {header.base_offset} of epoch {header.leader_epoch} stands where offset"
            f" {end.offset} of epoch {end.epoch} to {epoch} belongs",
        )


def truncation_point(view: LogView, diverging: LogPosition) -> LogPosition:
    """How much of our log may be part of the leader's (`ReplicatedLog.truncateToEndOffset`).

    The leader returns where its log ends in the largest epoch not above our last one. If we have
    that epoch, the shorter end of the two; if not, the end of our own largest lower epoch.
    """
    ours = view.end_of_epoch(diverging.epoch)
    if diverging.epoch == 0:
        return LogPosition(Epoch(0), min(diverging.offset, view.end().offset))
    if ours.epoch == diverging.epoch:
        return LogPosition(ours.epoch, min(ours.offset, diverging.offset))
    return ours


def is_cut(view: LogView, end: Offset) -> bool:
    """Can our log be cut at `end`: does that remove whole batches? Logs diverge between batches."""
    if not view.start() <= end < view.end().offset:
        return False
    return read_header(view.read(end, 1)).base_offset == end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promised:
    """The leader's high watermark, adopted once what it may cover is durable here."""

    epoch: Epoch
    high_watermark: Offset


_FETCHING = (Follower, Unattached)


class FollowerFetch:
    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        snapshots: FollowerSnapshots,
        peers: Peers,
        cluster_id: str,
        rng: random.Random,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._snapshots = snapshots
        self._peers = peers
        self._cluster_id = cluster_id
        self._rng = rng
        self._promised: _Promised | None = None

    # --- sending ---

    def send(self, mono_ns: int) -> None:
        """Send one Fetch at a time, and none while a snapshot is fetched."""
        is_fetching = self._hang_up_on_others()
        role = self._quorum.role
        if is_fetching or not isinstance(role, _FETCHING):
            return
        if self._snapshots.is_fetching or not self.may_fetch():
            return
        key = self._source(role)
        if key is not None:
            self._peers.send(key, self._request(), mono_ns)

    def may_fetch(self) -> bool:
        """Only once everything before its offset is durable: the leader takes the fetch offset for
        what we cannot lose any more (KAFKA-10533)."""
        return self._log.is_flushed

    def _hang_up_on_others(self) -> bool:
        """Drop the connection of an obsolete Fetch, which may stay parked for long. Returns whether
        a Fetch that we still need is outstanding."""
        is_fetching = False
        for key, request in self._peers.fetching_from():
            if request.epoch != self._quorum.epoch or not self._cares_for(key):
                self._peers.drop(key)
            else:
                is_fetching = True
        return is_fetching

    def _cares_for(self, key: ReplicaKey) -> bool:
        """May its response still be of use?"""
        match self._quorum.role:
            case Follower() as role:
                return key.id == role.leader or self._peers.is_backing_off(self._leader(role))
            case Unattached():
                return True
            case _:
                return False

    def _source(self, role: Follower | Unattached) -> ReplicaKey | None:
        """The leader; while it is unreachable or unknown, any voter may know a newer one."""
        if isinstance(role, Follower):
            leader = self._leader(role)
            if not self._peers.is_backing_off(leader):
                return leader
        ready = self._peers.ready()
        return self._rng.choice(ready) if ready else None

    def _leader(self, role: Follower) -> ReplicaKey:
        return self._peers.leader(role.leader)

    def _request(self) -> FetchRequest:
        quorum, end = self._quorum, self._log.end
        known = quorum.high_watermark
        return FetchRequest(
            cluster_id=self._cluster_id,
            replica=quorum.key,
            epoch=quorum.epoch,
            fetch_offset=end.offset,
            last_epoch=end.epoch,
            max_wait_ms=quorum.timeouts.fetch_max_wait_ms,
            max_bytes=quorum.timeouts.fetch_max_bytes,
            high_watermark=-1 if known is None else known,
        )

    # --- the response ---

    def on_response(
        self, key: ReplicaKey, request: FetchRequest, response: FetchResponse, mono_ns: int
    ) -> str | None:
        """What is wrong with an invalid response: the connection is to be dropped."""
        refused = response.top_error != ErrorCode.NONE
        if refused or not heed(self._quorum, response, mono_ns):
            self._peers.back_off(key, mono_ns)
            return None
        role = self._quorum.role
        follows = (
            isinstance(role, Follower) and role.leader == key.id and role.epoch == request.epoch
        )
        if response.error != ErrorCode.NONE or not follows:
            self._peers.back_off(key, mono_ns)
        elif isinstance(role, Follower) and request.fetch_offset == self._log.end.offset:
            return self._accept(role, response, mono_ns)
        return None

    def _accept(self, role: Follower, response: FetchResponse, mono_ns: int) -> str | None:
        if response.diverging is not None:
            return self._truncate(role, response.diverging, mono_ns)
        if response.snapshot is not None:
            self._renew(role, mono_ns)
            return self._snapshots.begin(self._leader(role), response.snapshot)
        fetched = sound_batches(response.records, self._log.end, role.epoch)
        if fetched.batches:
            size = sum(len(batch.data) for batch in fetched.batches)
            self._log.append_as_follower(response.records[:size], fetched.batches)
        if fetched.fault is not None:
            return fetched.fault
        self._renew(role, mono_ns)
        if response.high_watermark >= 0:
            known = Offset(response.high_watermark)
            self._promised = _Promised(epoch=role.epoch, high_watermark=known)
            self.learn_high_watermark()
        return None

    def _truncate(self, role: Follower, diverging: LogPosition, mono_ns: int) -> str | None:
        end = truncation_point(self._log.view, diverging)
        if not is_cut(self._log.view, end.offset):
            return f"a divergence at {diverging}, where our log cannot be cut"
        self._renew(role, mono_ns)
        self._log.truncate(end, self._quorum.committed or Offset(0), "follower")
        return None

    def _renew(self, role: Follower, mono_ns: int) -> None:
        deadline = mono_ns + deadlines.fetch_timeout_ns(self._quorum.timeouts)
        self._quorum.update(role.heard(mono_ns, deadline))

    def learn_high_watermark(self) -> None:
        """min(own durable end, the leader's); once nothing is being flushed."""
        promised, role = self._promised, self._quorum.role
        if promised is None or not self._log.is_flushed:
            return
        self._promised = None
        if isinstance(role, Follower) and role.epoch == promised.epoch:
            own = min(promised.high_watermark, self._log.durable)
            self._quorum.publish_high_watermark(own)
