"""What is sent to a quorum at once, and by how many clients of which kind."""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from node.ids import ReplicaKey
from node.wire import MalformedFrame, decode_request
from node.wire.apis import BY_REQUEST, Request
from node.wire.fetch import FetchRequest
from node.wire.raft_voters import RemoveVoterRequest, UpdateVoterRequest
from node.wire.vote import BeginQuorumEpochRequest, EndQuorumEpochRequest, VoteRequest
from tests.fuzz.callers import Exchange, breaks_off, takes_all, takes_little, takes_nothing
from tests.fuzz.drawing import LIKELY, Draw, Drawn, draw_request, one_of
from tests.fuzz.steady import Steady, Waits

# Of all requests; the rest goes to those who take every answer.
UNTAKEN_SHARE = 0.1  # to each kind that does not
# Connections of each kind, to each node.
TAKING = 10
NOT_TAKING = 2
# Epochs above the present one that false peers speak of; more would use them up.
EPOCHS_AHEAD = 20

MOVES_LEADERS = (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest)


@dataclass(frozen=True, slots=True)
class Leadership:
    cluster_id: str
    leader: int
    epoch: int
    voters: tuple[ReplicaKey, ...]


# --- requests ---


def draw(rng: random.Random, of: Leadership, count: int) -> list[Drawn]:
    """For clients: of all kinds. Those of the quorum are by names of voters too, and of epochs
    that would move the leader if they were a peer's."""
    clusters = one_of(of.cluster_id, of.cluster_id, None, "another")
    likely = {**LIKELY, "cluster_id": clusters, **_names(of), **_epochs(of, EPOCHS_AHEAD)}

    def keeps_voters(request: Request) -> bool:
        """Whoever reaches a node may change its voters, as in Kafka without authorization."""
        if isinstance(request, RemoveVoterRequest | UpdateVoterRequest):
            return request.voter not in of.voters
        return True

    return _some(count, lambda at: draw_request(rng, at, likely), keeps_voters)


def draw_of_false_peers(rng: random.Random, of: Leadership, count: int) -> list[Drawn]:
    """Requests of the quorum, by names of voters and of others, for the peers' own listener."""
    apis = [BY_REQUEST[kind] for kind in (*MOVES_LEADERS, FetchRequest)]
    clusters = one_of(of.cluster_id, of.cluster_id, None)
    likely = {**LIKELY, "cluster_id": clusters, **_names(of), **_epochs(of, EPOCHS_AHEAD)}

    def bounded(request: Request) -> bool:
        ahead = getattr(request, "epoch", 0) - of.epoch
        return ahead <= EPOCHS_AHEAD and not _promises(request, of)

    return _some(count, lambda at: draw_request(rng, at, likely, apis), bounded)


def _names(of: Leadership) -> dict[str, Draw]:
    ids = one_of(*[key.id for key in of.voters] * 2, 7, -1)
    directories = one_of(*[key.directory for key in of.voters], UUID(int=7), UUID(int=0))
    return {
        **dict.fromkeys(("replica_id", "voter_id", "leader_id", "candidate_id"), ids),
        **{f"{name}_directory_id": directories for name in ("replica", "voter", "candidate")},
    }


def _epochs(of: Leadership, ahead: int) -> dict[str, Draw]:
    def near(rng: random.Random) -> int:
        return rng.randint(max(of.epoch - 1, 0), of.epoch + ahead)

    return dict.fromkeys(("leader_epoch", "replica_epoch", "current_leader_epoch"), near)


def _promises(request: Request, of: Leadership) -> bool:
    """Would a leader take this for what one of the voters holds?"""
    return isinstance(request, FetchRequest) and request.replica in of.voters


def _some(
    count: int, drawn: Callable[[int], Drawn], allowed: Callable[[Request], bool]
) -> list[Drawn]:
    found: list[Drawn] = []
    while len(found) < count:
        candidate = drawn(len(found))
        try:
            _, request = decode_request(candidate.frame)
        except MalformedFrame:
            found.append(candidate)
            continue
        if allowed(request):
            found.append(candidate)
    return found


# --- clients ---


def _shares(requests: Sequence[Drawn], count: int) -> Iterator[Sequence[Drawn]]:
    for first in range(count):
        yield requests[first::count]


class Storm:
    """Of clients on all nodes, for as long as those that take their answers have something to
    ask. `ports` are of one listener of each."""

    def __init__(self, ports: Sequence[int], rng: random.Random) -> None:
        self._ports = ports
        self._rng = rng
        self._end = asyncio.Event()

    async def rage(self, requests: Sequence[Drawn]) -> list[Exchange]:
        """What those were told who take answers, a few bytes at a time or all."""
        part = int(len(requests) * UNTAKEN_SHARE)
        slow, deaf, torn = (requests[n * part : (n + 1) * part] for n in range(3))
        rest = requests[3 * part :]
        many, few = TAKING * len(self._ports), NOT_TAKING * len(self._ports)
        async with asyncio.TaskGroup() as tasks:
            slowly = [
                tasks.create_task(takes_little(self._port(n), share, self._end))
                for n, share in enumerate(_shares(slow, few))
            ]
            for n, share in enumerate(_shares(deaf, few)):
                tasks.create_task(takes_nothing(self._port(n), share, self._end))
                tasks.create_task(takes_nothing(self._port(n), (), self._end))
            ending = [
                tasks.create_task(takes_all(self._port(n), share, self._rng))
                for n, share in enumerate(_shares(rest, many))
            ]
            breaking = [
                tasks.create_task(breaks_off(self._port(n), share, self._rng))
                for n, share in enumerate(_shares(torn, few))
            ]
            await asyncio.gather(*ending, *breaking)
            self._end.set()
        whole = [exchange for task in ending for exchange in task.result()]
        return whole + [task.result() for task in slowly]

    async def beside(
        self, steady: Steady, requests: Sequence[Drawn]
    ) -> tuple[Waits, list[Exchange]]:
        """And what somebody waited who behaves, meanwhile."""
        raging = asyncio.create_task(self.rage(requests))
        waits = await steady.work(lambda _: not raging.done())
        return waits, await raging

    def _port(self, number: int) -> int:
        return self._ports[number % len(self._ports)]
