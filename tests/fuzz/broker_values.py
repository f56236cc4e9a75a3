"""Values of fields that speak of what a stepped broker keeps: topics, logs, groups and producers;
and batches of records as clients send them, mostly sound.

A consumer group is joined by ids that its coordinator has given, in its present generation: those
are remembered as answers tell them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

import crc32c

from node.codec.varint import encode_signed
from node.controller.image.configurations import TOPIC
from node.ids import NodeId
from node.records.metadata import ConfigRecord, MetadataRecord, TopicRecord
from node.wire.offsets import SPECIAL_TIMES
from tests.fuzz.drawing import LETTERS, Draw, one_of
from tests.support.stepped_broker import (
    FIRST_TOPIC,
    ME,
    OFFSETS_TOPIC_ID,
    partition_of,
    registered,
)

OFFSETS = "__consumer_offsets"
TOPICS = {f"t{number}": UUID(int=FIRST_TOPIC.int + number) for number in range(2)}
PARTITIONS = 3  # of each: one that it keeps alone, one that is followed, and one that it follows
OTHER = NodeId(5)
_REPLICAS_OF_GROUPS = ((ME, OTHER), (ME,))
_REPLICAS = ((ME,), (ME, OTHER), (OTHER, ME))
_MOST_INT32, _MOST_INT64 = 2**31 - 1, 2**63 - 1
GROUPS = ("g", "h")  # in partition 1, which nobody follows, and in partition 0
PLAIN = 0.7  # of the batches: sound, of no producer


def cluster() -> Iterator[MetadataRecord]:
    """What the metadata log tells a broker of these topics."""
    for broker in (ME, OTHER):
        yield registered(broker)
    for name, topic in TOPICS.items():
        yield TopicRecord(name=name, topic_id=topic)
        for index in range(PARTITIONS):
            yield partition_of(topic, index, _REPLICAS[index])
        yield ConfigRecord(
            resource_type=TOPIC,
            resource_name=name,
            name="message.timestamp.after.max.ms",
            value=str(2**63 - 1),  # records may have any time
        )
    yield TopicRecord(name=OFFSETS, topic_id=OFFSETS_TOPIC_ID)
    for index, replicas in enumerate(_REPLICAS_OF_GROUPS):
        yield partition_of(OFFSETS_TOPIC_ID, index, replicas)


@dataclass
class Members:
    """Of groups, as the last answers told: who may be one, and in which generation."""

    ids: list[str] = field(default_factory=list)
    generation: int = 0

    def hear(self, joined: Any) -> None:
        """An answer to JoinGroup."""
        if joined.member_id and len(joined.member_id) < 1000:
            self.ids = [*self.ids[-2:], joined.member_id]
        self.generation = max(joined.generation_id, self.generation)


# --- batches ---


def _record(rng: Random, delta: int) -> bytes:
    """Headers, keys and values of any kind; now and then what is none."""
    value = rng.choice((b"v", b"", rng.choice(LETTERS).encode() * 100))
    after_ms = rng.choice((0, 0, 0, 1, -1, _MOST_INT64))
    pieces = [
        b"\0",
        encode_signed(after_ms),
        encode_signed(delta),
        rng.choice((b"\x01", encode_signed(1) + b"k")),
        encode_signed(len(value)) + value,
        rng.choice((b"\0", b"\0", encode_signed(1) + encode_signed(1) + b"h\x01")),
    ]
    if rng.random() < 0.02:
        pieces[rng.randrange(len(pieces))] = encode_signed(rng.choice((-2, 99, 2**31 - 1)))
    body = b"".join(pieces)
    return encode_signed(len(body)) + body


def batch(rng: Random) -> bytes:
    """With a sound CRC over what may contradict itself, mostly."""
    count = rng.choice((1, 1, 2, 5))
    numbers = {
        "attributes": 0,
        "last": count - 1,
        "first_ms": 1000,
        "max_ms": 1000,
        "producer": -1,
        "epoch": -1,
        "sequence": -1,
        "count": count,
    }
    records = b"".join(_record(rng, delta) for delta in range(count))
    if rng.random() > PLAIN:
        _distort(rng, numbers)
    covered = struct.pack(">hiqqqhii", *numbers.values()) + records
    magic = rng.choice((2,) * 30 + (0, 1, 3, -1))
    head = struct.pack(">qiibI", 0, 9 + len(covered), -1, magic, crc32c.crc32c(covered))
    whole = head + covered
    if rng.random() < 0.03:
        at = rng.randrange(len(whole))
        whole = whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :]
    return whole[: rng.randrange(len(whole))] if rng.random() < 0.02 else whole


def _distort(rng: Random, numbers: dict[str, int]) -> None:
    match rng.randrange(5):
        case 0 | 1:
            sequence = rng.choice((0, 0, 1, 2, _MOST_INT32, -1))
            numbers |= {"producer": rng.choice((7, 7, 8, _MOST_INT64, -2))}
            numbers |= {"epoch": rng.choice((0, 0, 1, 2**15 - 1)), "sequence": sequence}
        case 2:
            numbers["attributes"] = rng.choice((1, 2, 3, 4, 7, 8, 16, 32, 48, -1, 2**15 - 1))
        case 3:
            # Records that are not there, but said to be.
            many = rng.choice((numbers["last"] + 1, 1000, _MOST_INT32))
            numbers |= {"last": many - 1, "count": rng.choice((many, many, 1, 0, -1))}
        case _:
            times = (0, -1, _MOST_INT64, -(2**63), 2000)
            numbers |= {"first_ms": rng.choice(times), "max_ms": rng.choice(times)}


def records(rng: Random) -> bytes | None:
    """One batch, as Produce takes it; or none, two, or a very large one."""
    match rng.randrange(40):
        case 0:
            return rng.choice((None, b"", b"x" * 61))
        case 1:
            return batch(rng) + batch(rng)
        case 2:
            return batch(rng) + bytes(rng.choice((1, 61)))
        case _:
            return batch(rng)


# --- fields ---


def values(members: Members) -> dict[str, Draw]:
    """By name, for `draw_request`."""
    names = one_of(*[*TOPICS] * 4, OFFSETS, "none", "")
    ids = one_of(*[*TOPICS.values()] * 4, OFFSETS_TOPIC_ID, UUID(int=1), UUID(int=0))
    indexes = one_of(0, 0, 1, 1, 2, 3)
    groups = one_of(*[GROUPS[0]] * 9, *[GROUPS[1]] * 3, "", "unknown")
    offsets = one_of(0, 0, 1, 2, 5, 1000, -1)
    times_ms = one_of(0, 0, 1, 500, 5000, 30_000, _MOST_INT32, -1)
    timestamps = one_of(*SPECIAL_TIMES, 0, 999, 1000, 1001, _MOST_INT64, -100)

    def generation(rng: Random) -> int:
        return rng.choice((members.generation,) * 5 + (members.generation + 1, -1, -1))

    def member(rng: Random) -> str:
        return rng.choice(("", *members.ids * 2))

    return {
        **_topics(names, ids, indexes),
        **dict.fromkeys(("group_id", "groups[]", "coordinator_keys[]", "key"), groups),
        **dict.fromkeys(("generation_id", "generation_id_or_member_epoch"), generation),
        "member_id": member,
        "offset": offsets,
        "fetch_offset": offsets,
        "committed_offset": offsets,
        "log_start_offset": offsets,
        **dict.fromkeys(("timeout", "max_wait"), times_ms),
        "timestamp": timestamps,
        "acks": one_of(*[-1, 1] * 4, 0, 2),
        "transactional_id": one_of(*[None] * 15, "x"),
        "records": records,
        "min_bytes": one_of(0, 1, 1, _MOST_INT32, -1),
        "max_bytes": one_of(1 << 20, _MOST_INT32, 1, 0, -1),
        "partition_max_bytes": one_of(1 << 20, _MOST_INT32, 1, 0, -1),
        "replica_id": one_of(-1, -1, -1, OTHER, OTHER, ME, 77, -2),
        "replica_epoch": one_of(7, -1),
        **dict.fromkeys(("current_leader_epoch", "leader_epoch"), one_of(0, 0, -1, 1)),
        "last_fetched_epoch": one_of(0, -1, -1, 3),
        "session_timeout": one_of(*[6000, 10_000, 1_800_000] * 3, 5999, 1_800_001),
        "rebalance_timeout": one_of(0, 1000, 60_000, _MOST_INT32, -1),
        "protocol_type": one_of(*["consumer"] * 6, "", "connect"),
        "protocols": one_of(1, 2),
        "JoinGroupRequestProtocol.name": one_of(*["range"] * 6, "sticky", ""),
        "protocol_name": one_of(None, "range"),
        "group_instance_id": one_of(None, None, "i"),
        "assignment": one_of(b"", b"a"),
        "metadata": one_of(b"", b"m", b"m" * 1000),
        "committed_metadata": one_of(None, "m", "m" * 4096, "m" * 4097),
        "key_type": one_of(0, 0, 0, 1, 2),
        "response_partition_limit": one_of(1, 2, 2000, _MOST_INT32, 0, -1),
        "states_filter": one_of(0, 0, 1),
        "types_filter": one_of(0, 0, 1),
        "states_filter[]": one_of("Stable", "Empty"),
        "types_filter[]": one_of("classic", "consumer"),
        "resource_type": one_of(2, 2, 4, 16),
        "resource_name": one_of(*TOPICS, "4", "", "a"),
    }


def _topics(names: Draw, ids: Draw, indexes: Draw) -> dict[str, Draw]:
    of_names = ("topic", "topic_name", "TopicRequest.name", "topics[]")
    of_topics = (
        "ListOffsetsTopic",
        "DeleteRecordsTopic",
        "MetadataRequestTopic",
        "TopicProduceData",
    )
    of_groups = ("OffsetCommitRequestTopic", "OffsetFetchRequestTopic", "OffsetFetchRequestTopics")
    of_forwarded = ("CreatableTopic", "DeleteTopicState", "CreatePartitionsTopic")
    classes = (*of_topics, *of_groups, *of_forwarded)
    return {
        **dict.fromkeys((*of_names, *(f"{each}.name" for each in classes)), names),
        "topic_id": ids,
        **dict.fromkeys(("partition", "partition_index", "index", "partition_indexes[]"), indexes),
    }
