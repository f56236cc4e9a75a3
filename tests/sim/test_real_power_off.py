"""The node's log on a real ext4 whose power is cut: what `test_power_off` holds of the model.

And what makes the mark cheap: without a sync of its own, it is no more than eight flushes late.
"""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from chaos.cluster.docker.agent_processes import RefusedError
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import Descriptor
from node.server.real_disk import RealDisk, RealFile
from node.storage.log import Log
from node.storage.recovery import FLUSHES_A_RISE, find_mark
from tests.sim import fidelity
from tests.sim.programs import PowerCut
from tests.support.batches import batch

CUTS = 30
SEGMENT_BYTES = 40_000

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fidelity")]


def test_a_log_comes_back_and_its_mark_is_at_most_eight_flushes_late(tmp_path: Path) -> None:
    try:
        with fidelity.real_disk(tmp_path) as disk:
            seen = Counter(_cut(disk, number) for number in range(CUTS))
    except (OSError, RefusedError) as error:
        # A user's machine may have no loop devices; where it should, tests/container fails.
        pytest.skip(f"no power to cut here: {error}")
    assert set(seen) >= {("late", False), ("newest", False), ("newest", True)}, seen


def _cut(disk: fidelity.RealDisk, number: int) -> tuple[str, bool]:
    """Which mark was left, and whether something was cut off when the log was opened again."""
    rng, home = Random(number), f"log{number}"
    disk.files.mkdir(home)
    on = RealDisk(disk.files.root)
    log = Log.open(on, home, SEGMENT_BYTES)
    flushed, written = [0], b""
    for _ in range(rng.randint(1, 3 * FLUSHES_A_RISE)):
        written += _append(log, rng)
        flushed.append(log.flush())
    more = b"".join(_append(log, rng) for _ in range(rng.choice((0, 3, 15))))
    for segment in log.segments:
        assert isinstance(segment.file, RealFile)
        disk.files.held.append(Descriptor(segment.file.descriptor))
    disk.cut(PowerCut(list(PowerCutMode)[number % 3], home), home)
    mark = find_mark(on, home)
    assert mark in flushed[-FLUSHES_A_RISE - 1 :]
    again = Log.open(on, home, SEGMENT_BYTES)
    found = _read(again)
    again.close()
    assert found.startswith(written)
    assert (written + more).startswith(found)
    return "newest" if mark == flushed[-1] else "late", again.cut is not None


def _append(log: Log, rng: Random) -> bytes:
    data = batch(log.end().offset, 1, size=rng.choice((10, 300, 5000)))
    log.append(data)
    return data


def _read(log: Log) -> bytes:
    return b"".join(log.read(segment.base, 1 << 20) for segment in log.segments if segment.size)
