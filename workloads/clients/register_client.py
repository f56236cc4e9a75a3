"""A client of registers: one request in flight, with one operation for each named register; valid
and invalid requests."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from checkers.history.events import (
    ACCEPTED,
    REFUSED,
    SET_TO_NULL,
    TWICE_IN_RESOURCE,
    UNANSWERED,
    EventType,
)
from workloads.connection import Connection, Driver, LostError, NotSentError
from workloads.leader import LeaderFinder
from workloads.operation_history import DELETE, READ, WRITE, History, Tally
from workloads.wire.client_metrics import (
    CLIENT_METRICS,
    INTERVAL,
    LOWEST_INTERVAL,
    Action,
    Alteration,
    ConfigChange,
    ResourceResult,
    alter,
    describe,
    read_altered,
    read_described,
)
from workloads.wire.header import Api

# Requests to registers, and the ways in which they can be wrong.
#
# A request that names several registers is one operation for each (`checkers.history.events`).
# Kafka alters each resource whole or not at all, whatever happens to the others of the request; the
# records of those that it does alter are one batch (ConfigurationControlManager, `atomicOf`).


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


# Errors of an alteration that prove that it was refused before anything was appended: the request
# itself is invalid. All others, NOT_CONTROLLER (41) among them, may come after an append: a leader
# that resigns returns it for what it had already appended.
REFUSALS = frozenset({17, 29, 31, 35, 40, 42, 44})

_End = tuple[EventType, int | None, str | None]  # outcome, value, error

_NO_NODE = -1
_CONNECT_TIMEOUT_S = 1.0
_SEARCH_S = 1.0
_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2


class RegisterClient:
    """It has as many processes as its requests name registers. After an `info` a process id is not
    used again."""

    def __init__(
        self,
        driver: Driver,
        history: History,
        tally: Tally,
        finder: LeaderFinder,
        timeout_s: float,
    ) -> None:
        self._driver = driver
        self._history = history
        self._tally = tally
        self._finder = finder
        self._timeout_s = timeout_s
        self._processes = [history.new_process()]
        self._connection: Connection | None = None
        self._node = _NO_NODE
        self._troubled = False
        self._pause_s = _PAUSE_S

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def leader(self) -> int:
        """The node to send to; looked up again, after a growing pause, if the last one erred."""
        if self._troubled:
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        found = self._finder.current
        if self._troubled or found is None:
            found = await self._finder.find(_SEARCH_S)
        return found.node if found is not None else _NO_NODE

    async def send(
        self, operations: Sequence[Operation], node: int, phase: str
    ) -> tuple[EventType, ...]:
        """How each of them ended. Either all are reads, or none; no register is named twice."""
        self._begin(operations, node, phase)
        ends: list[_End]
        try:
            told = await self._told(operations, node)
        except NotSentError as trouble:
            ends = [(EventType.FAIL, None, str(trouble))] * len(operations)
        except LostError as trouble:
            lost = str(trouble)
            ends = [_in_doubt(each, lost) for each in operations]
        else:
            ends = [_end(each, response) for each, response in zip(operations, told, strict=True)]
        self._complete(operations, ends)
        return tuple(outcome for outcome, _, _ in ends)

    def _begin(self, operations: Sequence[Operation], node: int, phase: str) -> None:
        while len(self._processes) < len(operations):
            self._processes.append(self._history.new_process())
        request = self._history.new_request() if len(operations) > 1 else None
        for process, each in zip(self._processes, operations, strict=False):
            self._tally.invoke()
            self._history.invoke(process, each.f, each.key, each.value, node, phase, request)

    def _complete(
        self,
        operations: Sequence[Operation],
        ends: Sequence[_End],
    ) -> None:
        used, unused = self._processes[: len(operations)], self._processes[len(operations) :]
        fresh: list[int] = []
        for process, (outcome, value, error) in zip(used, ends, strict=True):
            self._tally.complete(outcome)
            self._history.complete(process, outcome, value, error)
            fresh += [process] if outcome is not EventType.INFO else []
        self._processes = fresh + unused or [self._history.new_process()]
        self._troubled = any(_is_trouble(outcome, error) for outcome, _, error in ends)
        if not self._troubled:
            self._pause_s = _PAUSE_S

    async def _told(self, operations: Sequence[Operation], node: int) -> Sequence[ResourceResult]:
        """Raises NotSentError or LostError."""
        keys = [operation.key for operation in operations]
        connection = await self._connected(node)
        body = body_of(operations)
        if operations[0].f == READ:
            return await connection.send(
                Api.DESCRIBE_CONFIGS,
                body,
                self._timeout_s,
                lambda response: read_described(response, keys),
            )
        errors = await connection.send(
            Api.INCREMENTAL_ALTER_CONFIGS,
            body,
            self._timeout_s,
            lambda response: read_altered(response, keys),
        )
        told = zip(errors, operations, strict=True)
        return [ResourceResult(error, operation.value) for error, operation in told]

    async def _connected(self, node: int) -> Connection:
        if node == _NO_NODE:
            raise NotSentError("no leader found")
        connection = self._connection
        if connection is None or connection.closed or node != self._node:
            self.close()
            connection = await self._driver.connect(node, _CONNECT_TIMEOUT_S)
            self._connection, self._node = connection, node
        return connection


def _in_doubt(operation: Operation, lost: str) -> _End:
    """A read changes nothing, however it ended."""
    if operation.f == READ:
        return EventType.FAIL, None, lost
    return EventType.INFO, None, _unknown(operation.wrong, lost)


def _unknown(wrong: Wrong | None, why: str) -> str:
    """The error text of an alteration with an unknown outcome."""
    return why if wrong is None else f"{UNANSWERED}{wrong.value} ({why})"


def _end(operation: Operation, told: ResourceResult) -> _End:
    """The outcome of an operation that has a result in the answer."""
    if operation.f == READ:
        failed = f"error-{told.error}" if told.error else None
        return (EventType.FAIL, None, failed) if failed else (EventType.OK, told.value, None)
    outcome, error = _altered(operation.wrong, told.error)
    return outcome, operation.value, error


def _altered(wrong: Wrong | None, error: int) -> tuple[EventType, str | None]:
    if wrong is Wrong.VALIDATE_ONLY and not error:
        return EventType.FAIL, f"{REFUSED}{wrong.value}"
    if error in REFUSALS:
        code = f"error-{error}"
        return EventType.FAIL, f"{REFUSED}{wrong.value} ({code})" if wrong is not None else code
    if error:
        return EventType.INFO, _unknown(wrong, f"error-{error}")
    if wrong is not None:
        return EventType.INFO, f"{ACCEPTED}{wrong.value}"
    return EventType.OK, None


def _is_trouble(outcome: EventType, error: str | None) -> bool:
    """Whether another node should be asked next."""
    return outcome is not EventType.OK and not (error or "").startswith(REFUSED)
