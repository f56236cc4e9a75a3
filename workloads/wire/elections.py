"""ElectLeaders 3 (KIP-966, part two): an operator has leaders elected where there are none."""

from collections.abc import Mapping

from workloads.wire.flexible import MessageReader, array, string, varint

LONGEST_AGGRESSIVE, LONGEST_BALANCED, DESIGNATED = 2, 3, 4  # types of elections
_NULL, _NO_TAGS = b"\x00", b"\x00"


def elect_every_leader(kind: int, *, timeout_ms: int) -> bytes:
    """Body of a request about all partitions without a leader."""
    return bytes((kind,)) + _NULL + timeout_ms.to_bytes(4, "big") + _NO_TAGS


def designate_leaders(leaders: Mapping[tuple[str, int], int], *, timeout_ms: int) -> bytes:
    """Body of a request that names the leaders of partitions, which are topics and indexes."""
    topics = [
        string(topic) + _one(index) + _one(leader) + _NO_TAGS
        for (topic, index), leader in leaders.items()
    ]
    body = bytes((DESIGNATED,)) + array(topics)
    return body + timeout_ms.to_bytes(4, "big") + _NO_TAGS


def _one(number: int) -> bytes:
    """An array of one number."""
    return varint(2) + number.to_bytes(4, "big")


def read_elected(body: bytes) -> dict[str, int]:
    """The error code of each partition that was asked for, by its key; of the whole request by "".
    Raises MalformedAnswerError.
    """
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    found = {"": reader.int16()}
    for _ in range(reader.count()):
        topic = reader.name()
        for _ in range(reader.count()):
            index = reader.int32()
            found[f"{topic}-{index}"] = reader.int16()
            reader.string()  # error message
            reader.tags()
        reader.tags()
    reader.end()
    return found
