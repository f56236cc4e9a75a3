"""Packets of links are recorded: each link in a file of its own, in the form of Wireshark."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from tests.container.clusters import left_of
from tests.support.load import GENTLY

MAGIC = 0xA1B2C3D4
COOKED = 276  # LINKTYPE_LINUX_SLL2
HEADER_BYTES = 20


def packets(path: Path) -> Iterator[bytes]:
    """The packets of a capture, behind their cooked headers."""
    data = path.read_bytes()
    magic, *_, link_type = struct.unpack_from("<IHHiIII", data)
    assert (magic, link_type) == (MAGIC, COOKED)
    at = 24
    while at < len(data):
        _, _, size, whole = struct.unpack_from("<IIII", data, at)
        assert size == whole, "no packet is cut"
        yield data[at + 16 + HEADER_BYTES : at + 16 + size]
        at += 16 + size


@pytest.mark.night
@pytest.mark.timeout(400)
def test_each_link_has_its_packets(tmp_path: Path) -> None:
    prepare(print, pcap=True)
    words = ["partition-leader", "--duration", "8", "--seed", "1", *GENTLY, "--pcap"]
    assert main(["run", *words, "--out", str(tmp_path)]) == 0
    directory = (tmp_path / "latest").resolve()
    found = {path.stem: [*packets(path)] for path in (directory / "pcap").iterdir()}
    assert set(found) == {"1-2", "1-3", "2-1", "2-3", "3-1", "3-2"}
    for link, told in found.items():
        ends = {frozenset((packet[12:16], packet[16:20])) for packet in told}
        assert len(ends) == 1, f"{link}: one node, and the proxy"
    assert max(map(len, found.values())) > 100
    assert left_of(directory.name) == []
