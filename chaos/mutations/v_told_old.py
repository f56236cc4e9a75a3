"""V-TOLD-OLD: DescribeQuorum returns the voters that elected the leader, whatever was changed and
acknowledged since."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.endpoint import Endpoint
from node.ids import Now
from node.raft import raft
from node.raft.local_log import LocalLog
from node.raft.quorum import Quorum
from node.raft.quorum_description import describe_quorum
from node.raft.replicas import Replicas
from node.raft.roles import Leader
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse


def as_elected(
    request: DescribeQuorumRequest,
    quorum: Quorum,
    log: LocalLog,
    replicas: Replicas,
    advertised: tuple[Endpoint, ...],
    now: Now,
) -> DescribeQuorumResponse:
    """All its actions use the right voters, and no trace and no disk shows others."""
    response = describe_quorum(request, quorum, log, replicas, advertised, now)
    leader = quorum.role
    if not isinstance(leader, Leader):
        return response
    earlier = [since.voters for since in log.voters.sets if since.epoch < leader.epoch]
    keys = set((earlier[-1] if earlier else log.voters.newest).keys)
    told = (*response.voters, *response.observers)
    return replace(
        response,
        voters=tuple(each for each in told if each.key in keys),
        observers=tuple(each for each in told if each.key not in keys),
    )


PLANTED = Planted(owner=raft, decision="describe_quorum", wrong=as_elected)
