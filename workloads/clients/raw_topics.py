"""Topics by the raw driver: any broker forwards the request to the controllers; after an error the
next one is asked."""

from collections.abc import Callable

from checkers.history.asked import TopicShape
from checkers.history.events import EventType
from workloads.clients.library import TopicResult
from workloads.connection import Brokers, Driver, LostError, NotSentError
from workloads.wire.error_codes import admin_outcome, error_name
from workloads.wire.header import Api
from workloads.wire.topic_requests import create_topic, delete_topic, read_created, read_deleted


class RawTopicClient:
    """Implements `TopicClient`."""

    def __init__(self, driver: Driver, timeout_s: float) -> None:
        self._nodes = driver.nodes
        self._brokers = Brokers(driver, timeout_s)
        self._timeout_ms = int(timeout_s * 1000)
        self._turn = 0

    def aim(self) -> int:
        return self._nodes[self._turn % len(self._nodes)]

    async def create(self, name: str, shape: TopicShape) -> TopicResult:
        body = create_topic(
            name,
            partitions=shape.partitions,
            replication=shape.replication,
            configs=shape.configs,
            timeout_ms=self._timeout_ms,
        )
        return self._end(await self._send(name, Api.CREATE_TOPICS, body, read_created))

    async def delete(self, name: str) -> TopicResult:
        body = delete_topic(name, timeout_ms=self._timeout_ms)
        return self._end(await self._send(name, Api.DELETE_TOPICS, body, read_deleted))

    async def close(self) -> None:
        self._brokers.close()

    async def _send(
        self, name: str, api: Api, body: bytes, read: Callable[[bytes, str], int]
    ) -> TopicResult:
        try:
            code = await self._brokers.send(
                self.aim(), api, body, lambda response: read(response, name)
            )
        except NotSentError as trouble:
            return TopicResult(outcome=EventType.FAIL, error=str(trouble))
        except LostError as trouble:
            return TopicResult(outcome=EventType.INFO, error=str(trouble))
        error = error_name(code) if code else None
        return TopicResult(outcome=admin_outcome(code), code=code, error=error)

    def _end(self, told: TopicResult) -> TopicResult:
        if told.outcome is not EventType.OK:
            self._turn += 1
        return told
