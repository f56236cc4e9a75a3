"""The leader of the quorum: every node is asked, the claim with the highest epoch counts.

A leader that was cut off goes on claiming to lead, in its old epoch, until it resigns; only the
comparison of epochs exposes it. One search serves all clients that wait for it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from workloads.connection import Driver
from workloads.survey import Survey
from workloads.wire.describe_quorum import LeaderClaim, describe_quorum, read_quorum_response
from workloads.wire.header import Api

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    node: int
    epoch: int


class LeaderFinder:
    """The last known leader, looked up again after a client met an error with it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._survey = Survey(driver, Api.DESCRIBE_QUORUM, describe_quorum(), read_quorum_response)
        self._search: asyncio.Task[Leader | None] | None = None
        self.current: Leader | None = None

    async def find(self, timeout_s: float) -> Leader | None:
        """Ask all nodes until one claims to lead; None if none did within the time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        pause = _FIRST_PAUSE_S
        while (found := await self._shared_search()) is None and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return found

    async def claims(self) -> dict[int, LeaderClaim]:
        """The current answers, by node."""
        return await self._survey.take()

    async def close(self) -> None:
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait([self._search])
        self._survey.close()

    async def _shared_search(self) -> Leader | None:
        if self._search is None or self._search.done():
            self._search = asyncio.create_task(self._search_once())
        return await asyncio.shield(self._search)

    async def _search_once(self) -> Leader | None:
        claims = await self._survey.take(enough=_leads)
        self.current = newest_leader(claims, self._driver.nodes)
        return self.current


def newest_leader(claims: dict[int, LeaderClaim], nodes: Sequence[int]) -> Leader | None:
    """The leader of the highest epoch that any node claims to lead."""
    leaders = [
        Leader(node=claim.leader, epoch=claim.epoch)
        for claim in claims.values()
        if claim.leader in nodes and claim.leader is not None
    ]
    return max(leaders, key=lambda leader: (leader.epoch, leader.node), default=None)


def _leads(claim: LeaderClaim) -> bool:
    return claim.leader is not None
