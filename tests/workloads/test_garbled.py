"""A damaged answer is read as a legal one or recorded as malformed; no client ends by it."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from checkers.history.events import MALFORMED, EventType
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_logs import FakeBrokers
from tests.support.garbled import Garbler, Keeper, Read, TappedDriver, read_or_malformed
from tests.support.recorded import ListedHistory
from tests.support.virtual_time import in_virtual_time
from workloads.append import AppendOptions, AppendWorkload
from workloads.connection import ClientEntry, TcpDriver
from workloads.register import RegisterWorkload
from workloads.wire.header import Api
from workloads.workload import RegisterOptions

PassOn = Callable[[Api, bytes, Read], bytes]

REGISTERS = RegisterOptions(concurrency=5, live_keys=4, several_share=0.2, timeout_s=1.0)
LOGS = AppendOptions(
    topics=1,
    partitions=2,
    producers=4,
    consumers=2,
    acks_none_share=0.25,
    record_bytes=64,
    batch_records=3,
    admin_rate=20.0,
    timeout_s=1.0,
    delivery_s=1.0,
)


async def registers(pass_on: PassOn, history: ListedHistory, garbled: str = "") -> None:
    """Until there is also a malformed answer to an operation of each of these kinds."""
    cluster = FakeCluster()
    await cluster.create()
    entries = {int(n): ClientEntry(host=a.host, port=a.port) for n, a in cluster.bootstrap.items()}
    driver = TappedDriver(TcpDriver(entries, history.malformed.append), pass_on)
    workload = RegisterWorkload(driver, history, seed=1, options=REGISTERS)
    try:
        await _until_enough(workload.run, workload.stop, history, garbled)
        await workload.read_all(1.0)
    finally:
        await workload.close()
        await cluster.destroy()


async def logs(pass_on: PassOn, history: ListedHistory, garbled: str = "") -> None:
    """As `registers`."""
    async with FakeBrokers() as brokers:
        driver = TappedDriver(TcpDriver(brokers.entries, history.malformed.append), pass_on)
        workload = AppendWorkload(driver, history, seed=1, options=LOGS)
        try:
            await _until_enough(workload.run, workload.stop, history, garbled)
            await workload.read_all(1.0)
        finally:
            await workload.close()


async def _until_enough(
    run: Callable[[], Awaitable[None]],
    stop: Callable[[], None],
    history: ListedHistory,
    garbled: str,
) -> None:
    """Raises whatever ended a client."""

    def is_enough() -> bool:
        kinds = {each.f for each in history.operations if _is_malformed(each.error)}
        return len(history.operations) >= 600 and kinds.issuperset(garbled.split())

    running = asyncio.ensure_future(run())
    try:
        async with asyncio.timeout(20):
            while not (is_enough() or running.done()):
                await asyncio.sleep(0.01)
        stop()
        await running
    finally:
        running.cancel()


def real_answers() -> dict[Api, dict[int, tuple[bytes, Read]]]:
    keeper = Keeper()

    async def main() -> None:
        await registers(keeper.pass_on, ListedHistory())
        await logs(keeper.pass_on, ListedHistory())

    in_virtual_time(main())
    return keeper.kept


def test_an_answer_damaged_at_any_byte_is_legal_or_malformed() -> None:
    kept = real_answers()
    assert kept.keys() >= {
        Api.PRODUCE,
        Api.FETCH,
        Api.METADATA,
        Api.CREATE_TOPICS,
        Api.DELETE_TOPICS,
        Api.INIT_PRODUCER_ID,
        Api.DESCRIBE_CONFIGS,
        Api.INCREMENTAL_ALTER_CONFIGS,
        Api.DESCRIBE_QUORUM,
    }
    for api, answers in kept.items():
        counts = [read_or_malformed(answer, read) for answer, read in answers.values()]
        legal, malformed = (sum(each) for each in zip(*counts, strict=True))
        assert malformed > legal / 4, (api, legal, malformed)


@pytest.mark.parametrize("seed", range(3))
def test_clients_of_registers_go_on_and_record_each_answer_that_they_cannot_read(seed: int) -> None:
    history = ListedHistory()
    garbler = Garbler(random.Random(seed), 0.2)
    in_virtual_time(registers(garbler.pass_on, history, "read write"))
    _told_as_they_are(history, garbler)
    reads = [each for each in history.of("read", EventType.FAIL) if _is_malformed(each.error)]
    assert reads, "what was read is not known, and nothing was changed"
    writes = [each for each in history.operations if each.f != "read" and _is_malformed(each.error)]
    assert {each.outcome for each in writes} == {EventType.INFO}


@pytest.mark.parametrize("seed", range(3))
def test_clients_of_logs_go_on_and_record_each_answer_that_they_cannot_read(seed: int) -> None:
    history = ListedHistory()
    garbler = Garbler(random.Random(seed), 0.1)
    in_virtual_time(logs(garbler.pass_on, history, "send poll"))
    _told_as_they_are(history, garbler)
    told = [each for each in history.operations if _is_malformed(each.error)]
    assert {
        each.outcome for each in told if each.f in ("send", "create-topic", "delete-topic")
    } == {EventType.INFO}
    assert {each.outcome for each in told if each.f == "poll"} == {EventType.FAIL}


def _told_as_they_are(history: ListedHistory, garbler: Garbler) -> None:
    """Each malformed answer once, those that no operation waited for among them."""
    problems = [f"{MALFORMED}{each.problem}" for each in history.malformed]
    of_operations = [each.error for each in history.operations if _is_malformed(each.error)]
    assert set(of_operations) <= set(problems)
    assert garbler.damaged >= len(history.malformed) > 20
    apis = {each.api for each in history.malformed}
    assert apis & {"DESCRIBE_QUORUM", "METADATA"}


def _is_malformed(error: str | None) -> bool:
    return error is not None and error.startswith(MALFORMED)
