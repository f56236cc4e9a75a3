"""How clusters with brokers reach the moments: those of Apache Kafka, and some of our own node."""

from collections.abc import Mapping

from chaos.cluster.interface import DiskTrouble
from chaos.cluster.powers import Killable, ReplicaMoving, Syncable
from chaos.labs.audit.moment import Stage, set_while_syncs_wait, told_of, until
from checkers.disk.metadata_log import read_metadata_log
from checkers.disk.segments import read_offsets

TOPIC = "orders"
GROUP = "readers"
_FEW, _MANY = 1, 200  # records
_SMALL, _PARTITIONS = 100, 2  # bytes of a record
_LARGE = 10_000
_ROLLS = 220  # large records that fill two segments of 1 MiB
_WHILE_SLOW = 2  # acknowledgements
_COMMITTED = "committed"  # a transactional id
_NEVER = (1 << 63) - 1  # after this many records, a log is synced
_OPEN_FOR_S = 20  # the time-out of a transaction that is left open
_RETENTION_AFTER_S = 16.0  # retention runs for the first time well before (RETENTION)
# Kafka's retention runs after 30 s for the first time, and every 5 minutes. Here it runs after the
# questions were asked for the first time.
RETENTION = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "11000"}
QUICK_CHECKPOINTS = {
    "log.flush.offset.checkpoint.interval.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "500",
}
QUICK_TRANSACTIONS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
SYNCED_COORDINATORS = {**QUICK_TRANSACTIONS, "log.flush.interval.messages": "1"}
QUICK_SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "500"}


async def formatted(stage: Stage) -> None:
    """No node has run; the only promise is that all start and answer."""


async def first_start(stage: Stage) -> None:
    """It answers; a topic shows that it goes on with the same metadata."""
    await topic_created(stage)


async def topic_created(stage: Stage) -> None:
    configs = {"retention.ms": "3600000"}
    await stage.client.create_topic(TOPIC, _PARTITIONS, configs)
    stage.acknowledged(stage.client.topic(TOPIC), "there", promised=True)
    for name, value in configs.items():
        stage.acknowledged(stage.client.config(TOPIC, name), value, promised=True)


async def record_acknowledged(stage: Stage) -> None:
    await topic_created(stage)
    await _send(stage, TOPIC, _PARTITIONS, _MANY, promised=stage.flushed)


async def segment_rolled(stage: Stage) -> None:
    """Within a transaction that stays open. The rolled segment is flushed, and reported so."""
    client = stage.client
    await topic_of_small_segments(stage)
    opened = await client.transactional("never-ended", _OPEN_FOR_S)
    await client.send(TOPIC, 0, [b"within a transaction"], opened)
    values = await fill_segments(stage)
    await until(
        lambda: _checkpointed(stage, "recovery-point-offset-checkpoint", f"{TOPIC}-0"),
        "the recovery point of rolled segments",
    )
    records = told_of([b"within a transaction", *values])
    stage.acknowledged(client.records(TOPIC, 0), records, promised=stage.flushed)
    stage.acknowledged_later(
        client.readers_reach_the_end(TOPIC, 0, within_s=2.0 * _OPEN_FOR_S), "yes", promised=True
    )


async def topic_of_small_segments(stage: Stage) -> None:
    await stage.client.create_topic(TOPIC, 1, {"segment.bytes": str(1 << 20)})
    stage.acknowledged(stage.client.topic(TOPIC), "there", promised=True)


async def fill_segments(stage: Stage) -> list[bytes]:
    """Fill two of them; returns the records."""
    values = [_value(number, _LARGE) for number in range(_ROLLS)]
    await stage.client.send(TOPIC, 0, values, await stage.client.producer())
    return values


async def leader_elected(stage: Stage) -> None:
    """Of one broker: it was killed, and leads again in another epoch."""
    await topic_created(stage)
    values = await _send_to(stage, TOPIC, 0, _MANY)
    await stage.client.close()
    assert isinstance(stage.cluster, Killable)
    for node in stage.victims:
        await stage.cluster.kill(node)
        await stage.cluster.start(node)
    values += await _send_to(stage, TOPIC, 0, _MANY)
    stage.acknowledged(stage.client.records(TOPIC, 0), told_of(values), promised=stage.flushed)


async def snapshot_taken(stage: Stage) -> None:
    """Of the metadata log; topics are created until a snapshot exists."""
    made = 0

    async def there() -> bool:
        nonlocal made
        made += 1
        name = f"{TOPIC}-of-{made}"
        await stage.client.create_topic(name, 1)
        stage.acknowledged(stage.client.topic(name), "there", promised=True)
        return await has_snapshot(stage)

    await until(there, "a snapshot of the metadata log")


async def has_snapshot(stage: Stage) -> bool:
    """Whether the metadata log has a snapshot beside that of the format."""
    files = await stage.files()
    taken = [path for path in files if path.match("__cluster_metadata-0/*-*.checkpoint")]
    return any(not path.name.startswith("0" * 20) for path in taken)


async def high_watermark_checkpointed(stage: Stage) -> None:
    await record_acknowledged(stage)
    await until(
        lambda: _checkpointed(stage, "replication-offset-checkpoint", f"{TOPIC}-0"),
        "the checkpoint of high watermarks",
    )


async def offsets_committed(stage: Stage) -> None:
    await record_acknowledged(stage)
    await stage.client.commit_offset(GROUP, TOPIC, _MANY)
    question = stage.client.committed_offset(GROUP, TOPIC)
    stage.acknowledged(question, str(_MANY), promised=stage.flushed)


async def syncs_waiting(stage: Stage) -> None:
    """Every sync of a lone controller takes a second: whenever the power fails, the sync is waiting
    that belongs to the last acknowledgement. Several controllers, which would lose each other with
    that, sync in some tens of milliseconds. No topic is created, since a broker would be about to
    write its files."""
    is_alone = len(stage.victims) == 1
    trouble = DiskTrouble.STALLED if is_alone else DiskTrouble.SLOW
    await set_while_syncs_wait(stage, trouble, _WHILE_SLOW)


async def replica_moved(stage: Stage) -> None:
    """Between log directories. All was synced before, so all is promised."""
    await topic_created(stage)
    await _send(stage, TOPIC, _PARTITIONS, _MANY, promised=True)
    cluster = stage.cluster
    assert isinstance(cluster, Syncable)
    assert isinstance(cluster, ReplicaMoving)
    for node in stage.victims:
        await cluster.sync_disk(node)
        await cluster.move_replicas(node)


async def log_directory_assigned(stage: Stage) -> None:
    """The broker has reported to the controller where its replicas are."""
    await topic_created(stage)
    await until(lambda: _assigned(stage), "log directories in the metadata log")
    where = stage.client.directory_of(TOPIC, _PARTITIONS)
    stage.acknowledged(where, await where.ask(), promised=True)


async def transaction_committed(stage: Stage) -> None:
    await _commit(stage, {}, synced=False)


async def commit_remembered(stage: Stage) -> None:
    """Coordinators sync their notes, the partition does not sync its records (unless the mode
    requires it), and all is on the disk except what the commit adds."""
    unsynced = {} if stage.flushed else {"flush.messages": str(_NEVER)}
    await _commit(stage, unsynced, synced=True)
    await until(
        lambda: stage.client.is_committed(_COMMITTED), "the commit in the coordinator's log"
    )


async def _commit(stage: Stage, configs: Mapping[str, str], *, synced: bool) -> None:
    """Commit a transaction; if requested, the disks are synced just before it ends."""
    client = stage.client
    await client.create_topic(TOPIC, 1, configs)
    stage.acknowledged(client.topic(TOPIC), "there", promised=True)
    producer = await client.transactional(_COMMITTED, _OPEN_FOR_S)
    values = [_value(number, _SMALL) for number in range(_MANY)]
    await client.send(TOPIC, 0, values, producer)
    for node in stage.victims if synced else ():
        assert isinstance(stage.cluster, Syncable)
        await stage.cluster.sync_disk(node)
    await client.commit(producer)
    records = client.records(TOPIC, 0, committed=True)
    stage.acknowledged(records, told_of(values), promised=stage.flushed)
    reach = client.readers_reach_the_end(TOPIC, 0, within_s=2.0 * _OPEN_FOR_S)
    stage.acknowledged(reach, "yes", promised=True)


async def clean_stop(stage: Stage) -> None:
    """All is flushed before it ends, so all is promised; and retention finds nothing old."""
    for (topic, partition), records in (await sent_before_a_stop(stage)).items():
        stay = stage.client.records_stay(topic, partition, records, for_s=_RETENTION_AFTER_S)
        stage.acknowledged_later(stay, records, promised=True)


async def sent_before_a_stop(stage: Stage) -> dict[tuple[str, int], str]:
    """Promised, for partitions with few records, too; the answer about the records of each."""
    client = stage.client
    await topic_created(stage)
    few = "few-records"
    await client.create_topic(few, 10)
    sent = await _send(stage, TOPIC, _PARTITIONS, _MANY, promised=True)
    sent |= await _send(stage, few, 10, _FEW, promised=True)
    for topic, partition in sent:
        stage.acknowledged(client.offset_by_time(topic, partition), "0", promised=True)
    return sent


async def controller_stopped(stage: Stage) -> None:
    """The last record of its metadata log was acknowledged before it ended."""
    await topic_created(stage)


async def _send(
    stage: Stage, topic: str, partitions: int, records: int, *, promised: bool
) -> dict[tuple[str, int], str]:
    """Send to each partition; the answer about its records."""
    sent = {}
    for partition in range(partitions):
        values = told_of(await _send_to(stage, topic, partition, records))
        stage.acknowledged(stage.client.records(topic, partition), values, promised=promised)
        sent[topic, partition] = values
    return sent


async def _send_to(stage: Stage, topic: str, partition: int, records: int) -> list[bytes]:
    values = [_value(number, _SMALL) for number in range(records)]
    await stage.client.send(topic, partition, values, await stage.client.producer())
    return values


def _value(number: int, size: int) -> bytes:
    return str(number).encode().rjust(size, b".")


async def _checkpointed(stage: Stage, name: str, partition: str) -> bool:
    found = [path for path in await stage.files() if path.name == name]
    return any(read_offsets(path).get(partition, 0) > 0 for path in found)


async def _assigned(stage: Stage) -> bool:
    """Every partition has a change that names a directory."""
    logs = {path.parent for path in await stage.files() if path.match("__cluster_metadata-0/*.log")}
    rows = [row for log in logs for row in read_metadata_log(log, 0, "").records]
    changes = [str(row["detail"]) for row in rows if row["type"] == "PartitionChange"]
    return sum('"directories"' in change for change in changes) >= _PARTITIONS
