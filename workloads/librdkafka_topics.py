"""Topics by librdkafka's admin client (confluent-kafka)."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.history.asked_topics import TopicShape
from checkers.history.events import EventType
from workloads.connection import ClientEntry
from workloads.log_driver import NOBODY
from workloads.topic_driver import TopicResult
from workloads.wire.error_codes import admin_outcome, error_name


class LibrdkafkaTopicClient:
    """Implements `TopicClient`.

    `operation_timeout_s`: how long the brokers are asked to wait until the operation is done.
    """

    def __init__(
        self, entries: Mapping[int, ClientEntry], *, timeout_s: float, operation_timeout_s: float
    ) -> None:
        servers = ",".join(f"{each.host}:{each.port}" for each in entries.values())
        self._client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self._timeout_s = timeout_s
        self._operation_timeout_s = operation_timeout_s

    def aim(self) -> int:
        return NOBODY

    async def create(self, name: str, shape: TopicShape) -> TopicResult:
        topic = NewTopic(
            name,
            num_partitions=shape.partitions,
            replication_factor=shape.replication,
            config=dict(shape.configs),
        )
        requested = self._client.create_topics(
            [topic],
            operation_timeout=self._operation_timeout_s,
            request_timeout=self._timeout_s,
        )
        return await _told(requested[name])

    async def delete(self, name: str) -> TopicResult:
        requested = self._client.delete_topics(
            [name],
            operation_timeout=self._operation_timeout_s,
            request_timeout=self._timeout_s,
        )
        return await _told(requested[name])

    async def close(self) -> None:
        """Nothing to do: the library ends its threads once the client is collected."""


async def _told(requested: Future[None]) -> TopicResult:
    try:
        await asyncio.wrap_future(requested)
    except KafkaException as trouble:
        code = int(trouble.args[0].code())
        if code < 0:  # the library's own: no broker returned it
            return TopicResult(outcome=EventType.INFO, error=str(trouble.args[0].name()))
        return TopicResult(outcome=admin_outcome(code), code=code, error=error_name(code))
    return TopicResult(outcome=EventType.OK, code=0)
