"""Fetch, as a follower sends it, and as a node without a leader does to find one."""

import random

from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft import deadlines
from node.raft.common import heed
from node.raft.fetched import is_cut, sound_batches, truncation_point
from node.raft.local_log import LocalLog
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.roles import Follower, Unattached
from node.raft.snapshot_transfer import FollowerSnapshots
from node.wire.fetch import FetchRequest, FetchResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promised:
    """The leader's high watermark, to be believed once what it may cover is durable here."""

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
        """One Fetch at a time, and none while a snapshot is fetched."""
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
        """Only once everything before it is durable: the offset in it tells the leader what we
        cannot lose any more (KAFKA-10533)."""
        return self._log.is_flushed

    def _hang_up_on_others(self) -> bool:
        """A Fetch that we no longer care for may stay parked for long: drop its connection. Whether
        one is out that we do care for."""
        is_fetching = False
        for key, request in self._peers.fetching_from():
            if request.epoch != self._quorum.epoch or not self._cares_for(key):
                self._peers.drop(key)
            else:
                is_fetching = True
        return is_fetching

    def _cares_for(self, key: ReplicaKey) -> bool:
        """May it still tell us what we want to know?"""
        match self._quorum.role:
            case Follower() as role:
                return key.id == role.leader or self._peers.is_backing_off(self._leader(role))
            case Unattached():
                return True
            case _:
                return False

    def _source(self, role: Follower | Unattached) -> ReplicaKey | None:
        """The leader; while it cannot be reached or is unknown, any voter may know a newer one."""
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

    # --- the answer ---

    def on_response(
        self, key: ReplicaKey, request: FetchRequest, response: FetchResponse, mono_ns: int
    ) -> str | None:
        """What is wrong with the answer, if it makes no sense: the connection is to be dropped."""
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
