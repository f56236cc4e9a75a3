"""Members of a group on simulated brokers: what they are answered is judged from inside."""

import asyncio
from dataclasses import dataclass, field

import pytest

from chaos.cluster.interface import NodeId
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.surroundings import VirtualClock
from chaos.cluster.sim.watchdog import Watchdog
from node.broker.coordinators.group import Group
from node.broker.coordinators.rebalancing import Rebalancing
from node.errors import ErrorCode
from node.ids import Now
from node.wire.apis import Request, Response
from node.wire.frames import decode_response, encode_request
from node.wire.group_descriptions import FindCoordinatorRequest, FindCoordinatorResponse
from node.wire.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    Share,
    SyncGroupRequest,
    SyncGroupResponse,
)
from workloads.connection import Exchange

GROUP = "g"
HEARTBEAT_S, BELONGING_S, ABSENT_S, WHOLE_S = 0.3, 4.0, 1.0, 16.0
PROTOCOLS = (JoinProtocol(name="range", metadata=b"m"),)
RULES = ("coordinators-do-not-deny-it", "one-generation-answers", "told-coordinators-lead")


@dataclass
class Client:
    """One that belongs to the group, over a connection to its coordinator."""

    cluster: SimCluster
    exchange: Exchange | None = None
    member: str = ""
    errors: list[ErrorCode] = field(default_factory=list)  # that it was told

    async def belong(self, until: float) -> None:
        """Joins until it is told its share, and says that it lives; and joins again where it is
        told to."""
        clock = asyncio.get_running_loop().time
        while clock() < until:
            generation = await self._join()
            if generation is None or not await self._share(generation):
                continue
            error = ErrorCode.NONE
            while error is ErrorCode.NONE and clock() < until:
                await asyncio.sleep(HEARTBEAT_S)
                beat = HeartbeatRequest(group=GROUP, generation=generation, member=self.member)
                told = await self._ask(beat)
                assert isinstance(told, HeartbeatResponse)
                error = self._noted(told.error)

    async def leave(self) -> None:
        await self._ask(LeaveGroupRequest(group=GROUP, members=(LeavingMember(id=self.member),)))
        self.member = ""

    async def _join(self) -> int | None:
        request = JoinGroupRequest(
            group=GROUP,
            session_timeout_ms=6000,
            rebalance_timeout_ms=3000,
            member=self.member,
            protocol_type="consumer",
            protocols=PROTOCOLS,
        )
        told = await self._ask(request)
        assert isinstance(told, JoinGroupResponse)
        if self._noted(told.error) not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member = ""
            return None
        self.member = told.member
        return told.generation if told.error is ErrorCode.NONE else None

    async def _share(self, generation: int) -> bool:
        shares = (Share(member=self.member, assignment=b"all"),)
        request = SyncGroupRequest(
            group=GROUP, generation=generation, member=self.member, shares=shares
        )
        told = await self._ask(request)
        assert isinstance(told, SyncGroupResponse)
        return self._noted(told.error) is ErrorCode.NONE

    def _noted(self, error: ErrorCode) -> ErrorCode:
        self.errors.append(error)
        return error

    async def _ask(self, request: Request) -> Response:
        if self.exchange is None:
            self.exchange = await _connection(self.cluster, await _coordinator(self.cluster))
        return await _answer(self.exchange, request)


async def _connection(cluster: SimCluster, node: int) -> Exchange:
    entry = cluster.entries[NodeId(node)]
    loop = asyncio.get_running_loop()
    _, exchange = await loop.create_connection(Exchange, entry.host, entry.port)
    return exchange


async def _answer(exchange: Exchange, request: Request) -> Response:
    header, frame = encode_request(request, correlation_id=1, client_id="client")
    sized = len(frame).to_bytes(4, "big") + frame
    return decode_response(header, await exchange.send(sized, 30.0))


async def _coordinator(cluster: SimCluster) -> int:
    exchange = await _connection(cluster, 1)
    while True:
        told = await _answer(exchange, FindCoordinatorRequest(keys=(GROUP,)))
        assert isinstance(told, FindCoordinatorResponse)
        if told.coordinators[0].error is ErrorCode.NONE:
            return told.coordinators[0].node
        await asyncio.sleep(0.2)


def lived() -> tuple[SimCluster, list[Client]]:
    """One member stays, and another comes and goes; each time all join anew."""
    loop = VirtualLoop()
    clients: list[Client] = []
    clusters: list[SimCluster] = []

    async def story() -> None:
        cluster = SimCluster(
            loop=loop,
            clock=VirtualClock(loop, 1),
            nodes=2,
            seed=1,
            watchdog=Watchdog(lambda: loop.is_signalled),
            settings={"brokers": "3", "controllers": "1"},
        )
        clusters.append(cluster)
        await cluster.create()
        until = loop.time() + WHOLE_S
        staying, coming = Client(cluster), Client(cluster)
        clients.extend((staying, coming))

        async def come_and_go() -> None:
            while loop.time() < until:
                await coming.belong(loop.time() + BELONGING_S)
                await coming.leave()
                await asyncio.sleep(ABSENT_S)

        await asyncio.gather(staying.belong(until), come_and_go())
        await cluster.destroy()

    run(story(), loop)
    return clusters[0], clients


def test_members_of_a_sound_group_are_answered_as_they_should_be() -> None:
    cluster, clients = lived()
    assert cluster.broken_invariant is None
    told = [error for client in clients for error in client.errors]
    assert told.count(ErrorCode.REBALANCE_IN_PROGRESS) >= 3, "there were several generations"
    assert told.count(ErrorCode.NONE) > 30
    for rule in RULES:
        assert cluster.looked_at[rule] > 0


@pytest.mark.parametrize("said", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_member_that_is_disowned_while_others_join_is_seen(
    said: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins anew by that as well, and nothing comes of it."""
    as_it_should = Rebalancing.heartbeat

    def heartbeat(
        rebalancing: Rebalancing, group: Group, request: HeartbeatRequest, now: Now
    ) -> ErrorCode:
        error = as_it_should(rebalancing, group, request, now)
        return said if error is ErrorCode.REBALANCE_IN_PROGRESS else error

    monkeypatch.setattr(Rebalancing, "heartbeat", heartbeat)
    cluster, _ = lived()
    broken = cluster.broken_invariant
    assert broken is not None
    assert broken.invariant == "members-are-not-disowned"
    assert said.name in broken.what


def test_a_member_of_a_generation_that_is_over_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is told nothing of a rebalance goes on by what it was given before."""
    as_it_should = Rebalancing.heartbeat

    def heartbeat(
        rebalancing: Rebalancing, group: Group, request: HeartbeatRequest, now: Now
    ) -> ErrorCode:
        error = as_it_should(rebalancing, group, request, now)
        is_over = error in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
        return ErrorCode.NONE if is_over or error is ErrorCode.REBALANCE_IN_PROGRESS else error

    monkeypatch.setattr(Rebalancing, "heartbeat", heartbeat)
    cluster, _ = lived()
    broken = cluster.broken_invariant
    assert broken is not None
    assert broken.invariant == "one-generation-answers"
