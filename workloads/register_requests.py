"""Requests to registers, and the ways in which they can be wrong.

A request that names several registers is one operation for each (`checkers.history.events`).
Kafka alters each resource whole or not at all, whatever becomes of the others of the request; the
records of those that it does alter are one batch (ConfigurationControlManager, `atomicOf`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from checkers.history.error_words import SET_TO_NULL, TWICE_IN_RESOURCE
from workloads.operation_history import DELETE, READ, WRITE
from workloads.wire.client_metrics import (
    CLIENT_METRICS,
    INTERVAL,
    LOWEST_INTERVAL,
    Action,
    Alteration,
    ConfigChange,
    alter,
    describe,
)

LOWEST, HIGHEST = LOWEST_INTERVAL, 3_600_000  # Kafka's bounds of interval.ms

_NO_TYPE = 3  # of resources
_NO_ACTION = 9


class Wrong(Enum):
    """Why a write must not happen; in the history it stands behind `REFUSED` or `ACCEPTED`."""

    OUT_OF_RANGE = "interval.ms out of its bounds"
    NO_NUMBER = "interval.ms is no number"
    NULL = SET_TO_NULL  # a deletion, where it is not refused
    NO_LIST = "appended to what is no list"
    NO_SUCH_ACTION = "an operation that there is not"
    NO_SUCH_CONFIG = "a config that there is not, beside interval.ms"
    TWICE = TWICE_IN_RESOURCE
    NO_SUCH_TYPE = "a type of resource that there is not"
    VALIDATE_ONLY = "only validated"  # legal, answered without an error, and changes nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation on one register. A write sets `value`; a `wrong` one must be refused.

    `blanks` follow the value; Kafka keeps them, and they mean nothing: with many of them one record
    takes several pages of a disk, and its answer several packets.
    """

    f: str
    key: str
    value: int | None = None
    wrong: Wrong | None = None
    blanks: int = 0


def read(key: str) -> Operation:
    return Operation(f=READ, key=key)


def write(key: str, value: int, wrong: Wrong | None = None, blanks: int = 0) -> Operation:
    return Operation(f=WRITE, key=key, value=value, wrong=wrong, blanks=blanks)


def delete(key: str, wrong: Wrong | None = None) -> Operation:
    return Operation(f=DELETE, key=key, wrong=wrong)


def body_of(operations: Sequence[Operation]) -> bytes:
    """The body of a DescribeConfigs if all of them read, else of an IncrementalAlterConfigs."""
    if operations[0].f == READ:
        return describe(operation.key for operation in operations)
    only = any(operation.wrong is Wrong.VALIDATE_ONLY for operation in operations)
    assert not only or len(operations) == 1, "validation is of a whole request"
    return alter(map(_alteration, operations), validate_only=only)


def _alteration(operation: Operation) -> Alteration:
    return Alteration(
        resource=operation.key,
        changes=_changes(operation),
        type=_NO_TYPE if operation.wrong is Wrong.NO_SUCH_TYPE else CLIENT_METRICS,
    )


def _changes(operation: Operation) -> tuple[ConfigChange, ...]:
    if operation.f == DELETE:
        null = operation.wrong is Wrong.NULL
        return (ConfigChange(value=None) if null else ConfigChange(action=Action.DELETE),)
    legal = ConfigChange(value=f"{operation.value}{' ' * operation.blanks}")
    match operation.wrong:
        case Wrong.NO_NUMBER:
            return (ConfigChange(value=f"{operation.value} ms"),)
        case Wrong.NO_LIST:
            return (ConfigChange(action=Action.APPEND, value=str(operation.value)),)
        case Wrong.NO_SUCH_ACTION:
            return (ConfigChange(action=_NO_ACTION, value=str(operation.value)),)
        case Wrong.NO_SUCH_CONFIG:
            return (legal, ConfigChange(name=f"{INTERVAL}.max", value="1"))
        case Wrong.TWICE:
            return (legal, legal)
        case _:
            return (legal,)
