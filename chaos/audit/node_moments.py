"""How moments are reached on our own node."""

from chaos.audit.moment import Stage
from chaos.audit.node_client import NodeClient
from chaos.cluster.interface import Killable, NodeId

NodeStage = Stage[NodeClient]

_REGISTERS = 8


async def first_start(stage: NodeStage) -> None:
    """It answers, and its format was never synced from outside."""
    leader = await stage.client.leader()
    stage.acknowledged(stage.client.epoch_is_kept(leader.epoch), "yes", promised=True)


async def record_acknowledged(stage: NodeStage) -> None:
    await _set_registers(stage, first=1)


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


async def _set_registers(stage: NodeStage, first: int) -> None:
    """Each is acknowledged before the next is set."""
    for number in range(first, first + _REGISTERS):
        key = f"register-{number}"
        value = 100 + number
        await stage.client.set_register(key, value)
        stage.acknowledged(stage.client.register(key), str(value), promised=True)
