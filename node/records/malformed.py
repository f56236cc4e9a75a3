"""What the writer of a record did wrong."""

from typing import TypeVar

from node.codec import MalformedMessage, read_whole

T = TypeVar("T")


class MalformedRecord(ValueError):
    """A record's key or value is not what its type says. Its batch's CRC held: a writer's fault."""


def read_record(kind: type[T], value: bytes, at: int = 0) -> T:
    """What fills `value` from `at` to its end. Raises MalformedRecord on anything else.

    Tagged fields that this node does not know are skipped, as Kafka does.
    """
    try:
        return read_whole(kind, value, at)
    except MalformedMessage as error:
        raise MalformedRecord(str(error)) from error
