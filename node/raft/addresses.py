"""Where other nodes are reached: by the voter set, and the leader where it said that it is."""

from node.endpoint import Endpoint
from node.ids import NO_NODE, NodeId
from node.raft.local_log import LocalLog
from node.raft.roles import Follower, Prospective, Role
from node.raft.voter_set import VoterSet

_Told = tuple[VoterSet | None, NodeId, Endpoint | None]


class Addresses:
    """By the newest voters of the log. `listener`: the one by which voters reach one another."""

    def __init__(self, log: LocalLog, listener: str) -> None:
        self._log = log
        self._listener = listener
        # By which voters, of which leader, where that said that it is, and what is known so.
        self._leader_at: tuple[_Told, Endpoint | None] = ((None, NO_NODE, None), None)

    def by_set(self, node: NodeId) -> Endpoint | None:
        return self._log.voters.newest.endpoint(node, self._listener)

    def of(self, node: NodeId, role: Role) -> Endpoint | None:
        """A leader that we follow where we were told, others where the voter set says. A leader may
        have moved before it was elected, and the set does not say so."""
        told = _told_by_leader(role)
        return told if told is not None and role.leader == node else self.by_set(node)

    def of_leader(self, role: Role) -> Endpoint | None:
        """As answers tell it: the listener has no name there."""
        by: _Told = self._log.voters.newest, role.leader, _told_by_leader(role)
        if self._leader_at[0] != by:
            at = self.of(role.leader, role)
            known = None if at is None else Endpoint(name="", host=at.host, port=at.port)
            self._leader_at = by, known
        return self._leader_at[1]


def _told_by_leader(role: Role) -> Endpoint | None:
    return role.leader_at if isinstance(role, Follower | Prospective) else None
