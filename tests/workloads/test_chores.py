"""What clients do besides, against brokers in this process: what they ask, and what they record."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from kio.schema.errors import ErrorCode

from checkers.history.events import EventType
from tests.support.fake_logs import FakeBrokers
from tests.support.recorded import ListedHistory
from tests.workloads.test_append import FAST, Act, enough, load
from workloads.append import CHORES, AppendOptions, AppendWorkload

OK = EventType.OK


def doing(chore: str) -> AppendOptions:
    return replace(FAST, partitions=1, producers=1, rate=50, chores=(chore,))


def until(f: str, count: int) -> Act:
    async def act(_: FakeBrokers, __: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, f, OK, count)

    return act


@pytest.mark.parametrize("chore", CHORES)
def test_a_chore_leaves_the_load_alone_and_ends_with_it(chore: str) -> None:
    history, brokers, short = load(until("send", 20), doing(chore))
    assert short == ()
    assert all(operation.outcome is not None for operation in history.operations)
    assert {operation.key for operation in history.of("send")} == {"append-0-0"}
    assert len(brokers.topics) >= 1


def test_offsets_are_looked_up_after_records_with_a_few_keys() -> None:
    history, brokers, _ = load(until("look-up", 3), doing("looking-up"))
    puts = [one for one in history.operations if one.f in ("put", "look-up")]
    assert [one.f for one in puts[:6]] == ["put"] * 4 + ["look-up", "put"]
    assert {one.key for one in puts} == {"append-looked-up-0"}
    assert all(one.result is not None for one in history.of("look-up", OK))
    batches = brokers.logs["append-looked-up", 0].batches
    assert len(batches) == len(history.of("put", OK))
    assert all(110_000 < len(batch) < 120_000 for batch in batches)


@pytest.mark.parametrize(
    ("chore", "falls", "told"),
    [
        ("known-operations", True, ("ok", None, 1)),
        ("unknown-operations", False, ("info", "INVALID_REQUEST", 1)),
        ("unknown-operations", True, ("info", "UNKNOWN_SERVER_ERROR", 3)),
    ],
)
def test_the_quorum_s_epoch_is_asked_for_around_each_request(
    chore: str, falls: bool, told: tuple[str, str | None, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.chores.topics._PAUSE_S", 0.01)

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        brokers.falls = falls
        await enough(history, "quorum-epoch", OK, 3)

    history, _, short = load(act, doing(chore))
    assert short == ()
    rows = [one for one in history.operations if one.f in ("quorum-epoch", "alter-configs")]
    assert [one.f for one in rows[:5]] == ["quorum-epoch", "alter-configs"] * 2 + ["quorum-epoch"]
    assert (rows[-1].f, rows[-1].phase) == ("quorum-epoch", "final")
    asked, last = rows[1], rows[4]
    assert asked.outcome is not None
    assert (asked.outcome.value, asked.error, last.result) == told


def test_records_are_deleted_once_and_where_the_log_begins_is_asked_at_the_end() -> None:
    async def act(_: FakeBrokers, __: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "delete-records", OK, 1)
        before = len(history.of("put", OK))
        await enough(history, "put", OK, before + 2)  # it goes on afterwards

    history, brokers, short = load(act, doing("deleting-records"))
    assert short == ()
    (deletion,) = history.of("delete-records")
    assert (deletion.key, deletion.value) == ("append-shortened-0", 10)
    assert brokers.logs["append-shortened", 0].start == 10
    last = history.operations[-1]
    assert (last.f, last.phase, last.result) == ("log-start", "final", 10)


def test_what_is_committed_is_asked_for_before_more_is_committed() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "committed-offset", OK, 3)
        brokers.groups.error = ErrorCode.not_coordinator
        await enough(history, "committed-offset", EventType.FAIL, 2)
        brokers.groups.error, brokers.groups.forgets = ErrorCode.none, 1
        await enough(history, "committed-offset", OK, 5)

    history, _, short = load(act, doing("committing-offsets"))
    assert short == ()
    rows = [one for one in history.operations if one.f in ("commit-offset", "committed-offset")]
    assert {one.key for one in rows} == {"append-committed"}
    assert {one.node for one in rows} == {2}
    for one, then in pairwise(rows):
        was_told = one.f == "committed-offset" and one.outcome is OK
        assert (then.f == "commit-offset") == was_told or then.phase == "final"
    asked = [one.value for one in rows if one.f == "commit-offset"]
    assert asked == list(range(1, len(asked) + 1))
    kept = [one.value for one in history.of("commit-offset", OK)][:-1]
    assert (rows[-1].phase, rows[-1].result) == ("final", kept[-1])


def test_members_come_and_go_and_one_stays_and_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_HEARTBEAT_S", "_PAUSE_S", "_ABSENT", "_SILENT_S"):
        monkeypatch.setattr(f"workloads.chores.groups.{name}", 0.01)

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "group-heartbeat", OK, 20)
        brokers.members.error = ErrorCode.not_coordinator
        await enough(history, "group-heartbeat", EventType.FAIL, 1)
        brokers.members.error = ErrorCode.none
        before = len(history.of("group-heartbeat", OK))
        await enough(history, "group-heartbeat", OK, before + 5)

    history, brokers, _ = load(act, doing("joining-groups"))
    told = history.of("group-heartbeat", OK)
    generations = [one.value or 0 for one in told]
    assert generations == sorted(generations)
    assert len({*generations}) > 3
    assert brokers.members.asked.count("leave") >= 1
    committed = brokers.groups.committed["append-members"]
    assert committed == sorted(committed)
    assert len(committed) > 5


def test_a_topic_gets_partitions_and_moves_until_it_is_at_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workloads.chores.topics._PAUSE_S", 0.001)

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "add-partitions", OK, 2)
        brokers.still_moving = 3

    history, brokers, short = load(act, doing("reshaping-topics"))
    assert short == ()
    assert brokers.still_moving < 0
    assert [one.value for one in history.of("add-partitions", OK)][:2] == [2, 3]
    assert brokers.topics["append-reshaped"] == len(history.of("add-partitions", OK)) + 1
    assert len(brokers.moves) == len(history.of("reassign", OK))
    for (_, before), (_, after) in pairwise(brokers.moves):
        assert before != after
        assert len({*before}) == len(before) == len(after)


def test_the_ends_of_epochs_are_asked_for_around_the_newest() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "epoch-end", OK, 3)
        brokers.move_leaders(2)
        await enough(history, "epoch-end", OK, 10)

    history, _, _ = load(act, doing("asking-epochs"))
    told = [one.result for one in history.of("epoch-end", OK)]
    assert -1 in told  # of an epoch that is yet to come
    assert max(end for end in told if end is not None) > 0


def test_every_broker_is_asked_for_the_topics_that_were_deleted() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "delete-topic", OK, 3)
        brokers.ghosts[2] = {history.of("delete-topic", OK)[1].key}

    history, brokers, short = load(act, doing("deleting-topics"))
    assert short == ()
    deleted = [one.key for one in history.of("delete-topic", OK)]
    created = [one.key for one in history.of("create-topic", OK)][1:-1]  # but the load's, and last
    assert created[0] not in deleted
    assert {key for _, key, _ in brokers.altered} == {"min.insync.replicas"}
    assert {value for _, _, value in brokers.altered} == {"1", "2"}
    asked = history.of("describe-topic", OK)
    for node in (1, 2, 3):
        told = [(one.key, one.result) for one in asked if one.node == node]
        assert told[0] == ("append-last", 1)
        assert [key for key, _ in told[1:]] == created
        ghosts = [key for key, known in told[1:] if known and key in deleted]
        assert ghosts == ([deleted[1]] if node == 2 else [])
        assert all(known for key, known in told[1:] if key not in deleted)


def test_a_broker_that_never_hears_of_the_last_topic_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workloads.chores.topics._KNOWN_WITHIN_S", 0.1)

    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        await enough(history, "delete-topic", OK, 1)
        brokers.deaf.add(3)
        await asyncio.sleep(0)

    history, _, short = load(act, doing("deleting-topics"))
    assert short == ("node 3 does not know of append-last",)
    assert {one.key for one in history.of("describe-topic") if one.node == 3} == {"append-last"}


def test_what_is_transformed_is_told_at_the_end_by_the_transactions_that_are_committed() -> None:
    history, brokers, short = load(until("transform", 60), doing("transforming"))
    assert short == ()
    done = {(one.key, one.value, one.request) for one in history.of("transform", OK)}
    not_done = {
        (one.key, one.value, one.request) for one in history.of("transform", EventType.FAIL)
    }
    told = {(one.key, one.value, one.request) for one in history.of("processed")}
    assert done <= told
    assert not not_done & told
    assert not_done, "some are aborted"
    assert {one.phase for one in history.of("processed")} == {"final"}
    (end,) = history.of("processed-end", OK)
    assert end.value == brokers.logs["append-transformed", 0].end
    (up_to,) = history.of("processed-up-to", OK)
    assert (up_to.key, up_to.value) == (
        "append-0-0",
        brokers.groups.committed["append-transforming"][-1],
    )
    assert brokers.open_transactions == {}


def test_a_member_that_the_group_refuses_commits_nothing() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        brokers.on_group_commit = ErrorCode.illegal_generation
        await enough(history, "transform", EventType.FAIL, 20)

    history, brokers, short = load(act, doing("transforming"))
    assert short == ()
    assert history.of("transform", OK) == history.of("processed") == []
    assert {one.error for one in history.of("transform", EventType.FAIL)} >= {"ILLEGAL_GENERATION"}
    assert brokers.groups.committed == {}


def test_a_commit_of_which_nobody_told_is_in_doubt() -> None:
    async def act(brokers: FakeBrokers, _: AppendWorkload, history: ListedHistory) -> None:
        brokers.on_commit = ErrorCode.coordinator_not_available
        await enough(history, "transform", EventType.INFO, 20)

    history, _, short = load(act, doing("transforming"))
    assert short == ()
    assert history.of("transform", OK) == history.of("processed") == []
    assert {one.error for one in history.of("transform", EventType.INFO)} >= {"error-15"}
