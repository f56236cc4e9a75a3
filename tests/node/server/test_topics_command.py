"""`kraft-node topics describe`: pages that follow a cursor over topics that come and go, and what
is shown of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from uuid import UUID

import pytest

from node.broker.requests.descriptions import describe_partitions
from node.config import Own
from node.controller import reads
from node.controller.image import Image
from node.controller.image.configurations import TOPIC
from node.ids import NO_NODE, NodeId
from node.records.metadata import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from node.server.cli import main
from node.server.outcome import Refusal
from node.server.topics_command import PartitionFilter, Wanted, describe, described_topics, is_shown
from node.wire.apis import Request, Response
from node.wire.configs import DescribeConfigsRequest
from node.wire.reassignments import ListReassignmentsRequest, NamedPartition, OngoingReassignment
from node.wire.topic_metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PartitionDescription,
    TopicDescription,
)

LIVE = frozenset({NodeId(1), NodeId(2), NodeId(3)})
STATE = PartitionRecord(
    partition_id=0,
    topic_id=UUID(int=1),
    replicas=(1, 2, 3),
    isr=(1, 2, 3),
    removing_replicas=(),
    adding_replicas=(),
    leader=1,
    leader_recovery_state=0,
    leader_epoch=3,
    partition_epoch=8,
    directories=(),
    eligible_leader_replicas=None,
    last_known_elr=None,
)


@dataclass
class Broker:
    """Answers from an image, as the broker does. `meanwhile` happens after each answer."""

    most: int = 2000  # max.request.partition.size.limit
    live: frozenset[NodeId] = LIVE
    meanwhile: Callable[["Broker"], None] = lambda _: None
    image: Image = field(default_factory=Image)
    asked: list[DescribeTopicPartitionsRequest] = field(default_factory=list)
    made: int = 0

    def create(self, name: str, partitions: int, state: PartitionRecord = STATE) -> None:
        self.made += 1
        topic = UUID(int=self.made)
        self.image.replay(TopicRecord(name=name, topic_id=topic))
        for index in range(partitions):
            self.image.replay(replace(state, topic_id=topic, partition_id=index))

    def delete(self, name: str) -> None:
        topic = self.image.topics.named(name)
        assert topic is not None
        self.image.replay(RemoveTopicRecord(topic_id=topic.id))

    def configure(self, topic: str, key: str, value: str) -> None:
        self.image.replay(
            ConfigRecord(resource_type=TOPIC, resource_name=topic, name=key, value=value)
        )

    def send(self, request: Request) -> Response:
        match request:
            case DescribeTopicPartitionsRequest():
                self.asked.append(request)
                response = describe_partitions(self.image, request, self.live, self.most)
                self.meanwhile(self)
                return response
            case DescribeConfigsRequest() | ListReassignmentsRequest():
                return reads.response_to(self.image, request, Own())
            case _:
                raise AssertionError(f"{request} is not what this command asks")


def told(topics: list[TopicDescription]) -> dict[str, int]:
    """How many partitions each has; they are whole."""
    for each in topics:
        assert [one.index for one in each.partitions] == list(range(len(each.partitions)))
    assert len({each.name for each in topics}) == len(topics)
    return {each.name: len(each.partitions) for each in topics}


# --- pages ---


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 2000])
@pytest.mark.parametrize("most", [1, 4, 2000])
def test_all_topics_are_whole_whatever_the_limits(limit: int, most: int) -> None:
    broker = Broker(most=most)
    broker.create("b", 3)
    broker.create("a", 5)
    broker.create("c", 1)
    assert told(described_topics(broker.send, (), limit)) == {"a": 5, "b": 3, "c": 1}
    assert len(broker.asked) >= 9 // min(limit, most)


def test_so_many_topics_are_named_at_once_as_a_page_has_partitions() -> None:
    broker = Broker()
    names = tuple("abcde")
    for each in names:
        broker.create(each, 1)
    assert told(described_topics(broker.send, names, 2)) == dict.fromkeys(names, 1)
    assert [each.topics for each in broker.asked] == [("a", "b"), ("c", "d"), ("e",)]


def test_the_brokers_own_limit_is_followed_beyond_what_was_asked_for() -> None:
    broker = Broker(most=2)
    broker.create("a", 5)
    assert told(described_topics(broker.send, ("a",), 2000)) == {"a": 5}
    cursors = [each.cursor for each in broker.asked]
    assert cursors == [None, Cursor(topic="a", index=2), Cursor(topic="a", index=4)]


def test_a_topic_that_is_deleted_between_its_pages_is_left_out() -> None:
    broker = Broker(most=2)
    broker.create("a", 3)
    broker.create("b", 1)
    broker.meanwhile = lambda at: at.delete("a") if len(at.asked) == 1 else None
    assert told(described_topics(broker.send)) == {"b": 1}


def test_or_is_told_as_unknown_where_it_was_named() -> None:
    broker = Broker(most=2)
    broker.create("a", 3)
    broker.meanwhile = lambda at: at.delete("a") if len(at.asked) == 1 else None
    with pytest.raises(Refusal, match=r"Topic 'a' \(UNKNOWN_TOPIC_OR_PARTITION\) does not exist"):
        list(describe(broker.send, Wanted(names=("a",))))


def test_one_that_was_made_anew_between_its_pages_is_described_anew() -> None:
    broker = Broker(most=2)
    broker.create("a", 3)

    def remake(at: Broker) -> None:
        if len(at.asked) == 1:
            at.delete("a")
            at.create("a", 4)

    broker.meanwhile = remake
    (topic,) = described_topics(broker.send)
    assert told([topic]) == {"a": 4}
    assert topic.id == UUID(int=2)


@dataclass
class Churn:
    """Topics that come and go while others stay. `counts`: how many partitions each ever had."""

    rng: Random
    stay: frozenset[str]
    counts: dict[str, set[int]]

    def create(self, at: Broker, name: str) -> None:
        count = self.rng.randint(1, 6)
        self.counts[name].add(count)
        at.create(name, count)

    def change(self, at: Broker) -> None:
        if len(at.asked) > 40:
            return
        name = self.rng.choice([each for each in self.counts if each not in self.stay])
        if at.image.topics.named(name) is not None:
            at.delete(name)
        if self.rng.random() < 0.7:
            self.create(at, name)


@pytest.mark.parametrize("seed", range(200))
def test_topics_come_and_go_and_those_that_stay_are_told_whole(seed: int) -> None:
    """Whatever happens between pages: each that was there all the time, with all its partitions;
    each that is told, whole, as it was at some time."""
    rng = Random(seed)
    names = [f"t{number}" for number in range(6)]
    churn = Churn(rng, frozenset(rng.sample(names, 3)), {each: set() for each in names})
    broker = Broker(most=rng.randint(1, 4), meanwhile=churn.change)
    for each in names:
        churn.create(broker, each)
    asked = tuple(names) if rng.random() < 0.5 else ()
    found = described_topics(broker.send, asked, rng.randint(1, 8))
    whole = told([each for each in found if each.partitions])
    assert churn.stay <= whole.keys()
    assert all(count in churn.counts[name] for name, count in whole.items())


def test_a_broker_that_gets_nowhere_is_not_asked_for_ever() -> None:
    here = Cursor(topic="a", index=1)

    def stuck(_: Request) -> Response:
        topic = TopicDescription(name="a", partitions=(PartitionDescription(index=0),))
        return DescribeTopicPartitionsResponse(topics=(topic,), next=here)

    with pytest.raises(Refusal, match="ends where it began, at partition 1 of a"):
        described_topics(stuck)


# --- the output ---


def test_a_topic_has_kafkas_line_and_its_partitions_have_elr_and_last_known_elr() -> None:
    broker = Broker()
    broker.create(
        "a", 1, replace(STATE, isr=(1,), eligible_leader_replicas=(3,), last_known_elr=(2,))
    )
    broker.create("b", 1, replace(STATE, isr=(), leader=NO_NODE))
    broker.configure("a", "min.insync.replicas", "2")
    assert list(describe(broker.send, Wanted())) == [
        "Topic: a\tTopicId: AAAAAAAAAAAAAAAAAAAAAQ\tPartitionCount: 1\tReplicationFactor: 3"
        "\tConfigs: min.insync.replicas=2",
        "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\tElr: 3\tLastKnownElr: 2",
        "Topic: b\tTopicId: AAAAAAAAAAAAAAAAAAAAAg\tPartitionCount: 1\tReplicationFactor: 3"
        "\tConfigs: ",
        "\tTopic: b\tPartition: 0\tLeader: none\tReplicas: 1,2,3\tIsr: \tElr: \tLastKnownElr: ",
    ]


def names_shown(broker: Broker, wanted: Wanted) -> list[str]:
    """The topics of partitions that are shown."""
    lines = list(describe(broker.send, wanted))
    assert all(line.startswith("\tTopic: ") for line in lines), "no line of a topic"
    return [line.split("\t")[1].removeprefix("Topic: ") for line in lines]


@pytest.mark.parametrize(
    ("only", "shown"),
    [
        (PartitionFilter.UNDER_REPLICATED, ["at", "lost", "one", "under"]),
        (PartitionFilter.UNDER_MIN_ISR, ["lost", "under"]),
        (PartitionFilter.AT_MIN_ISR, ["at"]),
        (PartitionFilter.UNAVAILABLE, ["gone", "lost"]),
    ],
)
def test_only_such_partitions_are_shown(only: PartitionFilter, shown: list[str]) -> None:
    broker = Broker()
    broker.create("all", 1)
    broker.create("at", 1, replace(STATE, isr=(1, 2)))
    broker.create("gone", 1, replace(STATE, leader=9))
    broker.create("lost", 1, replace(STATE, isr=(), leader=NO_NODE))
    broker.create("one", 1, replace(STATE, isr=(1, 2)))
    broker.create("under", 1, replace(STATE, isr=(1,)))
    for each in ("all", "at", "gone", "lost", "under"):
        broker.configure(each, "min.insync.replicas", "2")
    assert names_shown(broker, Wanted(only=only)) == shown


def test_no_more_replicas_have_to_be_in_sync_than_there_are() -> None:
    """KIP-966: the effective min.insync.replicas is min(min.insync.replicas, replicas)."""
    alone = PartitionDescription(index=0, leader=NodeId(1), replicas=(1,), isr=(1,))
    assert not is_shown(alone, PartitionFilter.UNDER_MIN_ISR, 2)
    assert is_shown(alone, PartitionFilter.AT_MIN_ISR, 2)


def test_replicas_that_are_added_do_not_make_a_partition_under_replicated() -> None:
    moved = PartitionDescription(index=0, leader=NodeId(1), replicas=(1, 2, 3), isr=(1, 2))
    ongoing = OngoingReassignment(
        partition=NamedPartition(topic="a", index=0), replicas=(1, 2, 3), adding=(3,), removing=(1,)
    )
    assert is_shown(moved, PartitionFilter.UNDER_REPLICATED, 1)
    assert not is_shown(moved, PartitionFilter.UNDER_REPLICATED, 1, ongoing)
    broker = Broker()
    broker.create("a", 1, replace(STATE, isr=(1, 2), adding_replicas=(3,), removing_replicas=(1,)))
    assert names_shown(broker, Wanted(only=PartitionFilter.UNDER_REPLICATED)) == []
    assert (
        "\tAdding Replicas: 3\tRemoving Replicas: 1\t" in list(describe(broker.send, Wanted()))[1]
    )


def test_topics_with_settings_of_their_own_are_shown_without_partitions() -> None:
    broker = Broker()
    broker.create("a", 2)
    broker.create("b", 2)
    broker.configure("b", "retention.ms", "5000")
    (line,) = describe(broker.send, Wanted(overridden=True))
    assert line.startswith("Topic: b\t")
    assert line.endswith("\tConfigs: retention.ms=5000")


def test_internal_topics_and_missing_ones_can_be_passed_over() -> None:
    broker = Broker()
    broker.create("a", 1)
    broker.create("__consumer_offsets", 1)
    lines = list(describe(broker.send, Wanted(without_internal=True)))
    assert [line.split("\t")[0] for line in lines if not line.startswith("\t")] == ["Topic: a"]
    wanted = Wanted(names=("a", "none"), may_be_missing=True)
    assert len(list(describe(broker.send, wanted))) == 2
    with pytest.raises(Refusal, match="Topic 'none'"):
        list(describe(broker.send, replace(wanted, may_be_missing=False)))


# --- the options ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--unavailable-partitions", "--under-min-isr-partitions"),
            "argument --under-min-isr-partitions: not allowed with argument "
            "--unavailable-partitions",
        ),
        (("--if-exists",), "Option --if-exists is only allowed if --topic is used"),
        (
            ("--partition-size-limit-per-response", "0"),
            "--partition-size-limit-per-response 0: it is 1 or more",
        ),
    ],
)
def test_wrong_usage_is_told(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topics", "describe", "--bootstrap-server", "h:1", *options])
    assert ended.value.code == 254
    assert message in capsys.readouterr().err
