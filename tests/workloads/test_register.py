"""What clients record when servers behave, and when they do not."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from checkers.history.events import ACCEPTED, MALFORMED, REFUSED, UNANSWERED, EventType
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_node import Misbehaviour
from tests.support.recorded import ListedHistory
from tests.support.virtual_time import in_virtual_time
from workloads.clients.register_client import Wrong
from workloads.connection import ClientEntry, TcpDriver
from workloads.register import RegisterWorkload
from workloads.workload import RegisterOptions

FAST = RegisterOptions(
    concurrency=4,
    live_keys=2,
    operations_per_key=50,
    delete_share=0.0,
    wide_share=0.0,
    wrong_share=0.0,
    several_share=0.0,
    retry_share=0.0,
    repeat_share=0.0,
    timeout_s=30.0,  # a busy machine is not silence
)
IMPATIENT_S = 0.2  # of clients whose servers say nothing
PATIENCE_S = 60.0  # for what comes sooner or later
RICH = replace(
    FAST,
    live_keys=4,
    operations_per_key=200,
    delete_share=0.2,
    wrong_share=0.3,
    several_share=0.3,
    repeat_share=0.1,
)

OK = EventType.OK

Act = Callable[[FakeCluster, RegisterWorkload, ListedHistory], Awaitable[None]]


async def enough(history: ListedHistory, f: str, outcome: EventType, count: int = 5) -> None:
    """Wait until so many operations ended so."""
    async with asyncio.timeout(PATIENCE_S):
        while len(history.of(f, outcome)) < count:
            await asyncio.sleep(0.005)


def load(act: Act, options: RegisterOptions = FAST) -> ListedHistory:
    """Run the workload against a fake cluster while `act` goes on; then stop it."""
    history = ListedHistory()

    async def main() -> None:
        cluster = FakeCluster()
        await cluster.create()
        driver = TcpDriver(
            {n: ClientEntry(host=a.host, port=a.port) for n, a in cluster.bootstrap.items()},
            history.malformed.append,
        )
        workload = RegisterWorkload(driver, history, seed=1, options=options)
        running = asyncio.create_task(workload.run())
        try:
            await act(cluster, workload, history)
            workload.stop()
            await running
        finally:
            running.cancel()
            await workload.close()
            await cluster.destroy()

    in_virtual_time(main())
    return history


def misbehaving(
    misbehaviour: Misbehaviour, outcome: EventType, options: RegisterOptions = FAST
) -> ListedHistory:
    async def act(cluster: FakeCluster, _: RegisterWorkload, history: ListedHistory) -> None:
        for fake in cluster.fakes.values():
            fake.misbehaviour = misbehaviour
        await enough(history, "write", outcome, 20 if options is RICH else 5)

    if misbehaviour is Misbehaviour.SILENCE:
        options = replace(options, timeout_s=IMPATIENT_S)
    return load(act, options)


def test_every_write_has_a_value_of_its_own_and_reads_see_written_ones() -> None:
    async def act(_: FakeCluster, workload: RegisterWorkload, history: ListedHistory) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(workload.keys) < 8:
                await asyncio.sleep(0.01)
        await enough(history, "read", EventType.OK, 100)

    history = load(act)
    written = [(each.key, each.value) for each in history.operations if each.f == "write"]
    assert len(set(written)) == len(written) > 100
    assert all(value is not None and 100 <= value <= 3_600_000 for _, value in written)
    read = [each for each in history.of("read", EventType.OK) if each.result is not None]
    assert {(each.key, each.result) for each in read} <= set(written)
    assert not history.retired


@pytest.mark.parametrize(
    "misbehaviour",
    [
        Misbehaviour.CLOSE,
        Misbehaviour.SILENCE,
        Misbehaviour.NOT_CONTROLLER,
        Misbehaviour.GARBAGE,
    ],
)
def test_a_write_that_was_sent_and_not_refused_for_sure_is_info(misbehaviour: Misbehaviour) -> None:
    """All of these servers did execute the write: a `fail` would be a lie."""
    history = misbehaving(misbehaviour, EventType.INFO)
    assert not history.of("write", EventType.OK)
    assert not [each for each in history.of("write", EventType.FAIL) if each.node != -1]
    assert len(history.retired) == len(history.of("write", EventType.INFO))


@pytest.mark.parametrize(
    "misbehaviour", [Misbehaviour.CLOSE, Misbehaviour.SILENCE, Misbehaviour.NOT_CONTROLLER]
)
def test_of_a_wrong_write_it_is_known_that_it_was_wrong(misbehaviour: Misbehaviour) -> None:
    """Also where a leader that loses its office answers for all keys of a request alike: the wrong
    one among them was never to be done, and the others may have been."""
    history = misbehaving(misbehaviour, EventType.INFO, replace(FAST, wrong_share=1.0))
    errors = [str(each.error) for each in history.of("write", EventType.INFO)]
    assert all(error.startswith(UNANSWERED) for error in errors), errors


def test_a_write_that_was_found_wanting_fails() -> None:
    history = misbehaving(Misbehaviour.REFUSE, EventType.FAIL)
    assert not history.of("write", EventType.INFO)
    assert {each.error for each in history.of("write", EventType.FAIL)} == {"error-40"}


def test_nothing_listens_then_nothing_happened() -> None:
    async def act(cluster: FakeCluster, _: RegisterWorkload, history: ListedHistory) -> None:
        await enough(history, "write", EventType.OK)
        for fake in cluster.fakes.values():
            await fake.stop()
        before = len(history.of("write", EventType.INFO))
        await enough(history, "write", EventType.FAIL, 2)
        assert len(history.of("write", EventType.INFO)) - before <= FAST.concurrency

    history = load(act)
    reasons = [str(each.error) for each in history.of("write", EventType.FAIL)]
    assert "no leader found" in reasons
    assert all("no leader" in reason or "no connection" in reason for reason in reasons)


def test_reads_that_err_fail_and_nobody_retires() -> None:
    async def act(cluster: FakeCluster, _: RegisterWorkload, history: ListedHistory) -> None:
        await enough(history, "read", EventType.OK)
        cluster.registers.leader = None
        await enough(history, "read", EventType.FAIL)

    history = load(act)
    assert not history.of("read", EventType.INFO)


def test_clients_follow_a_new_leader_and_the_wanderer_asks_everybody() -> None:
    async def act(cluster: FakeCluster, _: RegisterWorkload, history: ListedHistory) -> None:
        await enough(history, "write", EventType.OK)
        await cluster.kill(cluster.nodes[0])
        seen = len(history.operations)
        async with asyncio.timeout(PATIENCE_S):
            while not (
                any(
                    each.f == "write" and each.outcome is EventType.OK
                    for each in history.operations[seen:]
                )
                and {1, 2, 3} <= {each.node for each in history.operations}
            ):
                await asyncio.sleep(0.01)

    history = load(act)
    assert {each.node for each in history.of("write", EventType.OK)} == {1, 2}


def test_final_reads_find_every_key_by_fresh_processes() -> None:
    seen: list[int] = []

    async def act(_: FakeCluster, workload: RegisterWorkload, history: ListedHistory) -> None:
        await enough(history, "write", EventType.OK, 100)
        workload.stop()
        seen.extend({each.process for each in history.operations})
        assert await workload.read_all(5) == ()

    history = load(act)
    final = [each for each in history.operations if each.phase == "final"]
    assert {each.key for each in final} == {each.key for each in history.operations}
    assert not {each.process for each in final} & set(seen)
    last = {each.key: each.result for each in final}
    writes = history.of("write", EventType.OK)
    for key, value in last.items():
        assert value in {each.value for each in writes if each.key == key} | {None}


def test_final_reads_end_and_say_what_could_not_be_read() -> None:
    async def act(cluster: FakeCluster, workload: RegisterWorkload, history: ListedHistory) -> None:
        await enough(history, "write", EventType.OK)
        workload.stop()
        for fake in cluster.fakes.values():
            await fake.stop()
        assert await workload.read_all(0.3) == workload.keys

    load(act)


def test_a_rate_is_kept() -> None:
    """80 a second, 20 more of the wanderer, and those of a second that were not in time."""

    async def act(_: FakeCluster, __: RegisterWorkload, history: ListedHistory) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await many(history, 200)
        assert loop.time() - began >= 200 / 100 - 1.1

    load(act, replace(FAST, rate=80))


async def many(history: ListedHistory, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(history.operations) < count:
            await asyncio.sleep(0.01)


async def a_lot(_: FakeCluster, __: RegisterWorkload, history: ListedHistory) -> None:
    await many(history, 1500)


def test_every_kind_of_operation_comes_and_a_read_finds_nothing_behind_a_delete() -> None:
    history = load(a_lot, RICH)
    assert not history.retired
    assert len(history.of("delete", EventType.OK)) > 20
    deleted = {each.key for each in history.of("delete", EventType.OK)}
    assert any(each.result is None and each.key in deleted for each in history.of("read", OK))
    assert {each.value for each in history.of("delete", EventType.OK)} == {None}


def test_what_must_be_refused_is_told_with_its_reason_and_nobody_reads_its_value() -> None:
    history = load(a_lot, RICH)
    refused = history.of("write", EventType.FAIL)
    assert all(str(each.error).startswith(REFUSED) for each in refused)
    assert {str(each.error).removeprefix(REFUSED).split(" (")[0] for each in refused} == {
        wrong.value for wrong in Wrong if wrong is not Wrong.NULL
    }
    never = {(each.key, each.value) for each in refused}
    assert not never & {(each.key, each.result) for each in history.of("read", OK)}
    deletions = {str(each.error).split(" (")[0] for each in history.of("delete", EventType.FAIL)}
    assert deletions == {f"{REFUSED}{Wrong.NULL.value}"}


def test_a_request_names_each_register_once_and_each_is_an_operation_of_its_own_process() -> None:
    history = load(a_lot, RICH)
    requests = defaultdict(list)
    for each in history.operations:
        if each.request is not None:
            requests[each.request].append(each)
    whole = [each for each in requests.values() if all(one.outcome for one in each)]
    assert len(whole) > 50
    for operations in whole:
        assert 2 <= len(operations) <= RICH.most_in_request
        assert len({each.key for each in operations}) == len(operations)
        assert len({each.process for each in operations}) == len(operations)
        assert {each.f for each in operations} <= {"write", "delete"} or {
            each.f for each in operations
        } == {"read"}
    mixed = [each for each in whole if len({one.outcome for one in each}) > 1]
    assert mixed, "one that is refused keeps no other of its request from happening"


def test_some_values_take_pages_and_are_read_as_what_they_are() -> None:
    taken: list[str] = []

    async def act(cluster: FakeCluster, workload: RegisterWorkload, history: ListedHistory) -> None:
        await a_lot(cluster, workload, history)
        taken.extend(cluster.registers.values.values())

    history = load(act, replace(FAST, wide_share=0.5))
    assert {len(value) > 8192 for value in taken} == {True, False}
    written = {(each.key, each.value) for each in history.operations if each.f == "write"}
    read = [each for each in history.of("read", OK) if each.result is not None]
    assert {(each.key, each.result) for each in read} <= written


def test_a_write_is_repeated_with_its_value() -> None:
    history = load(a_lot, RICH)
    written = Counter((each.key, each.value) for each in history.of("write", OK))
    assert 5 < sum(times - 1 for times in written.values()) < len(written) / 2


def test_a_write_in_doubt_is_sent_again_by_another_process() -> None:
    history = misbehaving(Misbehaviour.CLOSE, EventType.INFO, replace(FAST, retry_share=0.9))
    written = defaultdict(set)
    for each in history.of("write", EventType.INFO):
        written[each.key, each.value].add(each.process)
    assert any(len(processes) > 1 for processes in written.values())


def test_what_must_be_refused_and_is_not_is_in_doubt_and_told() -> None:
    history = misbehaving(Misbehaviour.LENIENT, EventType.INFO, RICH)
    assert all(str(each.error).startswith(ACCEPTED) for each in history.of("write", EventType.INFO))


def test_a_config_that_is_set_to_null_is_deleted_where_that_is_not_refused() -> None:
    history = misbehaving(Misbehaviour.LENIENT, EventType.INFO, RICH)
    null = f"{ACCEPTED}{Wrong.NULL.value}"
    assert {each.f for each in history.operations if each.error == null} == {"delete"}


def test_whoever_gets_a_malformed_answer_says_so_and_it_is_counted() -> None:
    history = misbehaving(Misbehaviour.GARBAGE, EventType.INFO)
    assert all(
        str(each.error).startswith(MALFORMED) for each in history.of("write", EventType.INFO)
    )
    assert len(history.malformed) >= len(history.of("write", EventType.INFO))
    assert {each.api for each in history.malformed} == {"INCREMENTAL_ALTER_CONFIGS"}
    assert {each.head for each in history.malformed}.pop().endswith(b"\xff\xff")
