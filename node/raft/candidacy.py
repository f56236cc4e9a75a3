"""Who may stand for election, and how long it waits before it does."""

import random

from node.config import QuorumTimeouts
from node.ids import Offset, ReplicaKey
from node.raft import deadlines
from node.raft.local_log import LocalLog


class Candidacy:
    """Of one replica, by the voters that its log names."""

    def __init__(
        self, key: ReplicaKey, log: LocalLog, timeouts: QuorumTimeouts, rng: random.Random
    ) -> None:
        self._key = key
        self._log = log
        self._timeouts = timeouts
        self._rng = rng
        # Of which set, and what it says: it is asked for in every step of a leader.
        self._votes_in: tuple[object, bool] = (None, False)

    @property
    def is_voter(self) -> bool:
        voters = self._log.voters.newest
        if self._votes_in[0] is not voters:
            self._votes_in = voters, self._key in voters
        return self._votes_in[1]

    def is_open(self, committed: Offset | None) -> bool:
        """To a voter that can replay its whole log. Others follow, vote, and never stand.
        `committed`: the highest high watermark that it knows of."""
        may_stand = self.is_voter or self._is_being_removed(committed)
        return may_stand and self._log.unreplayable is None

    def _is_being_removed(self, committed: Offset | None) -> bool:
        """Is it removed by a record that may not be committed? The others may lack that record, and
        elect nobody without it: so it still stands, and does not count its own vote (Raft thesis
        4.2.2; the KIPs say nothing of it)."""
        voters = self._log.voters
        is_committed = committed is not None and committed > voters.newest_since
        return voters.is_removing(self._key) and not is_committed

    def after_ns(self, mono_ns: int) -> int:
        """When an election time-out that begins now is over. A single voter has nobody to wait
        for."""
        if self.is_voter and len(self._log.voters.newest) == 1:
            return mono_ns
        return mono_ns + deadlines.election_timeout_ns(self._timeouts, self._rng)
