"""What is asked of a leader about its voters, and a leader to ask it of."""

from dataclasses import replace

from node.errors import ErrorCode
from node.ids import Endpoint, Epoch, NodeId
from node.raft.voter_forms import DYNAMIC
from node.wire.api_versions import SUPPORTED_FEATURES, ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import API_RANGES, Response
from node.wire.raft_voters import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.vote import BeginQuorumEpochRequest, QuorumEpochResponse
from tests.support.rig import CLUSTER, PORTS, QUIET, Rig, asked_node, fetch, key

OPERATOR, ANOTHER = 70, 71  # connections


def at(node: int) -> tuple[Endpoint, ...]:
    return (Endpoint(name="CONTROLLER", host=f"node-{node}", port=PORTS + node),)


def add(node: int, *, timeout_ms: int = 10_000, acks_append: bool = False) -> AddVoterRequest:
    return AddVoterRequest(
        cluster_id=CLUSTER,
        voter=key(node),
        endpoints=at(node),
        timeout_ms=timeout_ms,
        ack_when_committed=not acks_append,
    )


def remove(node: int) -> RemoveVoterRequest:
    return RemoveVoterRequest(cluster_id=None, voter=key(node))


def update(node: int, epoch: int, *, host: str = "elsewhere") -> UpdateVoterRequest:
    where = Endpoint(name="CONTROLLER", host=host, port=1)
    return UpdateVoterRequest(
        cluster_id=CLUSTER, epoch=Epoch(epoch), voter=key(node), endpoints=(where,)
    )


def led(*, commits: bool = True) -> Rig:
    """Node 1 leads nodes 1, 2 and 3; with `commits` node 2 has fetched all of its epoch."""
    rig = Rig(timeouts=QUIET, kraft_version=DYNAMIC)
    rig.become_leader()
    if commits:
        fetches(rig, 2)
    return rig


def fetches(rig: Rig, *nodes: int) -> None:
    """They have all that the leader has."""
    for node in nodes:
        end = rig.core.raft.log.end
        asked = fetch(replica=key(node), offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
        rig.request(asked, connection=node)


ACKNOWLEDGED = QuorumEpochResponse(leader=NodeId(1), epoch=Epoch(1))
SERVED = ApiVersionsResponse(error=ErrorCode.NONE, apis=API_RANGES, supported=SUPPORTED_FEATURES)


def operate(
    rig: Rig, request: AddVoterRequest | RemoveVoterRequest, connection: int
) -> Response | None:
    """Ask; who is to be added is there, and shows that it can vote. The answer if it came at
    once."""
    before = len(rig.answered(connection))
    rig.request(request, connection)
    if asked_what_it_serves(rig, request.voter.id):
        shows_itself(rig, request.voter.id)
    answers = rig.answered(connection)
    return answers[-1] if len(answers) > before else None


def shows_itself(rig: Rig, node: int, told: ApiVersionsResponse = SERVED) -> None:
    """Asked of what it serves, and told who leads, it answers."""
    rig.reply(node, told)
    asked = [ask.request for ask in rig.asked if asked_node(ask) == node]
    if isinstance(asked[-1], BeginQuorumEpochRequest):
        rig.reply(node, replace(ACKNOWLEDGED, epoch=asked[-1].epoch))


def asked_what_it_serves(rig: Rig, node: int) -> list[Endpoint]:
    """Where that one was, which answers nothing yet."""
    asked = [ask for ask in rig.asked if isinstance(ask.request, ApiVersionsRequest)]
    return [ask.endpoint for ask in asked if asked_node(ask) == node]


def voting(rig: Rig) -> list[int]:
    return [each.id for each in rig.core.raft.quorum.voters.keys]


def refusal(answer: Response | None) -> ErrorCode:
    assert isinstance(answer, VoterChangeResponse | UpdateVoterResponse)
    return answer.error
