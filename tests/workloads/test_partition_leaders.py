"""Which broker is believed to lead a partition."""

import asyncio

import pytest

from workloads.connection import ClientEntry, LostError, NotSentError, TcpDriver
from workloads.leader import TopicPartition, newest_leaders
from workloads.wire.header import Api
from workloads.wire.topic_requests import LedPartition

PLACE = TopicPartition("append-0", 2)


def says(leader: int, epoch: int, partition: int = 2) -> tuple[LedPartition, ...]:
    return (LedPartition(topic="append-0", partition=partition, leader=leader, epoch=epoch),)


@pytest.mark.parametrize(
    ("answers", "leader"),
    [
        ([says(1, 4), says(2, 5), says(1, 4)], 2),  # two are cut off, and stale
        ([says(2, 5), says(1, 4)], 2),
        ([says(1, 4), says(-1, 5)], None),  # the newest says that there is none
        ([says(7, 5), says(1, 4)], None),  # a broker that no client reaches
        ([(), says(1, 4)], 1),  # one that knows no such topic yet
        ([], None),
    ],
)
def test_the_highest_epoch_is_believed(
    answers: list[tuple[LedPartition, ...]], leader: int | None
) -> None:
    found = newest_leaders(answers, (1, 2, 3)).get(PLACE)
    assert (found.leader if found is not None else None) == leader


def test_each_partition_is_judged_by_itself() -> None:
    found = newest_leaders([says(1, 4) + says(2, 9, partition=0)], (1, 2, 3))
    assert {place.key: each.leader for place, each in found.items()} == {
        "append-0-2": 1,
        "append-0-0": 2,
    }


def test_what_nobody_answers_is_lost_when_it_does_not_leave() -> None:
    """A broker that reads nothing: the connection fills up, and is given up."""

    async def main() -> None:
        done = asyncio.Event()

        async def deaf(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await done.wait()
            writer.close()

        server = await asyncio.start_server(deaf, "127.0.0.1", 0, limit=1)
        host, port = server.sockets[0].getsockname()
        connection = await TcpDriver({1: ClientEntry(host=host, port=port)}).connect(1, 5)

        async def flood() -> None:
            for _ in range(200):
                await connection.tell(Api.PRODUCE, bytes(1 << 20), 0.2)

        with pytest.raises(LostError, match="timed-out"):
            await flood()
        assert connection.closed
        with pytest.raises(NotSentError):
            await connection.tell(Api.PRODUCE, b"", 0.2)
        done.set()
        server.close()

    asyncio.run(main())
