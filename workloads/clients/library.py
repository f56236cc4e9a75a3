"""What client libraries with threads of their own share, and their interface to create and delete
topics."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

from checkers.history.asked import TopicShape
from checkers.history.events import NOT_SENT, EventType, value_in
from workloads.clients.log_driver import SendResult
from workloads.operation_history import Span
from workloads.wire.error_codes import ErrorCode

# The interface through which topics are created and deleted by any client library.


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """The outcome of a request; `code` is the answer's, if there was a proper one."""

    outcome: EventType
    code: int | None = None
    error: str | None = None


class TopicClient(Protocol):
    """One request at a time."""

    def aim(self) -> int:
        """The node of the next request, or `NO_NODE`."""

    async def create(self, name: str, shape: TopicShape) -> TopicResult: ...

    async def delete(self, name: str) -> TopicResult: ...

    async def close(self) -> None: ...


_Result = TypeVar("_Result")
Report = Callable[[SendResult], None]

# Errors of a send that the library attempted once, which prove that nothing was appended. A library
# does not return the offset that came with an error, so NOT_LEADER_OR_FOLLOWER and
# UNKNOWN_TOPIC_OR_PARTITION, which may follow an append, prove nothing here (`wire.error_codes`).
REFUSALS = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A record as a library gave it to its user."""

    key: str
    offset: int
    data: bytes | None
    epoch: int | None


async def reported(submit: Callable[[Report], Awaitable[None]], timeout_s: float) -> SendResult:
    """Submit a record, and wait for its delivery report from a thread of the library."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[SendResult] = loop.create_future()

    def settle(sent: SendResult) -> None:
        if not future.done():
            future.set_result(sent)

    def report(sent: SendResult) -> None:
        loop.call_soon_threadsafe(settle, sent)

    try:
        async with asyncio.timeout(timeout_s):
            await submit(report)
            return await future
    except TimeoutError:
        return SendResult(outcome=EventType.INFO, error="no delivery report")


async def in_thread(pool: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
    """Run a blocking call without blocking the event loop."""
    return await asyncio.get_running_loop().run_in_executor(pool, work)


def spans_of(records: Iterable[Delivered]) -> list[Span]:
    """Spans of consecutive records, in the order given."""
    spans: list[Span] = []
    for record in records:
        value = value_in(record.data)
        last = spans[-1] if spans else None
        if last is not None and _goes_on(last, record, value):
            value, offset, count = last.value, last.offset, last.records + 1
            spans[-1] = _span(record, value, offset, count)
        else:
            spans.append(_span(record, value, record.offset, 1))
    return spans


def _goes_on(last: Span, record: Delivered, value: int) -> bool:
    assert last.offset is not None, "what was polled has an offset"
    return (
        value != NOT_SENT
        and (last.key, last.epoch) == (record.key, record.epoch)
        and (last.offset + last.records, last.value + last.records) == (record.offset, value)
    )


def _span(record: Delivered, value: int, offset: int | None, count: int) -> Span:
    return Span(key=record.key, value=value, records=count, offset=offset, epoch=record.epoch)
