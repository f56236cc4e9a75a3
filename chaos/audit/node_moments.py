"""How moments are reached on our own node."""

import itertools

from chaos.audit.moment import Stage
from chaos.audit.node_client import NodeClient
from chaos.audit.waiting import until
from chaos.cluster.interface import DiskTrouble, DiskTroubling, Killable, NodeId

NodeStage = Stage[NodeClient]

_REGISTERS = 8


async def formatted(stage: NodeStage) -> None:
    """No node has run; that all start and answer is all that there is to keep."""


async def first_start(stage: NodeStage) -> None:
    """It answers, and its format was never synced from outside."""
    leader = await stage.client.leader()
    stage.acknowledged(stage.client.epoch_is_kept(leader.epoch), "yes", promised=True)


async def record_acknowledged(stage: NodeStage) -> None:
    await _set_registers(stage, first=1)


async def syncs_waiting(stage: NodeStage) -> None:
    """Registers are set one after the other while every sync takes its time."""
    assert isinstance(stage.cluster, DiskTroubling)
    await _set_registers(stage, first=1)
    await stage.cluster.trouble_disks(stage.victims, DiskTrouble.SLOW)
    stage.goes_on(_go_on_setting(stage))
    await until(lambda: _acknowledged(stage, 2 * _REGISTERS), "registers set by a slow disk")


async def segment_rolled(stage: NodeStage) -> None:
    """Segments of the least size hold few of these."""
    for first in range(1, 20 * _REGISTERS, _REGISTERS):
        await _set_registers(stage, first)


async def leader_elected(stage: NodeStage) -> None:
    """The leader is killed, another elected, and a record acknowledged in its epoch; then the
    killed one starts again."""
    await _set_registers(stage, first=1)
    before = await stage.client.leader()
    assert isinstance(stage.cluster, Killable)
    await stage.cluster.kill(NodeId(before.node))
    await _set_registers(stage, first=1 + _REGISTERS)
    now = await stage.client.leader()
    stage.acknowledged(stage.client.epoch_is_kept(now.epoch), "yes", promised=True)
    await stage.cluster.start(NodeId(before.node))


async def _go_on_setting(stage: NodeStage) -> None:
    """Until the power fails; what was acknowledged is expected to be there."""
    for first in itertools.count(1 + _REGISTERS, _REGISTERS):
        await _set_registers(stage, first, now=False)


async def _acknowledged(stage: NodeStage, least: int) -> bool:
    return len(stage.expected) >= least


async def _set_registers(stage: NodeStage, first: int, *, now: bool = True) -> None:
    """Each is acknowledged before the next is set."""
    tell = stage.acknowledged if now else stage.acknowledged_later
    for number in range(first, first + _REGISTERS):
        key = f"register-{number}"
        value = 100 + number
        await stage.client.set_register(key, value)
        tell(stage.client.register(key), str(value), promised=True)
