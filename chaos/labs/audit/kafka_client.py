"""Brokers of either target, asked by kafka-python: topics, records, offsets, transactions, log
directories.

The library blocks, so its calls are made in threads. Its connections outlive no power cut: `close`
drops them, and the next question opens others.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kafka import IsolationLevel, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from kafka.errors import KafkaError, NotCoordinatorError
from kafka.structs import OffsetAndMetadata
from tenacity import (
    RetryCallState,
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_fixed,
)

from chaos.cluster.interface import Cluster
from chaos.cluster.topology import brokers_of, controllers_of
from chaos.errors import OperatorError
from chaos.labs.audit.moment import Question, comes_true, told_of
from chaos.labs.audit.quorum_client import QuorumClient
from chaos.probes import advertised, driver_for
from workloads.connection import Brokers, LostError, NotSentError
from workloads.wire.header import Api
from workloads.wire.topic_partitions import describe_log_dirs, read_log_dirs

_METADATA_LOG = "__cluster_metadata-0"
_OFFSETS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"
_ANSWERS_WITHIN_S = 30.0
_ASKS_EVERY_S = 0.1
_IMAGES_FOLLOW_WITHIN_S = 10.0
_POLL_MS = 200
_ANY_TIME = 1  # milliseconds since 1970: every record is later
_NONE = "none"
_COMMITTED = "CompleteCommit"

T = TypeVar("T")


class KafkaClient:
    """A client of the brokers of a cluster, and of the `quorum` of its controllers."""

    def __init__(self, cluster: Cluster) -> None:
        brokers = brokers_of(cluster)
        entries = advertised(cluster, brokers)
        self._driver = driver_for(cluster, brokers)
        self.quorum = QuorumClient(cluster, controllers_of(cluster))
        self._common: dict[str, Any] = {
            "bootstrap_servers": [f"{each.host}:{each.port}" for each in entries.values()],
            "client_id": "kraft-chaos",
            "request_timeout_ms": 10_000,
            "reconnect_backoff_max_ms": 500,
        }
        self._admin_or_none: KafkaAdminClient | None = None
        self._consumers: dict[IsolationLevel, KafkaConsumer] = {}
        self._producers: list[KafkaProducer] = []

    async def close(self) -> None:
        """The brokers are not informed about a producer with an open transaction."""
        await asyncio.to_thread(self._close)

    # Writes to brokers. They raise OperatorError unless acknowledged.

    async def create_topic(
        self, name: str, partitions: int, configs: Mapping[str, str] | None = None
    ) -> None:
        shape = {
            "num_partitions": partitions,
            "replication_factor": -1,
            "configs": dict(configs or {}),
        }
        await self._patiently(lambda: self._admin.create_topics({name: shape}))
        await self.topic(name).ask()  # known to the brokers

    async def send(
        self, topic: str, partition: int, values: Sequence[bytes], producer: KafkaProducer
    ) -> None:
        """Send records one after the other; all are acknowledged when it returns."""

        def send() -> None:
            futures = [producer.send(topic, value, partition=partition) for value in values]
            for future in futures:
                future.get(timeout=_ANSWERS_WITHIN_S)

        await self._once(send)

    async def producer(self, **settings: object) -> KafkaProducer:
        made = await asyncio.to_thread(
            lambda: KafkaProducer(**self._common, acks="all", **settings)
        )
        self._producers.append(made)
        return made

    async def transactional(self, name: str, timeout_s: int) -> KafkaProducer:
        """A producer within a new transaction."""
        made = await self.producer(transactional_id=name, transaction_timeout_ms=timeout_s * 1000)
        await self._patiently(made.init_transactions)
        made.begin_transaction()
        return made

    async def commit(self, producer: KafkaProducer) -> None:
        await self._once(producer.commit_transaction)

    async def is_committed(self, name: str) -> bool:
        """Whether the coordinator of that transactional id has recorded that nothing is left to
        do."""
        told = await self._patiently(lambda: self._admin.describe_transactions([name]))
        return bool(told[name].state == _COMMITTED)

    async def commit_offset(self, group: str, topic: str, offset: int) -> None:
        """For the topic's first partition."""
        place = TopicPartition(topic, 0)

        def commit() -> None:
            told = self._admin.alter_group_offsets(
                group, {place: OffsetAndMetadata(offset, "", -1)}
            )
            if (error := told[place]).errno:
                raise error(f"{group} {place}")

        await self._patiently(commit)

    async def committed_end(self) -> int:
        """The end of the committed metadata log, as the leader reports it. Raises OperatorError."""
        return await self.quorum.committed_end()

    # Questions to brokers

    def topic(self, name: str) -> Question:
        def look() -> str:
            return "there" if name in self._admin.list_topics() else "not there"

        return self._of_metadata(f"topic {name}", look)

    def config(self, topic: str, name: str) -> Question:
        def look() -> str:
            told = self._admin.describe_configs([ConfigResource("TOPIC", topic)])
            found = told["topic"][topic].get(name)
            return str(found["value"] if isinstance(found, Mapping) else found)

        return self._of_metadata(f"{name} of {topic}", look)

    def records(self, topic: str, partition: int, *, committed: bool = False) -> Question:
        """The number of records, and a checksum of all."""
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        place = TopicPartition(topic, partition)
        return self._question(
            f"{'committed ' if committed else ''}records of {topic}-{partition}",
            lambda: told_of(self._read(place, level)),
            f"{topic}-{partition}",
            *([_TRANSACTIONS] if committed else []),
        )

    def records_stay(self, topic: str, partition: int, value: str, *, for_s: float) -> Question:
        """The same, asked until the answer changes or the time is over."""
        now = self.records(topic, partition)

        async def is_another() -> bool:
            return await now.ask() != value

        async def ask() -> str:
            await comes_true(is_another, within_s=for_s)
            return await now.ask()

        return Question(text=f"{now.text} after retention", rests_on=now.rests_on, ask=ask)

    def offset_by_time(self, topic: str, partition: int) -> Question:
        """The first offset of a record that is younger than 1970."""
        place = TopicPartition(topic, partition)

        def look() -> str:
            found = self._admin.list_partition_offsets({place: _ANY_TIME})[place]
            return str(found.offset) if found is not None else _NONE

        return self._question(
            f"offset by time of {place.topic}-{partition}", look, f"{topic}-{partition}"
        )

    def readers_reach_the_end(self, topic: str, partition: int, *, within_s: float) -> Question:
        """Whether readers of committed records reach the end of the log within the time."""
        place = TopicPartition(topic, partition)

        def ends() -> str:
            stable, end = (
                self._admin.list_partition_offsets({place: -1}, level)[place].offset
                for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
            )
            return "yes" if stable == end else f"no: stable up to {stable}, end {end}"

        async def reached() -> bool:
            return await self._patiently(ends) == "yes"

        async def ask() -> str:
            await comes_true(reached, within_s=within_s)
            return await self._patiently(ends)

        return Question(
            text=f"readers of committed records reach the end of {topic}-{partition}",
            rests_on=(f"{topic}-{partition}", _TRANSACTIONS),
            ask=ask,
        )

    def committed_offset(self, group: str, topic: str) -> Question:
        place = TopicPartition(topic, 0)

        def look() -> str:
            found = self._admin.list_group_offsets({group: [place]})[group].get(place)
            return str(found.offset) if found is not None else _NONE

        return self._question(f"offset of {group} in {topic}-0", look, _OFFSETS)

    def directory_of(self, topic: str, partitions: int) -> Question:
        """The log directories of its partitions."""

        async def ask() -> str:
            brokers = Brokers(self._driver, _ANSWERS_WITHIN_S)
            try:
                homes = await brokers.send(
                    self._driver.nodes[0], Api.DESCRIBE_LOG_DIRS, describe_log_dirs(), read_log_dirs
                )
            except (NotSentError, LostError) as trouble:
                raise OperatorError(
                    f"the broker does not describe its log directories: {trouble}"
                ) from trouble
            finally:
                brokers.close()
            found = {
                each.partition: home.path
                for home in homes
                for each in home.replicas
                if each.topic == topic
            }
            return ", ".join(found.get(number, _NONE) for number in range(partitions))

        rests_on = (topic, _METADATA_LOG)
        return Question(text=f"log directories of {topic}", rests_on=rests_on, ask=ask)

    # Helpers

    def _question(self, text: str, look: Callable[[], str], *rests_on: str) -> Question:
        return Question(text=text, rests_on=rests_on, ask=lambda: self._patiently(look))

    def _of_metadata(self, text: str, look: Callable[[], str]) -> Question:
        return Question(
            text=text,
            rests_on=(_METADATA_LOG,),
            ask=lambda: self._patiently(look),
            settles_within_s=_IMAGES_FOLLOW_WITHIN_S,
        )

    @property
    def _admin(self) -> KafkaAdminClient:
        if self._admin_or_none is None:
            self._admin_or_none = KafkaAdminClient(**self._common)
        return self._admin_or_none

    def _consumer(self, level: IsolationLevel) -> KafkaConsumer:
        if level not in self._consumers:
            self._consumers[level] = KafkaConsumer(
                **self._common,
                group_id=None,
                enable_auto_commit=False,
                isolation_level=level.name.lower(),
            )
        return self._consumers[level]

    def _read(self, place: TopicPartition, level: IsolationLevel) -> list[bytes]:
        """All records, up to the end that a reader of this isolation level gets."""
        consumer = self._consumer(level)
        consumer.assign([place])
        end = consumer.end_offsets([place], timeout_ms=10_000)[place]
        consumer.seek_to_beginning(place)
        found: list[bytes] = []
        while consumer.position(place, timeout_ms=10_000) < end:
            for batch in consumer.poll(timeout_ms=_POLL_MS).values():
                found += [record.value for record in batch]
        return found

    async def _patiently(self, act: Callable[[], T]) -> T:
        """Retries: brokers that have just started do not know their leaders yet."""
        trying = Retrying(
            retry=retry_if_exception_type(KafkaError),
            stop=stop_after_delay(_ANSWERS_WITHIN_S),
            wait=wait_fixed(_ASKS_EVERY_S),
            before_sleep=self._forget_coordinators,
        )
        try:
            return await asyncio.to_thread(lambda: trying(act))
        except RetryError as error:
            trouble = error.last_attempt.exception()
            raise OperatorError(f"{type(trouble).__name__}: {trouble}") from error

    def _forget_coordinators(self, tried: RetryCallState) -> None:
        """The library keeps the first coordinator that it gets, even an answer that there is
        none."""
        assert tried.outcome is not None
        if isinstance(tried.outcome.exception(), NotCoordinatorError):
            self._close_admin()

    async def _once(self, act: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(act)
        except KafkaError as trouble:
            raise OperatorError(
                f"the write was not acknowledged: {type(trouble).__name__}: {trouble}"
            ) from trouble

    def _close(self) -> None:
        for producer in self._producers:
            producer.close(timeout=0)
        for consumer in self._consumers.values():
            consumer.close(autocommit=False)
        self._close_admin()
        self._producers, self._consumers = [], {}

    def _close_admin(self) -> None:
        if self._admin_or_none is not None:
            self._admin_or_none.close()
        self._admin_or_none = None
