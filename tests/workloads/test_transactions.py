"""Producers of transactions against brokers in this process: what is left open, and committed."""

import asyncio
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode

from checkers.history.events import EventType
from checkers.log.looked_up import STANDS_FOR_S as JUDGED_S
from tests.support.fake_logs import FakeBrokers
from tests.support.recorded import ListedHistory
from tests.workloads.test_append import FAST, enough, load, some_sends
from workloads.append import AppendWorkload
from workloads.clients.transactions import STANDS_FOR_S

TRANSACTIONAL = replace(FAST, partitions=1, idempotent_share=1, transactional=True)


def test_what_transactional_producers_leave_open_is_ended_after_the_final_reads() -> None:
    history, brokers, short = load(some_sends, TRANSACTIONAL)
    assert short == ()
    assert brokers.open_transactions == {}
    ended = history.of("init-transactions", EventType.OK)
    assert [one.key for one in ended] == [f"append-{n}" for n in range(FAST.producers)]
    last = history.operations[-1]
    assert (last.f, last.key, last.phase) == ("committed-end", "append-0-0", "final")
    assert last.result == brokers.logs["append-0", 0].end


def test_a_producer_commits_after_its_sends_and_waits_until_its_coordinator_calls_that_over() -> (
    None
):
    async def act(brokers: FakeBrokers, workload: AppendWorkload, history: ListedHistory) -> None:
        brokers.telling = 4
        await enough(history, "commit", EventType.OK, FAST.producers)
        while workload.committed_transactions < FAST.producers:
            await asyncio.sleep(0.01)

    history, brokers, short = load(act, replace(TRANSACTIONAL, commit_after=5))
    assert short == ()
    assert set(brokers.states.values()) == {"CompleteCommit"}
    assert len(history.of("send", EventType.OK)) == 5 * FAST.producers
    assert [one.phase for one in history.of("commit")] == ["main"] * FAST.producers
    told = history.of("is-committed", EventType.OK)
    assert [one.result for one in told].count(0) >= 1
    assert [one.result for one in told if one.phase == "final"] == [1] * FAST.producers
    last = [one.f for one in history.operations if one.phase == "final" and one.f != "poll"]
    assert last.index("is-committed") < last.index("init-transactions")


def test_transactions_that_are_committed_have_the_first_of_several_partitions_alone() -> None:
    async def act(_: FakeBrokers, workload: AppendWorkload, history: ListedHistory) -> None:
        while workload.committed_transactions < 2:
            await asyncio.sleep(0.01)
        await enough(history, "send", EventType.OK, 40)

    mixed = replace(FAST, partitions=2, producers=4, acks_none_share=0, acks_leader_share=0)
    options = replace(mixed, idempotent_share=0.5, transactional=True, commit_after=5)
    history, _, short = load(act, options)
    assert short == ()
    sent = [one.key for one in history.of("send", EventType.OK)]
    assert sent.count("append-0-0") == 2 * 5
    assert sent.count("append-0-1") == len(sent) - 10 >= 30


def test_of_a_transactional_id_that_its_coordinator_forgot_nothing_is_committed() -> None:
    history, _, short = load(some_sends, TRANSACTIONAL)
    assert short == ()
    told = history.of("is-committed", EventType.OK)
    assert [(one.phase, one.result) for one in told] == [("final", 0)] * FAST.producers


def test_a_log_whose_transactions_nobody_ends_is_asked_for_longer_than_the_judge_wants() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "send", EventType.OK, 20)
        brokers.forgets_transactions = True

    history, _, short = load(act, TRANSACTIONAL)
    assert short == ()
    told = [one.result for one in history.of("committed-end", EventType.OK)]
    assert len(told) > 1
    assert set(told) == {0}
    assert STANDS_FOR_S > JUDGED_S


def test_a_commit_that_is_refused_is_asked_for_until_the_end_and_counts_for_nothing() -> None:
    async def act(brokers: FakeBrokers, workload: AppendWorkload, history: ListedHistory) -> None:
        brokers.on_commit = ErrorCode.invalid_producer_epoch
        await enough(history, "commit", EventType.INFO, 2 * FAST.producers)
        assert workload.committed_transactions == 0

    history, brokers, short = load(act, replace(TRANSACTIONAL, commit_after=5))
    assert short == ()
    assert history.of("commit", EventType.OK) == []
    assert {one.error for one in history.of("commit", EventType.INFO)} == {"INVALID_PRODUCER_EPOCH"}
    assert brokers.open_transactions == {}, "ended by whoever initialised the ids"


def test_a_coordinator_that_does_not_describe_is_no_reason_to_leave_transactions_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workloads.clients.transactions._DESCRIBED_WITHIN_S", 0.3)

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        brokers.describes = False
        await enough(history, "send", EventType.OK, 60)

    history, brokers, short = load(act, TRANSACTIONAL)
    assert short == ()
    assert history.of("is-committed", EventType.OK) == []
    assert brokers.open_transactions == {}
