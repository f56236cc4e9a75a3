"""What the harness asks nodes: how far their metadata log is committed."""

import pytest

from chaos.probes import NoLeaderError, committed_end, driver_for
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time


def asked(*, known: bool, within_s: float) -> int:
    async def ask() -> int:
        cluster = FakeCluster()
        cluster.registers.values |= {"a": "1", "b": "2"}
        cluster.registers.committed_is_known = known
        await cluster.create()
        try:
            return await committed_end(driver_for(cluster), within_s)
        finally:
            await cluster.destroy()

    return in_virtual_time(ask())


def test_the_leader_tells_how_far_the_log_is_committed() -> None:
    assert asked(known=True, within_s=60.0) == 2


def test_a_leader_that_does_not_know_yet_tells_nothing() -> None:
    with pytest.raises(NoLeaderError, match="high watermark"):
        asked(known=False, within_s=0.5)
