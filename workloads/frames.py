"""Kafka's bytes for the exchanges of the register workload, written and read by hand.

IncrementalAlterConfigs 1, DescribeConfigs 4 and DescribeQuorum 0. By hand, because at thousands of
operations a second the codec is most of a client's cost; tests hold it equal to kio's.
"""

from dataclasses import dataclass

from workloads.wire.fields import MalformedAnswerError, Reader, string

CLIENT_METRICS = 16
INTERVAL = "interval.ms"
DEFAULT_CONFIG = 5  # DescribeConfigs: nobody set this entry

_SET = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderClaim:
    """A node's answer to who leads; `leader` is None unless the node says so as the leader."""

    leader: int | None
    epoch: int
    high_watermark: int
    error: int = 0


def set_interval(key: str, value: int) -> bytes:
    """Body of an IncrementalAlterConfigs that sets the register `key`."""
    return b"".join(
        (
            b"\x02",
            bytes((CLIENT_METRICS,)),
            string(key),
            b"\x02",
            string(INTERVAL),
            bytes((_SET,)),
            string(str(value)),
            b"\x00\x00\x00\x00",  # tags of config and resource, validate_only, tags
        )
    )


def get_interval(key: str) -> bytes:
    """Body of a DescribeConfigs that reads the register `key`, without synonyms."""
    return b"".join(
        (
            b"\x02",
            bytes((CLIENT_METRICS,)),
            string(key),
            b"\x02",
            string(INTERVAL),
            b"\x00\x00\x00\x00",  # tags of resource, synonyms, documentation, tags
        )
    )


def describe_quorum() -> bytes:
    """Body of a DescribeQuorum of `__cluster_metadata`-0."""
    return b"\x02" + string("__cluster_metadata") + b"\x02\x00\x00\x00\x00\x00\x00\x00"


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


def _config_entry(reader: Reader) -> int | None:
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
