"""Sends to logs and polls of them, to be judged for lost, reordered or invented records.

Producers send records to partitions of a few topics; each value is unique in the run. Some use
acks=all, with and without idempotence, some acks=1, some acks=0. Consumers poll, seek back and
switch to other partitions. Now and then a topic is created or deleted. After the cluster is healed,
fresh clients read every partition from its start to the highest offset that any client ever saw:
acknowledged records must be there.

The processes and their client libraries are in `workloads.clients`, side tasks in
`workloads.chores`.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from checkers.history.asked import TopicShape, idle_topic, loads_topics
from checkers.history.events import WORD, HistoryKind
from workloads.chores.chore import Chore, Tools
from workloads.chores.groups import CommittingOffsets, JoiningGroups, SyncingCoordinators
from workloads.chores.records import AskingEpochs, DeletingRecords, LookingUp
from workloads.chores.topics import (
    NO_ACTION,
    AlteringConfigs,
    DeletingTopics,
    ReshapingTopics,
)
from workloads.chores.transforming import Transforming
from workloads.clients.administering import RawTopicClient, Topics, have_topics, keep_administering
from workloads.clients.consuming import Consuming, Pace, Producing, Seen, read_all
from workloads.clients.library import TopicClient
from workloads.clients.library_clients import (
    LIBRARIES,
    TOPIC_CLIENTS,
    library_clients,
    library_topic_client,
)
from workloads.clients.log_driver import LogClients, LogProducer, Sending
from workloads.clients.raw_clients import Patience, RawClients
from workloads.clients.transactions import EndingTransactions, TransactionCalls, commit_whole
from workloads.connection import Driver
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import MAIN, LogHistory, Tally
from workloads.wire.client_metrics import Action
from workloads.wire.produce import ALL
from workloads.workload import Access, Servers, WorkloadKind, client

# The chores by name.


CHORES: Mapping[str, Callable[[Tools], Chore]] = {
    "asking-epochs": AskingEpochs,
    "committing-offsets": CommittingOffsets,
    "deleting-records": DeletingRecords,
    "deleting-topics": DeletingTopics,
    "joining-groups": JoiningGroups,
    "known-operations": partial(AlteringConfigs, action=Action.SET),
    "looking-up": LookingUp,
    "reshaping-topics": ReshapingTopics,
    "syncing-coordinators": SyncingCoordinators,
    "transforming": Transforming,
    "unknown-operations": partial(AlteringConfigs, action=NO_ACTION),
}


# How clients append to logs: how many of them, how they send, and to which topics.


_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOptions:
    """What clients do. Raises ValueError if that cannot be done.

    `rate` limits all producers together, in sends a second; 0 lets them run. A request waits
    `timeout_s` for its answer; an idempotent producer goes on for `delivery_s`.
    """

    topics: int = 2
    partitions: int = 3
    replication: int = 3
    idle_partitions: int = 0  # of one topic more, that no record is sent to
    configs: Mapping[str, str] = field(default_factory=lambda: {_MIN_ISR: "2"})
    prefix: str = "append"
    producers: int = 20
    consumers: int = 3
    acks_none_share: float = 0.1  # of producers
    acks_leader_share: float = 0.2
    idempotent_share: float = 0.5  # of those with acks=all
    # Idempotent producers send within a transaction, and leave it open; after the final reads
    # producers with their ids end all of them. Our own clients only.
    transactional: bool = False
    # Acknowledged sends after which a producer commits and stops; 0: never. With several
    # partitions, the first is for such transactions only.
    commit_after: int = 0
    chores: tuple[str, ...] = ()  # side tasks, by their names in `workloads.append`
    record_bytes: int = 1024
    batch_records: int = 1  # in one send
    rate: float = 0.0
    admin_rate: float = 0.5  # topics created or deleted a second
    timeout_s: float = 1.0
    delivery_s: float = 5.0
    # Sends to each partition but the first, which then gets none; 0: no limit.
    most_each: int = 0
    most_operations: int = 0  # sends before the final reads; 0: until told to stop

    def __post_init__(self) -> None:
        if self.record_bytes < WORD or self.record_bytes % WORD:
            raise ValueError(
                f"records of {self.record_bytes} bytes cannot be told apart from damaged ones; "
                f"take a multiple of {WORD}"
            )

    @property
    def patience(self) -> Patience:
        return Patience(request_s=self.timeout_s, delivery_s=self.delivery_s)

    @property
    def concurrency(self) -> int:
        """Processes that send."""
        return self.producers

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With the user's overrides; topics have the target's `min_isr`, or no value of their own
        where the files of brokers differ (`broker_min_isr`), and as many replicas as its
        `replication`, at most its `brokers`. An idle one has its `num.partitions`."""
        idle = self.idle_partitions and _count(settings, "num.partitions", self.idle_partitions)
        wanted = _count(settings, "replication", self.replication)
        configs = {**self.configs}
        if "min_isr" in settings:
            configs[_MIN_ISR] = settings["min_isr"]
        if "broker_min_isr" in settings:
            configs.pop(_MIN_ISR, None)
        return replace(
            self,
            producers=concurrency or self.producers,
            rate=rate or self.rate,
            idle_partitions=idle,
            replication=min(wanted, _count(settings, "brokers", wanted)),
            configs=configs,
        )

    @property
    def names(self) -> tuple[str, ...]:
        return loads_topics(self.prefix, self.topics)

    def all_partitions(self) -> tuple[TopicPartition, ...]:
        numbers = range(self.partitions)
        return tuple(TopicPartition(name, number) for name in self.names for number in numbers)

    def sendings(self) -> tuple[Sending, ...]:
        """How each producer sends."""
        none = round(self.producers * self.acks_none_share)
        leader = round(self.producers * self.acks_leader_share)
        rest = self.producers - none - leader
        idempotent = round(rest * self.idempotent_share)
        ways = [(0, False)] * none + [(1, False)] * leader
        ways += [(ALL, True)] * idempotent + [(ALL, False)] * (rest - idempotent)
        return tuple(
            Sending(
                acks=acks,
                idempotent=repeats,
                record_bytes=self.record_bytes,
                transactional_id=f"{self.prefix}-{n}" if repeats and self.transactional else None,
            )
            for n, (acks, repeats) in enumerate(ways[: self.producers])
        )


def _count(settings: Mapping[str, str], name: str, usual: int) -> int:
    """The target refuses what is not a number."""
    word = settings.get(name, "")
    return int(word) if word.isdecimal() else usual


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
        """The idle one first: brokers make logs in the order of the metadata log, so all of its
        logs are made once the others have a record on every replica.
        """
        options = self._options
        shape = TopicShape(
            partitions=options.partitions,
            replication=options.replication,
            configs=options.configs,
        )
        idle = replace(shape, partitions=options.idle_partitions)
        others = {idle_topic(options.prefix): idle} if options.idle_partitions else {}
        client = RawTopicClient(self._driver, ADMIN_TIMEOUT_S)
        topics = Topics(client, self._history, shape, self._seen.tally)
        try:
            await have_topics(topics, self._leaders, options.names, _TOPICS_WITHIN_S, others=others)
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
