"""Controls: runs that must be invalid on any target, or the harness is blind.

`LYING_FSYNC` is a scenario for containers: an unmodified node with a disk that acknowledges every
sync and does none loses its power. `without_an_acknowledged_write` and `without_its_record` remove
an acknowledged write from a valid run: from the clients' records, or from the disks. All counts
still match: otherwise the judge would only report missing evidence. Other controls have lying
clients of logs. `chaos.selftest.trying` makes a disk that lacks one acknowledged record.

`CONTROLS` are scenarios that `run` runs by name, and that no list shows.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from chaos.cluster.interface import DiskTrouble
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Schedule, spread
from chaos.nemesis.victims import AllVoters
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC
from checkers.evidence.missing import rows_to_count
from checkers.history.events import EventType
from checkers.history.sealed_run import Run
from workloads.append import AppendOptions
from workloads.clients.log_driver import LogConsumer, LogProducer, Sending, SendResult
from workloads.clients.raw_clients import RawClients
from workloads.connection import Connection, Driver, LostError, Response
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.wire.header import Api

_CUT = PowerOff(victim=AllVoters(), disks=DiskTrouble.LYING)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    return spread([_CUT], duration_s=duration_s, rng=rng, held_share=0.1)


LYING_FSYNC = Scenario(
    name="lying-fsync",
    summary="disks acknowledge syncs that they never do, and all power fails: must be invalid",
    description=(
        "No node can keep its promises on such disks, and the judge has to find that acknowledged "
        "writes are lost. It tests the harness, not the node."
    ),
    faults=(_CUT,),
    draw=_draw,
    default_duration_s=8.0,
)


class NothingToDropError(Exception):
    """The run has no acknowledged write with a value that was read."""


def without_an_acknowledged_write(run: Run) -> Run:
    """The same run with a read in place of an acknowledged write of a value that others read
    as well."""
    key, value = _victim(run)
    ops = run.tables["ops"]
    row = pc.index(_writes_of(ops, key, value), True).as_py()
    names = ops["f"].to_pylist()
    names[row] = "read"
    column = ops.schema.get_field_index("f")
    ops = ops.set_column(column, ops.schema.field(column), pa.array(names, ops["f"].type))
    return replace(run, tables={**run.tables, "ops": ops})


def without_its_record(run: Run) -> Run:
    """The same run without the record of an acknowledged write on any disk."""
    key, value = _victim(run)
    records = run.tables["log_records"]
    gone = pc.fill_null(
        pc.and_(pc.equal(records["resource"], key), pc.equal(records["value"], str(value))), False
    )
    tables = {**run.tables, "log_records": records.filter(pc.invert(gone))}
    return replace(run, tables=tables, rows=rows_to_count(tables) if run.rows else run.rows)


def _writes_of(ops: pa.Table, key: str, value: int) -> pa.ChunkedArray:
    """For each operation, whether it writes that value."""
    mine = pc.and_(pc.equal(ops["key"], key), pc.equal(ops["value"], value))
    return pc.fill_null(pc.and_(pc.equal(ops["f"], "write"), mine), False)


def _victim(run: Run) -> tuple[str, int]:
    """Key and value of a write that was sent only once."""
    ops = run.tables["ops"]
    fine = ops.filter(pc.equal(ops["outcome"], "ok"))
    reads = fine.filter(pc.and_(pc.equal(fine["f"], "read"), fine["value"].is_valid()))
    seen = set(zip(reads["key"].to_pylist(), reads["value"].to_pylist(), strict=True))
    asked = ops.filter(pc.equal(ops["f"], "write"))
    times = Counter(zip(asked["key"].to_pylist(), asked["value"].to_pylist(), strict=True))
    writes = fine.filter(pc.equal(fine["f"], "write"))
    for written in zip(writes["key"].to_pylist(), writes["value"].to_pylist(), strict=True):
        if written in seen and times[written] == 1:
            return written
    raise NothingToDropError(f"{run.info.run_id}: no acknowledged write was read")


# Clients of logs that record lies, and answers that never reach them.
#
# Each function makes the clients of one load (`Scenario.clients`). The rest of the harness is
# unchanged: they send to a real cluster, and their statements are recorded.


LOST_EVERY = 25  # answers to Produce
_MOST_BYTES = 1 << 20  # of one poll


def hasty_clients(driver: Driver, options: AppendOptions) -> "PlantedClients":
    """Clients that acknowledge before they send."""
    return _planted(driver, options, HastyProducer)


def deaf_clients(driver: Driver, options: AppendOptions) -> "PlantedClients":
    """Truthful clients that miss some answers: they record an unknown outcome."""
    return _planted(LossyDriver(driver), options, lambda producer: producer)


def rash_clients(driver: Driver, options: AppendOptions) -> "PlantedClients":
    """Clients that miss answers too, and record a failure."""
    return _planted(LossyDriver(driver), options, RashProducer)


def _planted(
    driver: Driver, options: AppendOptions, plant: Callable[[LogProducer], LogProducer]
) -> "PlantedClients":
    leaders = PartitionLeaders(driver, options.all_partitions())
    raw = RawClients(driver, leaders, options.patience, most_bytes=_MOST_BYTES)
    return PlantedClients(raw=raw, leaders=leaders, plant=plant)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedClients:
    """The raw driver's clients, with altered producers. Implements `LogClients`."""

    raw: RawClients
    leaders: PartitionLeaders
    plant: Callable[[LogProducer], LogProducer]

    @property
    def most_records(self) -> int:
        return self.raw.most_records

    def producer(self, sending: Sending) -> LogProducer:
        return self.plant(self.raw.producer(sending))

    def consumer(self) -> LogConsumer:
        return self.raw.consumer()

    async def close(self) -> None:
        await self.raw.close()
        await self.leaders.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    partition: TopicPartition
    value: int
    records: int


@dataclass(slots=True)
class HastyProducer:
    """Records `ok` at once, and sends when it has the next record; it never sends the last one.

    Its offset would be right if no other client sent to the partition.
    """

    producer: LogProducer
    _ends: dict[TopicPartition, int] = field(default_factory=dict)
    _waiting: _Waiting | None = None

    async def prepare(self, partition: TopicPartition) -> int:
        return await self.producer.prepare(partition)

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        before = self._waiting
        self._waiting = _Waiting(partition=partition, value=value, records=records)
        if before is not None:
            await self._really_send(before)
        offset = self._ends.get(partition, 0)
        self._ends[partition] = offset + records
        return SendResult(outcome=EventType.OK, offset=offset)

    async def close(self) -> None:
        await self.producer.close()

    async def _really_send(self, waiting: _Waiting) -> None:
        await self.producer.prepare(waiting.partition)
        sent = await self.producer.send(waiting.partition, waiting.value, waiting.records)
        if sent.offset is not None:
            self._ends[waiting.partition] = sent.offset + waiting.records


@dataclass(slots=True)
class RashProducer:
    """Records `fail` for every unknown outcome."""

    producer: LogProducer

    async def prepare(self, partition: TopicPartition) -> int:
        return await self.producer.prepare(partition)

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        sent = await self.producer.send(partition, value, records)
        return replace(sent, outcome=EventType.FAIL) if sent.outcome is EventType.INFO else sent

    async def close(self) -> None:
        await self.producer.close()


class LossyDriver:
    """A driver that loses every `LOST_EVERY`th answer to a Produce, and the connection with it.
    Implements `Driver`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._answers = 0

    @property
    def nodes(self) -> tuple[int, ...]:
        return self._driver.nodes

    async def connect(self, node: int, timeout_s: float) -> Connection:
        return _LossyConnection(await self._driver.connect(node, timeout_s), self.is_lost)

    def is_lost(self) -> bool:
        """Count an answer; whether to lose it."""
        self._answers += 1
        return self._answers % LOST_EVERY == 0


@dataclass(frozen=True, slots=True)
class _LossyConnection:
    connection: Connection
    is_lost: Callable[[], bool]

    @property
    def closed(self) -> bool:
        return self.connection.closed

    async def send(
        self, api: Api, body: bytes, timeout_s: float, read: Callable[[bytes], Response]
    ) -> Response:
        response = await self.connection.send(api, body, timeout_s, read)
        if api is Api.PRODUCE and self.is_lost():
            self.connection.close()
            raise LostError("its answer was dropped on the way")
        return response

    async def tell(self, api: Api, body: bytes, timeout_s: float) -> None:
        await self.connection.tell(api, body, timeout_s)

    def close(self) -> None:
        self.connection.close()


# A few seconds of appends to brokers without faults, by clients of four kinds.
#
# Only the clients are wrong in these runs. Two must be valid: those of truthful clients, whether
# all answers reach them or not.


_LOAD = replace(PROMISED, partitions=2, rate=200.0)
_DURATION_S = 5.0

QUIET_BROKERS = Scenario(
    name="quiet-brokers",
    summary="clients append to brokers without faults, and record the truth",
    description=(
        "The baseline of the controls of brokers: nothing is planted, and no node may be accused."
    ),
    faults=(),
    default_duration_s=_DURATION_S,
    load=_LOAD,
    settings=TWO_IN_SYNC,
)

LOST_ANSWERS = replace(
    QUIET_BROKERS,
    name="lost-answers",
    summary="some acknowledgements never reach their client, which records an unknown outcome",
    description=(
        "The records are there all the same, and are counted as recovered. An idempotent producer "
        "sends them again, and gets their offsets. No node may be accused."
    ),
    clients=deaf_clients,
)

RASH_CLIENT = replace(
    QUIET_BROKERS,
    name="rash-client",
    summary="clients record a failure when an answer does not come: must be invalid",
    description=(
        "The records are there, and consumers read records of failed sends: an aborted read (G1a). "
        "It tests the judge, not the brokers."
    ),
    clients=rash_clients,
)

HASTY_CLIENT = replace(
    QUIET_BROKERS,
    name="hasty-client",
    summary="clients record acknowledgements before they send: must be invalid",
    description=(
        "The last records are never sent: they are acknowledged, and no broker has them; the "
        "invented offsets belong to other records. It tests the judge, not the brokers."
    ),
    clients=hasty_clients,
)


# The controls by name.


CONTROLS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (LYING_FSYNC, QUIET_BROKERS, LOST_ANSWERS, RASH_CLIENT, HASTY_CLIENT)
}
