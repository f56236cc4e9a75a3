"""Reading and writing one kio entity, with kio's many ways of failing brought down to one."""

from io import BytesIO
from typing import TypeVar

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.protocol import Entity

E = TypeVar("E", bound=Entity)


class MalformedRecord(ValueError):
    """A record's key or value is not what its type says. Its batch's CRC held: a writer's fault."""


def encode_entity(entity: Entity) -> bytes:
    buffer = BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def decode_entity(kind: type[E], data: bytes, position: int = 0) -> E:
    """The entity that fills `data` from `position` to its end.

    Raises MalformedRecord on anything else, bytes left over included (as Kafka's
    MetadataRecordSerde does). Unknown tagged fields are refused too: kio cannot skip them.
    """
    try:
        entity, size = entity_reader(kind)(data, position)
    except (SerialError, ValueError, LookupError, OverflowError) as error:
        raise MalformedRecord(f"not a {kind.__name__}: {error}") from error
    if position + size != len(data):
        left = len(data) - position - size
        raise MalformedRecord(f"{left} bytes left over after a {kind.__name__}")
    return entity
