"""How moments are reached on Apache Kafka."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from chaos.audit.kafka_client import KafkaClient, told_of
from chaos.audit.moment import Stage
from chaos.audit.waiting import until
from chaos.cluster.interface import (
    DiskTrouble,
    DiskTroubling,
    Killable,
    NodeId,
    ReplicaMoving,
    Syncable,
)
from chaos.probes import driver_for
from checkers.disk.files import read_meta_properties, read_offsets
from checkers.disk.metadata_log import read_metadata_log
from checkers.history.events import EventType
from workloads.raw_topics import RawTopicClient
from workloads.topic_driver import TopicShape

KafkaStage = Stage[KafkaClient]

TOPIC = "orders"
GROUP = "readers"
_FEW, _MANY = 1, 200  # records
_SMALL, _PARTITIONS = 100, 2  # bytes of a record
_LARGE = 10_000
_ROLLS = 220  # large records that fill two segments of 1 MiB
_WHILE_SLOW = 6  # acknowledgements, of a topic and its configuration before the disk is slow
_OPEN_FOR_S = 20  # until a coordinator ends a transaction that nobody ends
_RETENTION_AFTER_S = 16.0  # retention looks for the first time well before (RETENTION)
# Kafka looks after 30 s for the first time, and every 5 minutes. Here answers are asked for first.
RETENTION = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "11000"}
QUICK_CHECKPOINTS = {
    "log.flush.offset.checkpoint.interval.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "500",
}
QUICK_TRANSACTIONS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
QUICK_SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "500"}


async def formatted(stage: KafkaStage) -> None:
    """No node has run; that all start and answer is all that there is to keep."""


async def first_start(stage: KafkaStage) -> None:
    """It answers; a topic shows that it goes on with the same metadata."""
    await topic_created(stage)


async def topic_created(stage: KafkaStage) -> None:
    configs = {"retention.ms": "3600000"}
    await stage.client.create_topic(TOPIC, _PARTITIONS, configs)
    stage.acknowledged(stage.client.topic(TOPIC), "there", promised=True)
    for name, value in configs.items():
        stage.acknowledged(stage.client.config(TOPIC, name), value, promised=True)


async def record_acknowledged(stage: KafkaStage) -> None:
    await topic_created(stage)
    await _send(stage, TOPIC, _PARTITIONS, _MANY, promised=stage.flushed)


async def segment_rolled(stage: KafkaStage) -> None:
    """Within a transaction that nobody will end. What was rolled is flushed, and said to be."""
    client = stage.client
    await client.create_topic(TOPIC, 1, {"segment.bytes": str(1 << 20)})
    stage.acknowledged(client.topic(TOPIC), "there", promised=True)
    opened = await client.transactional("never-ended", _OPEN_FOR_S)
    await client.send(TOPIC, 0, [b"within a transaction"], opened)
    values = [_value(number, _LARGE) for number in range(_ROLLS)]
    await client.send(TOPIC, 0, values, await client.producer())
    await until(
        lambda: _checkpointed(stage, "recovery-point-offset-checkpoint", f"{TOPIC}-0"),
        "the recovery point of rolled segments",
    )
    records = told_of([b"within a transaction", *values])
    stage.acknowledged(client.records(TOPIC, 0), records, promised=stage.flushed)
    stage.acknowledged_later(
        client.readers_reach_the_end(TOPIC, 0, within_s=2.0 * _OPEN_FOR_S), "yes", promised=True
    )


async def leader_elected(stage: KafkaStage) -> None:
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


async def snapshot_taken(stage: KafkaStage) -> None:
    """Of the metadata log; topics are created until there is one."""
    made = 0

    async def there() -> bool:
        nonlocal made
        made += 1
        name = f"{TOPIC}-of-{made}"
        await stage.client.create_topic(name, 1)
        stage.acknowledged(stage.client.topic(name), "there", promised=True)
        files = await _look(stage)
        taken = [path for path in files if path.match("__cluster_metadata-0/*-*.checkpoint")]
        return any(not path.name.startswith("0" * 20) for path in taken)

    await until(there, "a snapshot of the metadata log")


async def high_watermark_checkpointed(stage: KafkaStage) -> None:
    await record_acknowledged(stage)
    await until(
        lambda: _checkpointed(stage, "replication-offset-checkpoint", f"{TOPIC}-0"),
        "the checkpoint of high watermarks",
    )


async def offsets_committed(stage: KafkaStage) -> None:
    await record_acknowledged(stage)
    await stage.client.commit_offset(GROUP, TOPIC, _MANY)
    question = stage.client.committed_offset(GROUP, TOPIC)
    stage.acknowledged(question, str(_MANY), promised=stage.flushed)


async def syncs_waiting(stage: KafkaStage) -> None:
    """Topics are created one after the other while every sync takes a second: whenever the power
    fails, the sync waits that belongs to the topic acknowledged last."""
    assert isinstance(stage.cluster, DiskTroubling)
    await topic_created(stage)
    await stage.cluster.trouble_disks(stage.victims, DiskTrouble.STALLED)
    stage.goes_on(_create_topics(stage))
    await until(lambda: _acknowledged(stage, _WHILE_SLOW), "topics acknowledged by a slow disk")


async def replica_moved(stage: KafkaStage) -> None:
    """Between log directories. All was synced before, so all is promised."""
    await topic_created(stage)
    await _send(stage, TOPIC, _PARTITIONS, _MANY, promised=True)
    cluster = stage.cluster
    assert isinstance(cluster, Syncable)
    assert isinstance(cluster, ReplicaMoving)
    for node in stage.victims:
        await cluster.sync_disk(node)
        await cluster.move_replicas(node)


async def log_directory_assigned(stage: KafkaStage) -> None:
    """The controller was told where the broker has put its replicas."""
    await topic_created(stage)
    await until(lambda: _assigned(stage), "log directories in the metadata log")
    where = stage.client.directory_of(TOPIC, _PARTITIONS)
    stage.acknowledged(where, await where.ask(), promised=True)


async def transaction_committed(stage: KafkaStage) -> None:
    client = stage.client
    await client.create_topic(TOPIC, 1)
    stage.acknowledged(client.topic(TOPIC), "there", promised=True)
    producer = await client.transactional("committed", _OPEN_FOR_S)
    values = [_value(number, _SMALL) for number in range(_MANY)]
    await client.send(TOPIC, 0, values, producer)
    await client.commit(producer)
    records = client.records(TOPIC, 0, committed=True)
    stage.acknowledged(records, told_of(values), promised=stage.flushed)
    reach = client.readers_reach_the_end(TOPIC, 0, within_s=2.0 * _OPEN_FOR_S)
    stage.acknowledged(reach, "yes", promised=True)


async def clean_stop(stage: KafkaStage) -> None:
    """All is flushed before it ends, so all is promised: of partitions with few records, too."""
    client = stage.client
    await topic_created(stage)
    few = "few-records"
    await client.create_topic(few, 10)
    sent = await _send(stage, TOPIC, _PARTITIONS, _MANY, promised=True)
    sent |= await _send(stage, few, 10, _FEW, promised=True)
    for (topic, partition), records in sent.items():
        stage.acknowledged(client.offset_by_time(topic, partition), "0", promised=True)
        stay = client.records_stay(topic, partition, records, for_s=_RETENTION_AFTER_S)
        stage.acknowledged_later(stay, records, promised=True)


async def controller_stopped(stage: KafkaStage) -> None:
    """The last of its metadata log was acknowledged before it ended."""
    await topic_created(stage)


async def voter_changed(stage: KafkaStage) -> None:
    """The last of the controllers votes no more."""
    await topic_created(stage)
    voters = await stage.client.voters().ask()
    node, _ = await _remove_voter(stage)
    left = ", ".join(voter for voter in voters.split(", ") if voter != str(node))
    stage.acknowledged(stage.client.voters(), left, promised=True)


async def voter_added(stage: KafkaStage) -> None:
    """It votes again, with the disk that it had."""
    await topic_created(stage)
    voters = await stage.client.voters().ask()
    node, directory_id = await _remove_voter(stage)
    await stage.client.add_voter(node, directory_id)
    stage.acknowledged(stage.client.voters(), voters, promised=True)


async def _remove_voter(stage: KafkaStage) -> tuple[NodeId, str]:
    """The last of the controllers, and the id of its directory."""
    node = max(stage.victims)
    (meta,) = (path for path in await _look(stage) if path.match(f"node-{node}/*/meta.properties"))
    directory_id = read_meta_properties(meta).directory_id
    await stage.client.remove_voter(node, directory_id)
    return node, directory_id


async def _send(
    stage: KafkaStage, topic: str, partitions: int, records: int, *, promised: bool
) -> dict[tuple[str, int], str]:
    """To each partition; what its records are."""
    sent = {}
    for partition in range(partitions):
        values = told_of(await _send_to(stage, topic, partition, records))
        stage.acknowledged(stage.client.records(topic, partition), values, promised=promised)
        sent[topic, partition] = values
    return sent


async def _send_to(stage: KafkaStage, topic: str, partition: int, records: int) -> list[bytes]:
    values = [_value(number, _SMALL) for number in range(records)]
    await stage.client.send(topic, partition, values, await stage.client.producer())
    return values


def _value(number: int, size: int) -> bytes:
    return str(number).encode().rjust(size, b".")


async def _create_topics(stage: KafkaStage) -> None:
    """Until the power fails; what was acknowledged is expected to be there."""
    client = RawTopicClient(driver_for(stage.cluster), timeout_s=10.0)
    shape = TopicShape(partitions=1, replication=1, configs={})
    try:
        for number in itertools.count():
            name = f"{TOPIC}-while-slow-{number}"
            told = await client.create(name, shape)
            if told.outcome is not EventType.OK:
                return  # the power has failed
            stage.acknowledged_later(stage.client.topic(name), "there", promised=True)
    finally:
        await client.close()


async def _acknowledged(stage: KafkaStage, least: int) -> bool:
    return len(stage.expected) >= least


async def _look(stage: KafkaStage) -> Sequence[Path]:
    """All files of the victims now."""
    await stage.cluster.copy_disks(stage.victims, stage.scratch)
    return sorted(path for path in stage.scratch.rglob("*") if path.is_file())


async def _checkpointed(stage: KafkaStage, name: str, partition: str) -> bool:
    found = [path for path in await _look(stage) if path.name == name]
    return any(read_offsets(path).get(partition, 0) > 0 for path in found)


async def _assigned(stage: KafkaStage) -> bool:
    """Of each partition there is a change that names a directory."""
    logs = {path.parent for path in await _look(stage) if path.match("__cluster_metadata-0/*.log")}
    rows = [row for log in logs for row in read_metadata_log(log, 0, "").records]
    changes = [str(row["detail"]) for row in rows if row["type"] == "PartitionChange"]
    return sum('"directories"' in change for change in changes) >= _PARTITIONS
