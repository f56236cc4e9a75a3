"""A bit of an old record rots on a follower's disk: nobody may go on as if it had been read."""

import asyncio
from random import Random

from chaos.cluster.interface import NodeStatus
from chaos.cluster.sim.disk.filesystem import FileSystem
from tests.sim.lived import Rig, lived

SEGMENT = "00000000000000000000.log"


def _rot_before(disk: FileSystem, path: str, end: int) -> None:
    """Until a bit has rotted that is surely not of the last record: a torn end is cut off."""
    for seed in range(100):
        position = disk.rot(path, Random(seed))
        if position is not None and position < end:
            return
    raise AssertionError(f"no bit rotted before byte {end} of {path}")


def test_a_node_refuses_the_log_in_which_a_bit_rotted_and_the_others_go_on() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        sick = next(machine for machine in rig.cluster.machines.values() if machine is not leader)
        await asyncio.sleep(5.0)
        sick.kill()
        disk = sick.drive.files
        path = next(path for path in disk.files() if path.endswith(SEGMENT))
        size = len(disk.files()[path])
        _rot_before(disk, path, size // 2)
        sick.boot()
        await asyncio.sleep(5.0)
        assert sick.status is NodeStatus.OFF
        said = sick.stderr.decode()
        assert SEGMENT in said, said
        assert "try:" in said, said
        before = len(rig.lines(leader.node))
        await asyncio.sleep(5.0)
        assert (await rig.leader()).node != sick.node
        assert len(rig.lines(leader.node)) > before

    lived(story)
