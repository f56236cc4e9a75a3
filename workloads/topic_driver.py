"""The interface through which topics are created and deleted by any client library."""

from dataclasses import dataclass
from typing import Protocol

from checkers.history.asked_topics import TopicShape
from checkers.history.events import EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """The outcome of a request; `code` is the answer's, if there was a proper one."""

    outcome: EventType
    code: int | None = None
    error: str | None = None


class TopicClient(Protocol):
    """One request at a time."""

    def aim(self) -> int:
        """The node of the next request, or `NOBODY`."""

    async def create(self, name: str, shape: TopicShape) -> TopicResult: ...

    async def delete(self, name: str) -> TopicResult: ...

    async def close(self) -> None: ...
