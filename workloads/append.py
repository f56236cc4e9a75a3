"""Sends to logs and polls of them, to be judged for lost, reordered or invented records.

Producers send records to partitions of a few topics; each value is unique in the run. Some use
acks=all, with and without idempotence, some acks=1, some acks=0. Consumers poll, seek back and
switch to other partitions. Now and then a topic is created or deleted. After the cluster is healed,
fresh clients read every partition from its start to the highest offset that any client ever saw:
acknowledged records must be there.

    producing.py, consuming.py,             the processes, which record what they do
    administering.py
    chores.py                               side tasks, one module each
    log_driver.py, topic_driver.py          the interface of a client library
    ending_transactions.py                  the end of a run with transactions
    raw_clients.py, raw_topics.py           our own client: workloads.wire on plain connections
    librdkafka.py, librdkafka_topics.py,    foreign clients
    kafka_python.py
"""

import asyncio
import random
from functools import partial

from checkers.history.asked_topics import TopicShape
from checkers.history.history_kinds import HistoryKind
from workloads.administering import Topics, have_topics, keep_administering
from workloads.append_options import AppendOptions
from workloads.chore import Chore, Tools
from workloads.chores import CHORES
from workloads.committing import commit_whole
from workloads.connection import Driver
from workloads.consuming import Consuming, read_all
from workloads.ending_transactions import EndingTransactions
from workloads.library_clients import (
    LIBRARIES,
    TOPIC_CLIENTS,
    library_clients,
    library_topic_client,
)
from workloads.log_driver import LogClients, LogProducer, Sending
from workloads.operation_history import MAIN, LogHistory
from workloads.partition_leaders import PartitionLeaders, TopicPartition
from workloads.producing import Pace, Producing, Seen
from workloads.raw_clients import RawClients
from workloads.raw_topics import RawTopicClient
from workloads.tally import Tally
from workloads.topic_driver import TopicClient
from workloads.transaction_calls import TransactionCalls
from workloads.workload import Access, Servers, WorkloadKind, client

_TOPICS_WITHIN_S = 60.0
ADMIN_TIMEOUT_S = 5.0
_POLL_INTERVAL_S = 0.05
_MOST_BYTES = 1 << 20  # of one poll
_READERS_AT_ONCE = 6


class AppendWorkload:
    """`run` until told to stop, then `read_all` once the cluster is healed.

    `clients` send and poll, and `topic_client` creates and deletes topics meanwhile. The topics of
    the load are created, and all is read at the end, by the raw driver.
    """

    def __init__(
        self,
        driver: Driver,
        history: LogHistory,
        *,
        seed: int,
        options: AppendOptions,
        clients: LogClients | None = None,
        topic_client: TopicClient | None = None,
    ) -> None:
        self._driver = driver
        self._history = history
        self._seed = seed
        self._options = options
        self._partitions = options.all_partitions()
        self._open = list(self._partitions)  # partitions that producers may still send to
        self._sent = dict.fromkeys(self._partitions, 0)
        self._leaders = PartitionLeaders(driver, self._partitions)
        self._raw = RawClients(driver, self._leaders, options.patience, most_bytes=_MOST_BYTES)
        self._clients: LogClients = clients or self._raw
        self._topic_client = topic_client
        self._seen = Seen()
        self._stopping = False
        self._issued = 0
        self._chores = self._make_chores()

    @property
    def tally(self) -> Tally:
        return self._seen.tally

    @property
    def acknowledged_writes(self) -> int:
        """Sends that were acknowledged with an offset."""
        return self._seen.sends

    @property
    def committed_transactions(self) -> int:
        return self._seen.commits

    @property
    def acknowledged_records(self) -> int:
        return self._seen.records

    @property
    def leader(self) -> int | None:
        """The last known leader of the first partition."""
        return self._leaders.known(self._partitions[0])

    @property
    def is_over(self) -> bool:
        """Whether all operations that it may issue were issued."""
        return 0 < self._options.most_operations <= self._issued

    def stop(self) -> None:
        """Let every process finish its operation; `run` returns within one delivery time-out."""
        self._stopping = True

    async def run(self) -> None:
        """All processes, until `stop`. Raises NoTopicsError, ClientError."""
        await self._have_topics()
        async with asyncio.TaskGroup() as group:
            for number, sending in enumerate(self._options.sendings()):
                # A producer that commits after so many sends is done then.
                until = self._may_end if sending.transactional_id is None else lambda: True
                group.create_task(
                    client(f"producer {number}", self._produce(number, sending), until)
                )
            for number in range(self._options.consumers):
                group.create_task(
                    client(f"consumer {number}", self._consume(number), self._may_end)
                )
            if self._options.admin_rate:
                group.create_task(client("the administrator", self._administer(), self._may_end))
            for name, chore in zip(self._options.chores, self._chores, strict=True):
                group.create_task(client(f"the chore {name}", chore.run(lambda: self._goes_on)))

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Read every partition by fresh clients; returns a sentence for each unfinished one."""
        short = await read_all(
            self._raw.consumer,
            self._history,
            self._seen,
            self._partitions,
            at_once=_READERS_AT_ONCE,
            within_s=within_s,
        )
        short += await self._end_transactions()
        for chore in self._chores:
            short += await chore.look_back()
        return short

    async def close(self) -> None:
        for chore in self._chores:
            await chore.close()
        await self._clients.close()
        await self._leaders.close()

    @property
    def _goes_on(self) -> bool:
        return not (self._stopping or self.is_over)

    def _may_end(self) -> bool:
        return not self._goes_on

    def _may_send(self) -> bool:
        """Counts the send that follows."""
        if not self._goes_on:
            return False
        self._issued += 1
        return True

    def _choose(self, rng: random.Random, sending: Sending) -> TopicPartition:
        """The partition of the next send."""
        may = self._open
        if self._options.commit_after and len(may) > 1:
            may = may[:1] if sending.transactional_id is not None else may[1:]
        chosen = rng.choice(may)
        self._sent[chosen] += 1
        if self._sent[chosen] == self._options.most_each and chosen != self._partitions[0]:
            self._open.remove(chosen)
        return chosen

    def _make_chores(self) -> tuple[Chore, ...]:
        tools = Tools(
            driver=self._driver,
            history=self._history,
            tally=self._seen.tally,
            leaders=self._leaders,
            partitions=self._partitions,
            replication=self._options.replication,
            prefix=self._options.prefix,
            timeout_s=self._options.timeout_s,
        )
        return tuple(CHORES[name](tools) for name in self._options.chores)

    async def _end_transactions(self) -> tuple[str, ...]:
        owners = [each.transactional_id for each in self._options.sendings()]
        ids = [owner for owner in owners if owner is not None]
        if not ids:
            return ()
        ending = EndingTransactions(
            self._driver,
            self._leaders,
            self._history,
            self._seen,
            timeout_s=self._options.timeout_s,
        )
        return await ending.run(ids, self._partitions)

    async def _have_topics(self) -> None:
        options = self._options
        shape = TopicShape(
            partitions=options.partitions,
            replication=options.replication,
            configs=options.configs,
        )
        client = RawTopicClient(self._driver, ADMIN_TIMEOUT_S)
        topics = Topics(client, self._history, shape, self._seen.tally)
        try:
            await have_topics(topics, self._leaders, options.names, _TOPICS_WITHIN_S)
        finally:
            await topics.close()

    async def _produce(self, number: int, sending: Sending) -> None:
        if sending.transactional_id is None:
            producer = self._clients.producer(sending)
            await self._producing(number, sending, producer).run(self._may_send)
        else:
            await self._produce_in_transaction(number, sending, sending.transactional_id)

    async def _produce_in_transaction(self, number: int, sending: Sending, owner: str) -> None:
        producer = self._raw.producer(sending)
        producing = self._producing(number, sending, producer)
        await producing.run(self._may_send)
        if not producing.is_over or producer.producer_id is None:
            return
        calls = TransactionCalls(
            self._driver,
            self._history,
            self._seen.tally,
            phase=MAIN,
            timeout_s=self._options.timeout_s,
        )
        try:
            whole = await commit_whole(calls, owner, producer.producer_id, lambda: self._goes_on)
            self._seen.commits += whole
        finally:
            calls.close()

    def _producing(self, number: int, sending: Sending, producer: LogProducer) -> Producing:
        options = self._options
        return Producing(
            producer,
            self._history,
            self._seen,
            choose=partial(self._choose, self._rng(f"producer:{number}"), sending),
            sending=sending,
            pace=Pace(
                records=min(options.batch_records, self._clients.most_records),
                rate=options.rate / options.producers,
                most=options.commit_after if sending.transactional_id is not None else 0,
            ),
        )

    async def _consume(self, number: int) -> None:
        consuming = Consuming(self._clients.consumer(), self._history, self._seen, MAIN)
        await consuming.keep_polling(
            self._partitions,
            self._rng(f"consumer:{number}"),
            interval_s=_POLL_INTERVAL_S,
            goes_on=lambda: self._goes_on,
        )

    async def _administer(self) -> None:
        options = self._options
        shape = TopicShape(partitions=1, replication=options.replication)
        client = self._topic_client or RawTopicClient(self._driver, ADMIN_TIMEOUT_S)
        topics = Topics(client, self._history, shape, self._seen.tally)
        try:
            await keep_administering(
                topics,
                self._rng("admin"),
                f"{options.prefix}-admin",
                options.admin_rate,
                lambda: self._goes_on,
            )
        finally:
            await topics.close()

    def _rng(self, name: str) -> random.Random:
        return random.Random(f"{self._seed}:{name}")


def _make(options: AppendOptions, access: Access, history: LogHistory, seed: int) -> AppendWorkload:
    """The scenario's own clients, or those of the requested library."""
    clients = (
        access.clients(access.driver, options)
        if access.clients is not None
        else library_clients(access.client, access.entries, options.patience)
    )
    return AppendWorkload(
        access.driver,
        history,
        seed=seed,
        options=options,
        clients=clients,
        topic_client=library_topic_client(access.topic_client, access.entries, ADMIN_TIMEOUT_S),
    )


APPEND = WorkloadKind(
    name="append",
    options=AppendOptions,
    history=HistoryKind.LOG,
    servers=Servers.BROKERS,
    make=_make,
    libraries=LIBRARIES,
    topic_clients=TOPIC_CLIENTS,
    shrinks=(("producers", 1),),
    topics=lambda options: options.names,
)
