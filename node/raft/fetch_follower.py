"""Fetch, as a follower sends it, and as a node without a leader does to find one."""

import random
from dataclasses import dataclass, replace

from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, NodeId, Offset
from node.messages import FetchRequest, FetchResponse
from node.raft.common import heed
from node.raft.local_log import LocalLog
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.roles import Follower, Unattached
from node.records.batch import Batch, DamagedBatch, split_batches
from node.storage.view import LogView


def truncation_point(view: LogView, diverging: LogPosition) -> LogPosition:
    """How much of our log may be part of the leader's (`ReplicatedLog.truncateToEndOffset`).

    The leader says where its log ends in the largest epoch not above our last one. If we have
    that epoch, the shorter end of the two; if not, the end of our own largest lower epoch.
    """
    ours = view.end_of_epoch(diverging.epoch)
    if diverging.epoch == 0:
        return LogPosition(Epoch(0), min(diverging.offset, view.end().offset))
    if ours.epoch == diverging.epoch:
        return LogPosition(ours.epoch, min(ours.offset, diverging.offset))
    return ours


def sound_batches(data: bytes, end: Offset, epoch: Epoch) -> list[Batch]:
    """The batches to append: whole and sound, from our end on, and none of an epoch above ours.

    A batch of a newer epoch was read by a leader that changed meanwhile; its log may not be the
    one we are being compared with (KAFKA-18723). What is damaged is fetched again.
    """
    batches = []
    try:
        for batch in split_batches(data):
            header = batch.header
            if header.base_offset != end or header.leader_epoch > epoch:
                break
            batches.append(batch)
            end = header.next_offset
    except DamagedBatch:
        return batches
    return batches


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promised:
    """The leader's high watermark, to be believed once what it may cover is durable here."""

    epoch: Epoch
    high_watermark: Offset


class FollowerFetch:
    def __init__(
        self, quorum: Quorum, log: LocalLog, peers: Peers, cluster_id: str, rng: random.Random
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._peers = peers
        self._cluster_id = cluster_id
        self._rng = rng
        self._promised: _Promised | None = None

    # --- sending ---

    def move(self, mono_ns: int, elapsed_ns: int) -> bool:
        """A follower whose leader is silent for too long stands for election; an observer looks
        for another leader."""
        role = self._quorum.role
        if not isinstance(role, Follower) or elapsed_ns < role.fetch_deadline_ns:
            return False
        if self._quorum.is_voter:
            self._quorum.to_prospective(mono_ns)
        else:
            self._quorum.to_unattached(role.epoch, mono_ns)
        return True

    def send(self, mono_ns: int) -> None:
        """One Fetch at a time, and only once everything before it is durable: the offset in it
        tells the leader what we cannot lose any more (KAFKA-10533)."""
        self._hang_up_on_others()
        role = self._quorum.role
        if not isinstance(role, Follower | Unattached) or self._peers.fetching_from():
            return
        if not self.may_fetch():
            return
        node = self._whom_to_ask(role)
        if node is not None:
            self._peers.ask(node, self._request(), mono_ns)

    def may_fetch(self) -> bool:
        return self._log.is_flushed

    def _hang_up_on_others(self) -> None:
        """A Fetch that we no longer care for may stay parked for long: drop its connection."""
        for node, request in self._peers.fetching_from():
            if request.epoch != self._quorum.epoch or not self._cares_for(node):
                self._peers.drop(node)

    def _cares_for(self, node: NodeId) -> bool:
        """May `node` still tell us what we want to know?"""
        match self._quorum.role:
            case Unattached():
                return True
            case Follower() as role:
                return node == role.leader or self._peers.is_backing_off(role.leader)
            case _:
                return False

    def _whom_to_ask(self, role: Follower | Unattached) -> NodeId | None:
        """The leader; while it cannot be reached or is unknown, any voter may know a newer one."""
        if isinstance(role, Follower) and not self._peers.is_backing_off(role.leader):
            return role.leader
        ready = self._peers.ready()
        return self._rng.choice(ready) if ready else None

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
        self, node: NodeId, request: FetchRequest, response: FetchResponse, mono_ns: int
    ) -> None:
        refused = response.top_error != ErrorCode.NONE
        if refused or not heed(
            self._quorum,
            error=response.error,
            leader=response.leader,
            epoch=response.epoch,
            mono_ns=mono_ns,
        ):
            self._peers.back_off(node, mono_ns)
            return
        role = self._quorum.role
        follows = isinstance(role, Follower) and role.leader == node and role.epoch == request.epoch
        if response.error != ErrorCode.NONE or not follows:
            self._peers.back_off(node, mono_ns)
        elif isinstance(role, Follower) and request.fetch_offset == self._log.end.offset:
            self._accept(role, response, mono_ns)

    def _accept(self, role: Follower, response: FetchResponse, mono_ns: int) -> None:
        deadline = mono_ns + self._quorum.timeouts.fetch_ms * 1_000_000
        self._quorum.update(
            replace(role, fetched=True, heard_ns=mono_ns, fetch_deadline_ns=deadline)
        )
        if response.diverging is not None:
            end = truncation_point(self._log.view, response.diverging)
            committed = self._quorum.committed or Offset(0)
            self._log.truncate(end, committed, "follower")
            return
        self._append(response.records, role.epoch)
        if response.high_watermark >= 0:
            known = Offset(response.high_watermark)
            self._promised = _Promised(epoch=role.epoch, high_watermark=known)
            self.learn_high_watermark()

    def _append(self, records: bytes, epoch: Epoch) -> None:
        batches = sound_batches(records, self._log.end.offset, epoch) if records else []
        if batches:
            size = sum(len(batch.data) for batch in batches)
            self._log.append_as_follower(records[:size], [batch.header for batch in batches])

    def learn_high_watermark(self) -> None:
        """min(own durable end, the leader's); once nothing is being flushed."""
        promised, role = self._promised, self._quorum.role
        if promised is None or not self._log.is_flushed:
            return
        self._promised = None
        if isinstance(role, Follower) and role.epoch == promised.epoch:
            own = min(promised.high_watermark, self._log.durable)
            self._quorum.publish_high_watermark(own)
