"""Does this leader still lead? Asked once for every round of reads (Raft thesis, 6.4).

Only a Fetch that was sent after the read arrived proves that its sender follows us then; a Fetch
that was already on its way may come from a voter that has elected somebody else since. The network
says nothing about when a request was sent, but one that follows, on the same connection, an answer
of ours was sent after that answer. So every waiting read takes a ticket; an answer to a voter marks
its connection with the newest ticket; the voter's next valid Fetch on that connection acknowledges
all tickets up to the mark; and a ticket that a majority acknowledged may be served.
"""

from collections.abc import Mapping
from typing import Protocol

from node.ids import ConnectionId, ReplicaKey, Ticket
from node.lazy_dataclass import dataclass
from node.raft.voter_set import VoterSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What an answer to a voter was marked with: the newest ticket, and when the answer left."""

    ticket: Ticket
    responded_ns: int


class Voting(Protocol):
    """`node.raft.quorum.Quorum`, as far as it is asked who votes."""

    @property
    def key(self) -> ReplicaKey: ...

    @property
    def voters(self) -> VoterSet: ...


class ReadIndex:
    def __init__(self, quorum: Voting) -> None:
        self._quorum = quorum
        self.issued = Ticket(0)  # the newest ticket
        self._acknowledged: dict[ReplicaKey, Ticket] = {}
        self._marks: dict[ConnectionId, Mark] = {}
        self._followed_ns: dict[ReplicaKey, int] = {}
        # Of which voters, and what they acknowledged; None: to be looked at again.
        self._confirmed: tuple[VoterSet, Ticket] | None = None

    @property
    def followed_ns(self) -> Mapping[ReplicaKey, int]:
        """When the newest answer left that a voter's valid Fetch has followed on its connection:
        the voter sent that Fetch later, in this epoch. Told in the trace, and decides nothing."""
        return self._followed_ns

    def take_ticket(self) -> Ticket:
        self.issued = Ticket(self.issued + 1)
        self._confirmed = None
        return self.issued

    def confirmed(self) -> Ticket:
        """All tickets up to this one are acknowledged by a majority; the leader counts itself."""
        voters = self._quorum.voters
        if self._confirmed is None or self._confirmed[0] is not voters:
            self._confirmed = voters, self._by_majority(voters)
        return self._confirmed[1]

    def awaits(self, voter: ReplicaKey) -> bool:
        """Would an answer to this voter now help a read that waits?"""
        if self._newest(voter) >= self.issued or self.confirmed() >= self.issued:
            return False
        return voter in self._quorum.voters

    def on_response(self, connection: ConnectionId, voter: ReplicaKey, mono_ns: int) -> None:
        if voter in self._quorum.voters:
            self._marks[connection] = Mark(ticket=self.issued, responded_ns=mono_ns)

    def on_fetch(self, connection: ConnectionId, voter: ReplicaKey) -> None:
        """`voter`: of those that vote now."""
        mark = self._marks.get(connection)
        if mark is None:
            return
        self._acknowledged[voter] = max(mark.ticket, self._newest(voter))
        self._followed_ns[voter] = max(mark.responded_ns, self._followed_ns.get(voter, 0))
        self._confirmed = None

    def on_closed(self, connection: ConnectionId) -> None:
        self._marks.pop(connection, None)

    def restart(self) -> None:
        """A new epoch: nothing that was said in an older one confirms anything."""
        self._acknowledged.clear()
        self._marks.clear()
        self._followed_ns.clear()
        self._confirmed = None

    def _by_majority(self, voters: VoterSet) -> Ticket:
        me = self._quorum.key
        newest = [
            self.issued if key.id == me.id and key == me else self._newest(key)
            for key in voters.keys
        ]
        return sorted(newest, reverse=True)[voters.majority - 1]

    def _newest(self, voter: ReplicaKey) -> Ticket:
        """That it acknowledged."""
        return self._acknowledged.get(voter, Ticket(0))
