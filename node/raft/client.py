"""The seam above the quorum: all that whoever builds on it knows of it (Kafka's `RaftClient`).

What is committed is handed over batch by batch, each once and in order, for there are no snapshots
by which some could be skipped. What this node appended itself is in its listener's memory, the rest
is read from the log, a bounded piece a step. Whoever listens is told that it leads once it was
handed all that is committed, LeaderChange of this epoch among it; so what it decides from lacks
nothing. That it leads no more it is told before it is handed what another leader wrote.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from node.ids import NEVER_NS, Epoch, Now, Offset, ReplicaKey, Ticket
from node.raft.portion import portion
from node.raft.raft import Raft
from node.raft.roles import Leader
from node.records.batch import Record, split_batches

_PIECE_BYTES = 1024 * 1024  # of the log at most in one step


class Listener(Protocol):
    def on_committed(self, last: Offset, records: Iterable[Record] | None) -> None:
        """A batch is committed; nothing lies between it and the one before.

        `records` is None for what this listener appended since it leads, and empty for what is the
        quorum's own business (control records).
        """

    def on_leadership(self, epoch: Epoch | None, now: Now) -> None:
        """The epoch in which this node leads, or None: it leads no more, and what it appended
        since and was not told of may be lost, or yet be committed by another leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Appended:
    base: Offset
    last: Offset


class RaftClient:
    """For one listener."""

    def __init__(self, raft: Raft) -> None:
        self._raft = raft
        self.handed_over = raft.log.view.start()  # everything below
        self._is_behind = False  # more is committed than one step could hand over
        self._leads_in: Epoch | None = None  # as the listener was told
        self._appended: deque[_Appended] = deque()  # since then, and not committed

    # --- what is asked ---

    def append(self, values: Sequence[bytes], now: Now) -> Offset:
        """Write records of these values as one batch; returns its last offset. Only while the
        listener leads."""
        assert self._leads_in is not None, "only a leader appends"
        base = self._raft.log.end.offset
        last = self._raft.append([(None, value) for value in values], now)
        self._appended.append(_Appended(base=base, last=last))
        return last

    def take_ticket(self) -> Ticket:
        """For a read that just arrived."""
        return self._raft.reads.take_ticket()

    def confirmed(self) -> Ticket:
        """Reads up to this ticket may be answered: a majority confirmed, after they arrived, that
        we still lead, and the listener has all that was committed by then."""
        is_complete = self.handed_over >= self._committed()
        return self._raft.reads.confirmed() if is_complete else Ticket(0)

    def followed_ns(self) -> Mapping[ReplicaKey, int]:
        """By whom, and since when, a confirmation is (`ReadIndex.followed_ns`)."""
        return self._raft.reads.followed_ns

    # --- what is told ---

    def poll(self, listener: Listener, now: Now) -> None:
        """Bring `listener` up to what the quorum has reached."""
        if self._leads_in is not None and not self._still_leads(self._leads_in):
            self._leads_in = None
            self._appended.clear()
            listener.on_leadership(None, now)
        self._hand_over_committed(listener)
        role = self._raft.quorum.role
        if self._leads_in is None and isinstance(role, Leader) and self.has_all_committed(role):
            self._leads_in = role.epoch
            listener.on_leadership(role.epoch, now)

    def deadline_ns(self) -> int:
        """0: go on as soon as the input that is ready was served."""
        return 0 if self._is_behind else NEVER_NS

    def has_all_committed(self, leader: Leader) -> bool:
        """Was the listener handed all that is committed, of this epoch too?"""
        return leader.high_watermark is not None and self.handed_over >= leader.high_watermark

    def _still_leads(self, epoch: Epoch) -> bool:
        role = self._raft.quorum.role
        return isinstance(role, Leader) and role.epoch == epoch

    def _committed(self) -> Offset:
        return self._raft.quorum.committed or Offset(0)

    def _hand_over_committed(self, listener: Listener) -> None:
        """What others wrote comes before what we appended since we lead."""
        before, committed = self.handed_over, self._committed()
        if before < committed and not self._is_own(before):
            self._hand_over_from_log(listener, committed)
        while self.handed_over < committed and self._is_own(self.handed_over):
            self._hand_over(listener, self._appended.popleft().last, None)
        # Without progress the high watermark lies within a batch: no honest fetch says so.
        self._is_behind = before < self.handed_over < committed

    def _hand_over_from_log(self, listener: Listener, committed: Offset) -> None:
        """One piece."""
        data = self._raft.log.view.read(self.handed_over, _PIECE_BYTES)
        for batch in portion(split_batches(data)):
            header = batch.header
            if self._is_own(header.base_offset) or header.next_offset > committed:
                break
            records = () if header.is_control else batch.records()
            self._hand_over(listener, header.last_offset, records)

    def _hand_over(
        self, listener: Listener, last: Offset, records: Iterable[Record] | None
    ) -> None:
        self.handed_over = Offset(last + 1)
        listener.on_committed(last, records)

    def _is_own(self, base: Offset) -> bool:
        return bool(self._appended) and self._appended[0].base == base
