"""Registers of a quorum, set one after the other: metadata of which brokers make no files."""

import itertools

from chaos.audit.moment import Stage
from chaos.audit.waiting import until
from chaos.cluster.interface import DiskTrouble
from chaos.cluster.powers import DiskTroubling

REGISTERS = 8  # that are set in one go


async def set_registers(
    stage: Stage, first: int, *, now: bool = True, leader: int | None = None
) -> None:
    """Each is acknowledged before the next is set. `leader`: not to be looked for."""
    tell = stage.acknowledged if now else stage.acknowledged_later
    quorum = stage.client.quorum
    for number in range(first, first + REGISTERS):
        key = f"register-{number}"
        value = 100 + number
        await quorum.set_register(key, value, leader)
        tell(quorum.register(key), str(value), promised=True)


async def set_while_syncs_wait(stage: Stage, trouble: DiskTrouble, least: int) -> None:
    """Until the power fails; this returns when at least so many were acknowledged by a disk in
    trouble. A node that waits for a disk all the time tells of nothing, not even that it leads."""
    assert isinstance(stage.cluster, DiskTroubling)
    await set_registers(stage, first=1, now=False)
    leader = (await stage.client.quorum.leader()).node
    before = len(stage.expected)
    await stage.cluster.trouble_disks(stage.victims, trouble)
    stage.goes_on(_go_on_setting(stage, leader))

    async def acknowledged() -> bool:
        return len(stage.expected) >= before + least

    await until(acknowledged, "registers set by a slow disk")


async def _go_on_setting(stage: Stage, leader: int) -> None:
    """What was acknowledged is expected to be there."""
    for first in itertools.count(1 + REGISTERS, REGISTERS):
        await set_registers(stage, first, now=False, leader=leader)
