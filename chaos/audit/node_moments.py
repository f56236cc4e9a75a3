"""How moments are reached on our own node."""

from chaos.audit import kafka_moments
from chaos.audit.kafka_client import told_of
from chaos.audit.moment import Stage
from chaos.audit.registers_set import REGISTERS, set_registers, set_while_syncs_wait
from chaos.audit.waiting import until
from chaos.cluster.interface import DiskTrouble, NodeId
from chaos.cluster.powers import Killable


async def formatted(stage: Stage) -> None:
    """No node has run; that all start and answer is all that there is to keep."""


async def first_start(stage: Stage) -> None:
    """It answers, and its format was never synced from outside."""
    leader = await stage.client.quorum.leader()
    stage.acknowledged(stage.client.quorum.epoch_is_kept(leader.epoch), "yes", promised=True)


async def record_acknowledged(stage: Stage) -> None:
    """Of the metadata, and of partitions."""
    await set_registers(stage, first=1)
    await kafka_moments.record_acknowledged(stage)


async def syncs_waiting(stage: Stage) -> None:
    await set_while_syncs_wait(stage, DiskTrouble.SLOW, REGISTERS)


async def segment_rolled(stage: Stage) -> None:
    """For the metadata log, with few registers in each of its minimal segments, and for a topic."""
    for first in range(1, 5 * REGISTERS, REGISTERS):
        await set_registers(stage, first)
    await kafka_moments.topic_of_small_segments(stage)
    records = told_of(await kafka_moments.fill_segments(stage))
    stage.acknowledged(
        stage.client.records(kafka_moments.TOPIC, 0), records, promised=stage.flushed
    )


async def leader_elected(stage: Stage) -> None:
    """The leader is killed, another elected, and a record acknowledged in its epoch; then the
    killed one starts again."""
    await set_registers(stage, first=1)
    before = await stage.client.quorum.leader()
    assert isinstance(stage.cluster, Killable)
    await stage.cluster.kill(NodeId(before.node))
    await set_registers(stage, first=1 + REGISTERS)
    now = await stage.client.quorum.leader()
    stage.acknowledged(stage.client.quorum.epoch_is_kept(now.epoch), "yes", promised=True)
    await stage.cluster.start(NodeId(before.node))


async def snapshot_taken(stage: Stage) -> None:
    """Of the metadata log; registers are set until there is one."""
    first = 1

    async def there() -> bool:
        nonlocal first
        await set_registers(stage, first)
        first += REGISTERS
        return await kafka_moments.has_snapshot(stage)

    await until(there, "a snapshot of the metadata log")


async def clean_stop(stage: Stage) -> None:
    """All is flushed before a broker ends, so all is promised."""
    await set_registers(stage, first=1)
    await kafka_moments.sent_before_a_stop(stage)


async def controller_stopped(stage: Stage) -> None:
    """Its broker runs on."""
    await set_registers(stage, first=1)
    await kafka_moments.controller_stopped(stage)
