"""Reading and writing one kio entity, with kio's many ways of failing brought down to one."""

from dataclasses import Field, fields, is_dataclass
from functools import cache
from io import BytesIO
from typing import Any, TypeVar, get_args, get_origin

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.protocol import Entity

from node.records.varint import read_unsigned

E = TypeVar("E", bound=Entity)
# Bytes of the types of fixed width in records that hold arrays; strings tell theirs.
_WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "uuid": 16}


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
        if _holds_arrays(kind):
            _check_arrays(kind, data, position)
        entity, size = entity_reader(kind)(data, position)
    except (SerialError, ValueError, LookupError, OverflowError) as error:
        raise MalformedRecord(f"not a {kind.__name__}: {error}") from error
    if position + size != len(data):
        left = len(data) - position - size
        raise MalformedRecord(f"{left} bytes left over after a {kind.__name__}")
    return entity


def _element(field: "Field[Any]") -> Any:
    """The struct that an array is of, or None for any other field."""
    return get_args(field.type)[0] if get_origin(field.type) is tuple else None


@cache
def _holds_arrays(kind: type[Entity]) -> bool:
    return any(_element(field) is not None for field in fields(kind))


def _check_arrays(kind: Any, data: bytes, position: int) -> int:
    """Walk over a struct and return its end; raises ValueError at an array longer than the bytes.

    kio reserves room for as many elements as an array announces and aborts the whole process where
    there is not so much memory, so no such count may reach it.
    """
    for field in fields(kind):
        element = _element(field)
        if element is not None:
            count, position = read_unsigned(data, position)
            if count == 0:
                raise ValueError(f"{field.name} is null, and may not be")
            if count - 1 > len(data) - position:
                raise ValueError(f"{field.name} announces {count - 1} elements")
            for _ in range(count - 1):
                position = _check_arrays(element, data, position)
        elif is_dataclass(field.type):
            position = _check_arrays(field.type, data, position)
        elif field.metadata["kafka_type"] == "string":
            length, position = read_unsigned(data, position)
            position += max(length - 1, 0)
        else:
            position += _WIDTHS[field.metadata["kafka_type"]]
    tags, position = read_unsigned(data, position)
    if tags:
        raise ValueError(f"{kind.__name__} has {tags} tagged fields and knows none")
    return position
