"""DescribeQuorum 0 of the metadata partition."""

from dataclasses import dataclass

from checkers.counted import counted
from workloads.wire.flexible import MalformedAnswerError, MessageReader, string


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderClaim:
    """A node's answer to who leads; `leader` is None unless the node says so as the leader."""

    leader: int | None
    epoch: int
    high_watermark: int
    error: int = 0


def describe_quorum() -> bytes:
    """Body of a DescribeQuorum of `__cluster_metadata`-0."""
    return b"\x02" + string("__cluster_metadata") + b"\x02\x00\x00\x00\x00\x00\x00\x00"


def read_quorum_answer(body: bytes) -> LeaderClaim:
    """Who leads, as far as this node may say: only the leader answers without an error.

    Raises MalformedAnswerError.
    """
    reader = MessageReader(body)
    error = reader.int16()
    claims = [claim for _ in range(reader.count()) for claim in _topic(reader, error)]
    reader.end()
    if len(claims) > 1 or (not claims and not error):
        raise MalformedAnswerError(f"{counted(len(claims), 'partition')}, asked for one")
    nothing = LeaderClaim(leader=None, epoch=-1, high_watermark=-1, error=error)
    return claims[0] if claims else nothing


def _topic(reader: MessageReader, error: int) -> list[LeaderClaim]:
    reader.name()
    claims = [_partition(reader, error) for _ in range(reader.count())]
    reader.tags()
    return claims


def _partition(reader: MessageReader, error: int) -> LeaderClaim:
    reader.skip(4)  # partition index
    found = reader.int16()
    error = error or found
    leader, epoch, high_watermark = reader.int32(), reader.int32(), reader.int64()
    for _ in range(2):  # voters, observers
        for _ in range(reader.count()):
            reader.skip(4 + 8)  # id, log end offset
            reader.tags()
    reader.tags()
    known = error == 0 and leader >= 0
    return LeaderClaim(
        leader=leader if known else None, epoch=epoch, high_watermark=high_watermark, error=error
    )
