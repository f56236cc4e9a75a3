"""Clients that change voters and ask who votes, as they record it."""

import asyncio

from chaos.probes import driver_for
from checkers.history.events import EventType
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_node import Misbehaviour
from tests.support.recorded import ListedHistory
from tests.support.virtual_time import in_virtual_time
from tests.workloads.test_register import enough
from workloads.connection import ClientEntry
from workloads.membership import MembershipOptions, MembershipWorkload
from workloads.workload import Access

OK, FAIL, INFO = EventType.OK, EventType.FAIL, EventType.INFO
QUICK = MembershipOptions(
    concurrency=2, live_keys=1, timeout_s=30.0, change_interval_s=0.01, describe_interval_s=0.01
)
REACHED = {node: ClientEntry(host=f"node-{node}", port=9100 + node) for node in (1, 2, 3)}


def load(
    *awaited: tuple[str, EventType], how: Misbehaviour = Misbehaviour.NONE
) -> tuple[ListedHistory, FakeCluster, tuple[str, ...]]:
    """Until all these were seen; and what could not be read at the end."""
    history, cluster = ListedHistory(), FakeCluster()

    async def main() -> tuple[str, ...]:
        await cluster.create()
        for fake in cluster.fakes.values():
            fake.misbehaviour = how
        access = Access(driver=driver_for(cluster), reached=REACHED)
        workload = MembershipWorkload(access, history, seed=1, options=QUICK)
        running = asyncio.create_task(workload.run())
        try:
            for f, outcome in awaited:
                await enough(history, f, outcome)
            workload.stop()
            await running
            assert workload.tally.invoked == len(history.operations)
            return await workload.read_all(10.0)
        finally:
            running.cancel()
            await workload.close()
            await cluster.destroy()

    return history, cluster, in_virtual_time(main())


def test_voters_come_and_go_and_every_answer_names_them() -> None:
    history, _, unread = load(("remove-voter", OK), ("add-voter", OK), ("describe-quorum", OK))
    assert unread == ()
    told = history.of("describe-quorum", OK)
    assert all(each.result is not None and each.voters for each in told)
    assert {len(each.voters or ()) for each in told} == {2, 3}  # one of three is away at most
    assert told[-1].phase == "final"


def test_who_does_not_lead_tells_nothing_and_what_is_so_is_refused_by_kafkas_names() -> None:
    history, _, _ = load(("describe-quorum", FAIL), ("add-voter", FAIL))
    refused = {each.error for each in history.of("describe-quorum", FAIL)}
    assert refused == {"NOT_LEADER_OR_FOLLOWER"}
    assert {each.error for each in history.of("add-voter", FAIL)} == {"DUPLICATE_VOTER"}
    assert not any(each.voters for each in history.of("describe-quorum", FAIL))


def test_a_removal_without_an_answer_may_have_happened() -> None:
    history, cluster, _ = load(("remove-voter", INFO), how=Misbehaviour.CLOSE)
    assert not history.of("remove-voter", OK)
    assert len(cluster.registers.voters) >= 2
