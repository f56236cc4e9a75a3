"""A file of offsets is Kafka's, and one that cannot be read says nothing."""

import pytest

from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from node.ids import LogId, Offset
from node.storage.checkpoints import HIGH_WATERMARKS, load_offsets, save_offsets

SAVED = {LogId("orders-1"): Offset(7), LogId("a-b.c-12"): Offset(0)}
TEXT = b"0\n2\na-b.c 12 0\norders 1 7\n"


def test_it_is_written_as_kafka_writes_it_and_read_again() -> None:
    disk = SimDisk(FileSystem())
    assert load_offsets(disk, HIGH_WATERMARKS) == {}
    save_offsets(disk, HIGH_WATERMARKS, SAVED)
    assert disk.read_all(HIGH_WATERMARKS) == TEXT
    assert load_offsets(disk, HIGH_WATERMARKS) == SAVED
    save_offsets(disk, HIGH_WATERMARKS, {})
    assert load_offsets(disk, HIGH_WATERMARKS) == {}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"0\n",
        b"1\n0\n",
        b"0\n1\n",
        b"0\n1\norders 1\n",
        b"0\n1\norders 1 -7\n",
        b"0\n1\norders one 7\n",
        b"0\n2\norders 1 7\n",
        b"0\n1\norders 1 7 8\n",
        b"\xff\xfe",
    ],
)
def test_one_that_cannot_be_read_says_nothing(text: bytes) -> None:
    disk = SimDisk(FileSystem())
    disk.replace(HIGH_WATERMARKS, text)
    assert load_offsets(disk, HIGH_WATERMARKS) == {}
