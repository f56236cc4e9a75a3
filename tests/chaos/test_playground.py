"""What a person sees while a cluster to play with comes up."""

import asyncio

import pytest

from chaos.play.by_hand import create
from tests.support.fake_cluster import FakeCluster


class Shown:
    def __init__(self) -> None:
        self.statuses: list[str] = []

    def tell(self, text: str) -> None:
        raise AssertionError(f"{text}: nothing happened that stays on the terminal")

    def status(self, text: str) -> None:
        self.statuses.append(text)


@pytest.mark.parametrize(
    ("break_at", "last"),
    [("", "waiting for a leader"), ("until_ready", "waiting until every node answers")],
)
def test_the_status_is_what_is_waited_for(break_at: str, last: str) -> None:
    shown = Shown()

    async def come_up() -> None:
        cluster = FakeCluster(3, bites=True, break_at=break_at, run_id="play")
        try:
            await create(cluster, shown)
        finally:
            await cluster.destroy()

    if break_at:
        with pytest.raises(Exception, match=break_at):
            asyncio.run(come_up())
    else:
        asyncio.run(come_up())
    assert shown.statuses[0] == "making networks, links and disks"
    assert shown.statuses[-1] == last
