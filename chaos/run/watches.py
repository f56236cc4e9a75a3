"""Probes of the quorum and of partitions during a run, each of them recorded."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chaos.cluster.interface import Cluster, NodeId
from chaos.nemesis.awaited import Condition, Sight, Whole, lacking
from chaos.probes import driver_for
from chaos.recorder import Clock, EventFields, Recorder
from workloads.connection import Driver
from workloads.leader import LeaderFinder, Survey
from workloads.operator import voters_of
from workloads.wire.describe_quorum import LeaderClaim
from workloads.wire.header import Api
from workloads.wire.topic_partitions import (
    PartitionClaim,
    describe_topic_partitions,
    read_partitions,
)
from workloads.workload import Workload

_PAUSE_S = 0.1
_SAMPLE_S = 0.5


@dataclass(slots=True)
class LookCount:
    """The number of probes, and the longest time between two, in ns."""

    count: int = 0
    longest_gap_ns: int = 0
    _last_ns: int | None = None

    def add(self, now_ns: int) -> None:
        self.count += 1
        if self._last_ns is not None:
            self.longest_gap_ns = max(self.longest_gap_ns, now_ns - self._last_ns)
        self._last_ns = now_ns

    def as_json(self) -> dict[str, int]:
        return {"looked": self.count, "longest_gap_ms": self.longest_gap_ns // 1_000_000}


class QuorumAnswers:
    """Records controllers' answers to DescribeQuorum, to any client."""

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock

    def now_ns(self) -> int:
        return self._clock.now_ns()

    def add(self, asked_ns: int, claims: Mapping[int, LeaderClaim]) -> None:
        """All current answers to one request, of nodes that claim to lead."""
        answered_ns = self._clock.now_ns()
        for node, claim in claims.items():
            if claim.leader is not None:
                self._recorder.probe(_quorum_row(asked_ns, answered_ns, node, claim))


class QuorumWatch:
    """Records controllers' answers periodically: for nodes without traces the judge sees the
    quorum's course only by these."""

    def __init__(self, driver: Driver, recorder: Recorder, clock: Clock) -> None:
        self._finder = LeaderFinder(driver)
        self._answers = QuorumAnswers(recorder, clock)
        self.looks = LookCount()

    async def sample(self) -> None:
        """Until cancelled."""
        while True:
            asked_ns = self._answers.now_ns()
            self.looks.add(asked_ns)
            self._answers.add(asked_ns, await self._finder.claims())
            await asyncio.sleep(_SAMPLE_S)

    async def close(self) -> None:
        await self._finder.close()


class PartitionWatch:
    """Asks all brokers for the partitions of some topics; records every answer."""

    def __init__(
        self,
        cluster: Cluster,
        brokers: Sequence[NodeId],
        topics: Sequence[str],
        *,
        workload: Workload,
        recorder: Recorder,
        clock: Clock,
    ) -> None:
        self._survey = Survey(
            driver_for(cluster, brokers, recorder.malformed),
            Api.DESCRIBE_TOPIC_PARTITIONS,
            describe_topic_partitions(),
            read_partitions,
        )
        self._brokers = tuple(map(int, brokers))
        self._topics = frozenset(topics)
        self._asking = asyncio.Lock()
        self._workload = workload
        self._recorder = recorder
        self._clock = clock
        self.looks = LookCount()

    async def look(self) -> Sight:
        """The state of the partitions, by answers after this call."""
        async with self._asking:  # a connection carries one request at a time
            asked_ns = self._clock.now_ns()
            self.looks.add(asked_ns)
            answers = await self._survey.take()
        answered_ns = self._clock.now_ns()
        claims = {node: self._known(answer) for node, answer in answers.items()}
        for node, told in claims.items():
            for claim in told:
                self._recorder.probe(_row(asked_ns, answered_ns, node, claim))
        return Sight(
            claims=claims,
            acknowledged=self._workload.acknowledged_writes,
            committed=self._workload.committed_transactions,
        )

    def _known(self, answer: Iterable[PartitionClaim]) -> tuple[PartitionClaim, ...]:
        return tuple(claim for claim in answer if claim.topic in self._topics)

    async def sample(self) -> None:
        """Probe periodically, until cancelled: the judge sees the ISR's course only by this."""
        while True:
            await self.look()
            await asyncio.sleep(_SAMPLE_S)

    async def wait_until_whole(self, within_s: float) -> str:
        """Wait until every broker reports every replica in sync: "", or what was lacking when the
        time was over."""
        if await self.wait_for(Whole(len(self._brokers)), within_s):
            return ""
        return lacking(await self.look(), self._brokers)

    async def wait_for(self, condition: Condition, within_s: float) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while not condition.holds(await self.look()):
            if loop.time() > deadline:
                return False
            await asyncio.sleep(_PAUSE_S)
        return True

    def close(self) -> None:
        self._survey.close()


def _quorum_row(asked_ns: int, answered_ns: int, node: int, claim: LeaderClaim) -> EventFields:
    return {
        "t0": asked_ns,
        "t1": answered_ns,
        "node": node,
        "kind": "quorum",
        "key": "__cluster_metadata-0",
        "leader": claim.leader,
        "epoch": claim.epoch,
        "high_watermark": claim.high_watermark,
        "detail": json.dumps(
            {
                "voters": [str(voter) for voter in voters_of(claim)],
                "ends": {
                    f"{voter.node}:{voter.directory_id}": voter.log_end
                    for voter in claim.voters
                    if voter.log_end >= 0
                },
            }
        ),
    }


def _row(asked_ns: int, answered_ns: int, node: int, claim: PartitionClaim) -> EventFields:
    return {
        "t0": asked_ns,
        "t1": answered_ns,
        "node": node,
        "kind": "partition",
        "key": claim.key,
        "leader": claim.leader,
        "epoch": claim.epoch,
        "isr": list(claim.isr),
        "elr": list(claim.elr),
        "last_known_elr": list(claim.last_known_elr),
    }
