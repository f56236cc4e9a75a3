"""What clients of logs record when brokers behave, and when they do not."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode

from checkers.history.events import NOT_SENT, EventType
from tests.support.fake_log import FINE, Ending, Fate
from tests.support.fake_logs import FakeBrokers
from tests.support.recorded import ListedHistory, Operation
from tests.support.virtual_time import in_virtual_time
from workloads.append import AppendOptions, AppendWorkload
from workloads.clients.administering import NoTopicsError
from workloads.connection import TcpDriver
from workloads.wire.batch import read_batches

FAST = AppendOptions(
    topics=1,
    partitions=2,
    producers=4,
    consumers=1,
    acks_none_share=0,
    acks_leader_share=0,
    idempotent_share=0,
    record_bytes=64,
    rate=400,
    admin_rate=0,
    timeout_s=30.0,
    delivery_s=30.0,
)
IMPATIENT = replace(FAST, timeout_s=0.2, delivery_s=0.6)
IDEMPOTENT = replace(FAST, idempotent_share=1)

Act = Callable[[FakeBrokers, AppendWorkload, ListedHistory], Awaitable[None]]


async def enough(
    history: ListedHistory, f: str, outcome: EventType | None = None, count: int = 10
) -> None:
    """Wait until so many operations ended so."""
    async with asyncio.timeout(60):
        while len(history.of(f, outcome)) < count:
            await asyncio.sleep(0.005)


def load(
    act: Act, options: AppendOptions = FAST, *, within_s: float = 10.0
) -> tuple[ListedHistory, FakeBrokers, tuple[str, ...]]:
    """Run the workload against fake brokers while `act` goes on; stop it, and read all."""
    history = ListedHistory()
    brokers = FakeBrokers()

    async def main() -> tuple[str, ...]:
        async with brokers:
            workload = AppendWorkload(TcpDriver(brokers.entries), history, seed=1, options=options)
            running = asyncio.create_task(workload.run())
            try:
                await act(brokers, workload, history)
                workload.stop()
                await running
                return await workload.read_all(within_s)
            finally:
                running.cancel()
                await workload.close()

    return history, brokers, in_virtual_time(main())


def held(brokers: FakeBrokers) -> dict[tuple[str, int], int]:
    """What the logs hold: value by key and offset."""
    return {
        (f"{topic}-{index}", span.offset + each): span.value + each
        for (topic, index), log in brokers.logs.items()
        for span in read_batches(b"".join(log.batches), 0)
        for each in range(span.records)
    }


def told(operation: Operation) -> dict[tuple[str, int], int]:
    """What an operation says that logs hold."""
    return {
        (span.key, span.offset + each): span.value + each
        for span in operation.told
        if span.offset is not None
        for each in range(span.records)
    }


def all_sent(history: ListedHistory) -> list[int]:
    return [value for operation in history.of("send") for value in operation.values]


async def some_sends(_: FakeBrokers, __: AppendWorkload, history: ListedHistory) -> None:
    await enough(history, "send", EventType.OK, 60)
    await enough(history, "poll", EventType.OK, 3)


def with_fate(fate: Fate, outcome: EventType, count: int = 10) -> Act:
    """Some sends go well; then each meets its fate."""

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "send", EventType.OK)
        brokers.on_produce = lambda _: fate
        await enough(history, "send", outcome, count)
        brokers.on_produce = lambda _: FINE

    return act


@pytest.mark.parametrize("records", [1, 7, 100])
def test_what_is_recorded_is_what_the_logs_hold(records: int) -> None:
    history, brokers, short = load(some_sends, replace(FAST, batch_records=records, rate=200))
    assert short == ()
    truth = held(brokers)
    sends = history.of("send", EventType.OK)
    assert len(sends) == len(history.of("send")) >= 60
    assert {key: value for send in sends for key, value in told(send).items()} == truth
    for poll in history.of("poll", EventType.OK):
        assert told(poll).items() <= truth.items()
        assert all((span.high_watermark or 0) > (span.offset or 0) for span in poll.told)
        assert all(span.epoch == 0 for span in poll.told)
    final = [each for each in history.of("poll", EventType.OK) if each.phase == "final"]
    assert {key: value for poll in final for key, value in told(poll).items()} == truth
    assert not history.retired


def test_values_are_never_sent_twice_by_two_operations() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        fates = [FINE, Fate(ending=Ending.CLOSE), Fate(appends=False, ending=Ending.SILENCE)]
        brokers.on_produce = lambda _: fates[len(brokers.produced) % 3]
        await enough(history, "send", EventType.INFO, 20)

    history, _, _ = load(act, replace(IMPATIENT, batch_records=3))
    sent = all_sent(history)
    assert len(sent) == len(set(sent)) >= 60
    assert len(history.retired) == len(history.of("send", EventType.INFO))


@pytest.mark.parametrize("appends", [True, False])
@pytest.mark.parametrize(
    "fate",
    [
        Fate(ending=Ending.CLOSE),
        Fate(ending=Ending.SILENCE),
        Fate(ending=Ending.GARBAGE),
        Fate(error=ErrorCode.request_timed_out),
        Fate(error=ErrorCode.not_enough_replicas_after_append),
        Fate(error=ErrorCode.kafka_storage_error, tells_offset=False),
        Fate(error=ErrorCode.unknown_server_error, tells_offset=False),
    ],
)
def test_a_send_that_was_not_refused_for_sure_is_info(fate: Fate, appends: bool) -> None:
    history, brokers, short = load(
        with_fate(replace(fate, appends=appends), EventType.INFO), IMPATIENT
    )
    assert short == ()
    assert not [each for each in history.of("send", EventType.FAIL) if each.node != -1]
    failed = {value for each in history.of("send", EventType.FAIL) for value in each.values}
    assert not failed & set(held(brokers).values())


@pytest.mark.parametrize(
    "error", [ErrorCode.not_leader_or_follower, ErrorCode.unknown_topic_or_partition]
)
def test_an_error_after_the_append_is_told_from_one_before_it(error: ErrorCode) -> None:
    """A leader that is deposed while it waits for its replicas answers both in the same words."""
    after = with_fate(Fate(error=error), EventType.INFO)
    history, brokers, _ = load(after)
    in_doubt = {value for each in history.of("send", EventType.INFO) for value in each.values}
    assert in_doubt <= set(held(brokers).values())
    before = with_fate(Fate(error=error, appends=False), EventType.FAIL)
    history, brokers, _ = load(before)
    assert not history.of("send", EventType.INFO)
    failed = {value for each in history.of("send", EventType.FAIL) for value in each.values}
    assert failed.isdisjoint(held(brokers).values())
    assert not history.retired


def test_idempotent_producers_send_the_same_batch_until_it_is_acknowledged() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        fates = [Fate(ending=Ending.CLOSE), Fate(appends=False, ending=Ending.CLOSE), FINE]
        brokers.on_produce = lambda _: fates[len(brokers.produced) % 3]
        await enough(history, "send", EventType.OK, 40)

    history, brokers, short = load(act, IDEMPOTENT)
    assert short == ()
    values = list(held(brokers).values())
    assert len(values) == len(set(values)), "a batch that was sent again is there once"
    acknowledged = {key: value for each in history.of("send") for key, value in told(each).items()}
    assert acknowledged.items() <= held(brokers).items()
    assert len(brokers.produced) > len(history.of("send"))


def test_an_idempotent_send_in_doubt_stays_in_doubt_whatever_follows() -> None:
    """Appended, not answered; what a later attempt is refused for does not undo it."""

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "send", EventType.OK)
        seen: set[bytes] = set()

        def fate(_: int) -> Fate:
            batch = brokers.produced[-1]
            if batch in seen:
                return Fate(error=ErrorCode.not_enough_replicas, appends=False)
            seen.add(batch)
            return Fate(ending=Ending.CLOSE)

        brokers.on_produce = fate
        await enough(history, "send", EventType.INFO, 4)
        brokers.on_produce = lambda _: FINE

    history, brokers, _ = load(act, replace(IDEMPOTENT, delivery_s=0.6))
    assert not [each for each in history.of("send", EventType.FAIL) if each.node != -1]
    in_doubt = {value for each in history.of("send", EventType.INFO) for value in each.values}
    assert in_doubt <= set(held(brokers).values())


def test_sends_without_acks_end_well_and_are_promised_nothing() -> None:
    history, _, short = load(some_sends, replace(FAST, acks_none_share=1))
    assert short == ()
    sends = history.of("send", EventType.OK)
    assert all(each.acks == 0 for each in sends)
    assert all(span.offset is None for each in sends for span in each.told)


def test_partitions_of_few_records_stand_still_while_the_first_goes_on() -> None:
    options = replace(FAST, partitions=4, most_each=3)
    _, brokers, unread = load(some_sends, options)
    sent = Counter(key for key, _ in held(brokers))
    first, *others = (each.key for each in options.all_partitions())
    assert [sent[key] for key in others] == [3, 3, 3]
    assert sent[first] > 3
    assert unread == ()


def test_idle_partitions_are_made_and_left_alone() -> None:
    options = replace(FAST, idle_partitions=30)
    history, brokers, unread = load(some_sends, options)
    idle = [(topic, index) for topic, index in brokers.logs if topic == "append-idle"]
    assert sorted(index for _, index in idle) == [*range(30)]
    assert {key for key, _ in held(brokers)} == {each.key for each in options.all_partitions()}
    assert all(not each.key.startswith("append-idle-") for each in history.of("poll"))
    assert unread == ()


def test_clients_follow_new_leaders() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "send", EventType.OK)
        brokers.move_leaders(to=3)
        before = len(history.of("send", EventType.OK))
        await enough(history, "send", EventType.OK, before + 20)
        await enough(history, "poll", EventType.OK, len(history.of("poll", EventType.OK)) + 3)

    history, _, short = load(act)
    assert short == ()
    assert {each.node for each in history.of("send", EventType.OK)[-10:]} == {3}
    assert {span.epoch for each in history.of("poll") for span in each.told} == {0, 1}
    assert not history.of("send", EventType.INFO)


def test_a_damaged_record_is_nobodys() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await some_sends(brokers, _, history)
        brokers.logs["append-0", 0].damage(0)

    history, _, short = load(act)
    assert short == ()
    final = [each for each in history.of("poll") if each.phase == "final"]
    nobodys = [span for each in final for span in each.told if span.value == NOT_SENT]
    assert [(span.key, span.offset, span.records) for span in nobodys] == [("append-0-0", 0, 1)]


def test_final_reads_go_on_until_they_have_seen_what_anybody_saw() -> None:
    """The partition is refused at first, and comes back."""

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await some_sends(brokers, _, history)
        brokers.refuses_fetch.add(("append-0", 1))
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, brokers.refuses_fetch.clear)

    history, brokers, short = load(act)
    assert short == ()
    final = [each for each in history.of("poll") if each.phase == "final"]
    refused = [each for each in final if each.outcome is EventType.FAIL]
    assert {each.error for each in refused} == {"NOT_LEADER_OR_FOLLOWER"}
    seen = {key: value for each in final for key, value in told(each).items()}
    assert seen == held(brokers)


def test_what_was_acknowledged_and_is_gone_is_said_in_words() -> None:
    async def act(brokers: FakeBrokers, workload: AppendWorkload, history: ListedHistory) -> None:
        await some_sends(brokers, workload, history)
        workload.stop()
        async with asyncio.timeout(60):
            while any(each.outcome is None for each in history.operations):
                await asyncio.sleep(0.01)
        del brokers.logs["append-0", 0].batches[-3:]

    _, brokers, short = load(act, within_s=0.5)
    end = brokers.logs["append-0", 0].end
    assert short == (f"append-0-0 was read up to offset {end} of {end + 3} (its log ends there)",)


def test_a_consumer_whose_position_is_gone_takes_it_up_anew() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await some_sends(brokers, _, history)
        brokers.on_produce = lambda _: Fate(appends=False, error=ErrorCode.not_enough_replicas)
        for log in brokers.logs.values():
            log.batches.clear()
        await enough(history, "poll", EventType.FAIL, 1)
        brokers.on_produce = lambda _: FINE
        await enough(history, "poll", EventType.OK, len(history.of("poll", EventType.OK)) + 5)

    history, _, _ = load(act, within_s=0.2)
    reading = [each for each in history.operations if each.f in ("poll", "assign")]
    gone = [at for at, each in enumerate(reading) if each.error == "OFFSET_OUT_OF_RANGE"]
    assert gone
    for at in gone:
        assert (reading[at + 1].f, reading[at + 1].key) == ("assign", reading[at].key)


def test_topics_come_and_go() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "delete-topic", EventType.OK, 3)
        brokers.on_create = ErrorCode.request_timed_out
        await enough(history, "create-topic", EventType.INFO, 2)
        brokers.on_create = ErrorCode.invalid_replication_factor
        await enough(history, "create-topic", EventType.FAIL, 2)

    history, brokers, _ = load(act, replace(FAST, admin_rate=200))
    created = [each.key for each in history.of("create-topic")]
    assert len(set(created)) == len(created)
    there = {each.key for each in history.of("create-topic", EventType.OK)}
    there -= {each.key for each in history.of("delete-topic", EventType.OK)}
    assert there == set(brokers.topics)


def test_topics_that_cannot_be_had_end_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.append._TOPICS_WITHIN_S", 0.5)
    brokers = FakeBrokers()
    brokers.on_create = ErrorCode.invalid_replication_factor

    async def main() -> None:
        async with brokers:
            workload = AppendWorkload(
                TcpDriver(brokers.entries), ListedHistory(), seed=1, options=FAST
            )
            try:
                await workload.run()
            finally:
                await workload.close()

    with pytest.raises(NoTopicsError, match=r"INVALID_REPLICATION_FACTOR.*as many brokers run"):
        in_virtual_time(main())


def test_nothing_listens_then_nothing_happened() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "send", EventType.OK)
        for node in (1, 2, 3):
            brokers.stop(node)
        in_flight = len(history.of("send", EventType.INFO)) + FAST.producers
        await enough(history, "send", EventType.FAIL, 4)
        assert len(history.of("send", EventType.INFO)) <= in_flight
        for node in (1, 2, 3):
            await brokers.start(node)
        await enough(history, "send", EventType.OK, len(history.of("send", EventType.OK)) + 5)

    history, _, short = load(act)
    assert short == ()
    reasons = [str(each.error) for each in history.of("send", EventType.FAIL)]
    assert all("no leader" in reason or "no connection" in reason for reason in reasons)


def test_the_workload_ends_by_itself_after_so_many_sends() -> None:
    async def act(_: FakeBrokers, workload: AppendWorkload, __: ListedHistory) -> None:
        async with asyncio.timeout(60):
            while not workload.is_over:
                await asyncio.sleep(0.01)

    history, _, _ = load(act, replace(FAST, most_operations=50))
    assert len(history.of("send")) == 50
