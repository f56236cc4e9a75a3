"""IncrementalAlterConfigs 1, and DescribeConfigs 4 of CLIENT_METRICS resources.

By hand, because at thousands of operations a second the codec is most of a client's cost; tests
hold it equal to kio's. A request may name many resources. The answer has one result for each, in
any order, identified by the resource's name.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string

TOPIC, CLIENT_METRICS = 2, 16  # resource types
INTERVAL = "interval.ms"
LOWEST_INTERVAL = 100  # that Kafka accepts
DEFAULT_CONFIG = 5  # DescribeConfigs: this entry is not set

_Result = TypeVar("_Result")

# The config's type is INT. There may be thousands of blanks around it, for which `str.strip` is
# slow.
_NUMBER = re.compile(r" *(-?[0-9]{1,10}) *", re.ASCII)
_NULL, _NO_TAGS = b"\x00", b"\x00"
_ONE_CONFIG = b"\x02" + string(INTERVAL)
_NO_EXTRAS = b"\x00\x00\x00"  # no synonyms, no documentation, tags


class Action(IntEnum):
    """What an IncrementalAlterConfigs does to a config."""

    SET = 0
    DELETE = 1
    APPEND = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """`action` is an `Action`, or an unknown number, for a request that must be refused."""

    name: str = INTERVAL
    action: int = Action.SET
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """The changes of one resource."""

    resource: str
    changes: tuple[ConfigChange, ...]
    type: int = CLIENT_METRICS


@dataclass(frozen=True, slots=True)
class ResourceResult:
    """An error code, and the `interval.ms` of a resource; None: it is not set."""

    error: int
    value: int | None


def alter(alterations: Iterable[Alteration], *, validate_only: bool = False) -> bytes:
    """Body of an IncrementalAlterConfigs."""
    resources = [
        bytes((each.type,)) + string(each.resource) + array(list(map(_change, each.changes)))
        for each in alterations
    ]
    tagged = [resource + _NO_TAGS for resource in resources]
    return array(tagged) + bytes((validate_only,)) + _NO_TAGS


def describe(resources: Iterable[str]) -> bytes:
    """Body of a DescribeConfigs of `interval.ms`, without synonyms."""
    kind = bytes((CLIENT_METRICS,))
    return array([kind + string(each) + _ONE_CONFIG + _NO_TAGS for each in resources]) + _NO_EXTRAS


def read_altered(body: bytes, resources: Sequence[str]) -> list[int]:
    """Error codes of the requested resources, in that order. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    errors: dict[str, int] = {}
    for _ in range(reader.count()):
        error = reader.int16()
        reader.string()
        reader.skip(1)  # resource type
        _enter(errors, reader.name(), error)
        reader.tags()
    reader.end()
    return _in_order(errors, resources)


def read_described(body: bytes, resources: Sequence[str]) -> list[ResourceResult]:
    """The result of each resource, in the order requested. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    results: dict[str, ResourceResult] = {}
    for _ in range(reader.count()):
        error = reader.int16()
        reader.string()
        reader.skip(1)  # resource type
        name = reader.name()
        values = [_entry(reader) for _ in range(reader.count())]
        reader.tags()
        value = next((value for value in reversed(values) if value is not None), None)
        _enter(results, name, ResourceResult(error, value))
    reader.end()
    return _in_order(results, resources)


def _change(change: ConfigChange) -> bytes:
    value = string(change.value) if change.value is not None else _NULL
    return b"".join((string(change.name), bytes((change.action,)), value, _NO_TAGS))


def _enter(results: dict[str, _Result], name: str, result: _Result) -> None:
    if name in results:
        raise MalformedResponseError(f"two results for {name!r}")
    results[name] = result


def _in_order(results: dict[str, _Result], resources: Sequence[str]) -> list[_Result]:
    if results.keys() != set(resources):
        raise MalformedResponseError(
            f"results for {sorted(results)[:3]}, asked for {sorted(resources)[:3]}"
        )
    return [results[resource] for resource in resources]


def _entry(reader: MessageReader) -> int | None:
    """The value of an entry, if it is the register's and is set."""
    name, text = reader.name(), reader.string()
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
    return _number(text)


def _number(text: str) -> int:
    """Raises MalformedAnswerError for a value that no client could have set."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        raise MalformedResponseError(f"{INTERVAL} is {text.strip(' ')[:20]!r}, not a number")
    return int(number[1])
