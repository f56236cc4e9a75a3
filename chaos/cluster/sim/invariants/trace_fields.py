"""Fields of the node's trace lines, by their types."""

from collections.abc import Mapping

from node.effects import TraceValue


def number(fields: Mapping[str, TraceValue], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int), f"{name} is {value!r}"
    return value
