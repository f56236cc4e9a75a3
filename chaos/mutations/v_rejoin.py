"""V-REJOIN: a removed voter becomes a voter again as soon as it follows, without a request
(KAFKA-19850)."""

from collections.abc import Iterator

from chaos.mutations.planted import Planted
from node.ids import Now
from node.raft.progress import Progress
from node.raft.roles import Leader
from node.raft.voter_changes import VoterChanges
from node.records.control import Voter
from node.wire.raft_voters import AddVoterRequest

_as_it_should = VoterChanges.poll


def add_back(self: VoterChanges, now: Now) -> None:
    """An operator who removes a node finds that it is still a voter."""
    _as_it_should(self, now)
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


PLANTED = Planted(owner=VoterChanges, decision="poll", wrong=add_back)
