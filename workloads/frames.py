"""Kafka's bytes for the exchanges of the register workload and of probes, by hand.

Exactly these versions, all flexible (KIP-482): IncrementalAlterConfigs 1, DescribeConfigs 4,
DescribeQuorum 0 and DescribeTopicPartitions 0. Request header 2, response header 1. By hand: at
thousands of operations a second the codec is most of a client's cost, and because kio's reader
ends the process at a damaged length; tests hold it equal to kio's.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

CLIENT_ID = "kraft-chaos"
CLIENT_METRICS = 16
INTERVAL = "interval.ms"
DEFAULT_CONFIG = 5  # DescribeConfigs: nobody set this entry

_SET = 0
_HEADER = struct.Struct(">ihhi")
_CLIENT = struct.pack(">h", len(CLIENT_ID)) + CLIENT_ID.encode() + b"\x00"


class Api(IntEnum):
    """The APIs spoken; `version` is the one that requests are sent in."""

    DESCRIBE_CONFIGS = 32
    INCREMENTAL_ALTER_CONFIGS = 44
    DESCRIBE_QUORUM = 55
    DESCRIBE_TOPIC_PARTITIONS = 75

    @property
    def version(self) -> int:
        return _VERSIONS[self]


_VERSIONS = {
    Api.DESCRIBE_CONFIGS: 4,
    Api.INCREMENTAL_ALTER_CONFIGS: 1,
    Api.DESCRIBE_QUORUM: 0,
    Api.DESCRIBE_TOPIC_PARTITIONS: 0,
}


class MalformedAnswerError(Exception):
    """An answer that is not what the protocol says; what it answers is in doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderClaim:
    """A node's answer to who leads; `leader` is None unless the node says so as the leader."""

    leader: int | None
    epoch: int
    high_watermark: int
    error: int = 0


def request_frame(api: Api, correlation_id: int, body: bytes) -> bytes:
    """A whole request, with its size."""
    size = _HEADER.size - 4 + len(_CLIENT) + len(body)
    return _HEADER.pack(size, api, _VERSIONS[api], correlation_id) + _CLIENT + body


def set_interval(key: str, value: int) -> bytes:
    """Body of an IncrementalAlterConfigs that sets the register `key`."""
    return b"".join(
        (
            b"\x02",
            bytes((CLIENT_METRICS,)),
            _string(key),
            b"\x02",
            _string(INTERVAL),
            bytes((_SET,)),
            _string(str(value)),
            b"\x00\x00\x00\x00",  # tags of config and resource, validate_only, tags
        )
    )


def get_interval(key: str) -> bytes:
    """Body of a DescribeConfigs that reads the register `key`, without synonyms."""
    return b"".join(
        (
            b"\x02",
            bytes((CLIENT_METRICS,)),
            _string(key),
            b"\x02",
            _string(INTERVAL),
            b"\x00\x00\x00\x00",  # tags of resource, synonyms, documentation, tags
        )
    )


def describe_quorum() -> bytes:
    """Body of a DescribeQuorum of `__cluster_metadata`-0."""
    return b"\x02" + _string("__cluster_metadata") + b"\x02\x00\x00\x00\x00\x00\x00\x00"


def read_alter_answer(body: bytes) -> int:
    """The error code of the one resource. Raises MalformedAnswerError."""
    reader = Reader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    error = reader.int16()
    reader.string()
    reader.skip(1)
    reader.string()
    reader.tags()
    reader.end()
    return error


def read_describe_answer(body: bytes) -> tuple[int, int | None]:
    """Error code and value; None: nobody ever set it. Raises MalformedAnswerError."""
    reader = Reader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    error = reader.int16()
    reader.string()
    reader.skip(1)
    reader.string()
    value: int | None = None
    for _ in range(reader.count()):
        entry = _config_entry(reader)
        value = entry if entry is not None else value
    reader.tags()
    reader.end()
    return error, value


def read_quorum_answer(body: bytes) -> LeaderClaim:
    """Who leads, as far as this node may say: only the leader answers without an error."""
    reader = Reader(body)
    error = reader.int16()
    if reader.count() != 1:
        return LeaderClaim(leader=None, epoch=-1, high_watermark=-1, error=error)
    reader.string()
    reader.expect_one()
    reader.skip(4)  # partition index
    error = error or reader.int16()
    leader, epoch, high_watermark = reader.int32(), reader.int32(), reader.int64()
    known = error == 0 and leader >= 0
    return LeaderClaim(
        leader=leader if known else None, epoch=epoch, high_watermark=high_watermark, error=error
    )


def read_header(frame: bytes) -> tuple[int, int]:
    """Correlation id, and where the body begins."""
    reader = Reader(frame)
    correlation_id = reader.int32()
    reader.tags()
    return correlation_id, reader.position


def _config_entry(reader: "Reader") -> int | None:
    """One entry; its value if it is the register's and somebody set it."""
    name, text = reader.string(), reader.string()
    reader.skip(1)  # read only
    source = reader.int8()
    reader.skip(1)  # sensitive
    for _ in range(reader.count()):
        reader.string()
        reader.string()
        reader.skip(1)
        reader.tags()
    reader.skip(1)  # type
    reader.string()
    reader.tags()
    if name != INTERVAL or source == DEFAULT_CONFIG or text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise MalformedAnswerError(f"{INTERVAL} is {text!r}, not a number") from None


def _string(text: str) -> bytes:
    data = text.encode()
    assert len(data) < 127, "lengths of two bytes are not needed by any register"
    return bytes((len(data) + 1,)) + data


class Reader:
    """A cursor over a flexible message; every read past the end is MalformedAnswerError."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def skip(self, size: int) -> int:
        start = self.position
        self.position = start + size
        if self.position > len(self.data):
            raise MalformedAnswerError(f"ends after {len(self.data)} bytes")
        return start

    def int8(self) -> int:
        start = self.skip(1)
        return int.from_bytes(self.data[start : start + 1], "big", signed=True)

    def int16(self) -> int:
        start = self.skip(2)
        return int.from_bytes(self.data[start : start + 2], "big", signed=True)

    def int32(self) -> int:
        start = self.skip(4)
        return int.from_bytes(self.data[start : start + 4], "big", signed=True)

    def int64(self) -> int:
        start = self.skip(8)
        return int.from_bytes(self.data[start : start + 8], "big", signed=True)

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.skip(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise MalformedAnswerError("a length of more than five bytes")

    def string(self) -> str | None:
        size = self.varint()
        if size == 0:
            return None
        start = self.skip(size - 1)
        try:
            return self.data[start : self.position].decode()
        except UnicodeDecodeError:
            raise MalformedAnswerError("a string that is not UTF-8") from None

    def count(self) -> int:
        """How many elements follow; a null array has none."""
        return max(self.varint() - 1, 0)

    def expect_one(self) -> None:
        found = self.count()
        if found != 1:
            raise MalformedAnswerError(f"{found} results for one question")

    def tags(self) -> None:
        """Skip tagged fields: KIP-482 lets any message carry unknown ones."""
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())

    def end(self) -> None:
        self.tags()
        if self.position != len(self.data):
            raise MalformedAnswerError(f"{len(self.data) - self.position} bytes too many")
