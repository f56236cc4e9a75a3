"""Log directories as Kafka lays them out, written by hand: shares no code with node or reader."""

import struct
from pathlib import Path

from crc32c import crc32c


def varint(value: int) -> bytes:
    """Zig-zag."""
    return uvarint((value << 1) ^ (value >> 63))


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(value: str | None) -> bytes:
    return uvarint(0) if value is None else uvarint(len(value.encode()) + 1) + value.encode()


def record(value: bytes, delta: int = 0, key: bytes | None = None) -> bytes:
    keyed = varint(-1) if key is None else varint(len(key)) + key
    body = b"\0" + varint(0) + varint(delta) + keyed + varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def record_batch(base: int, epoch: int, records: list[bytes], control: bool = False) -> bytes:
    head = struct.pack(
        ">hiqqqhii", 0x20 * control, len(records) - 1, 1, 1, -1, -1, -1, len(records)
    )
    body = head + b"".join(records)
    crc = crc32c(body)
    return struct.pack(">qiibI", base, 9 + len(body), epoch, 2, crc) + body


def leader_change_batch(base: int, epoch: int, leader: int) -> bytes:
    value = struct.pack(">hi", 0, leader) + uvarint(1) + uvarint(1) + b"\0"
    return record_batch(base, epoch, [record(value, key=struct.pack(">hh", 0, 2))], control=True)


def config_value(resource: str, name: str, value: str | None, kind: int = 16) -> bytes:
    return b"\x01\x04\x00" + bytes([kind]) + text(resource) + text(name) + text(value) + b"\0"


def config_batch(base: int, epoch: int, *pairs: tuple[str, int]) -> bytes:
    values = [config_value(key, "interval.ms", str(value)) for key, value in pairs]
    return record_batch(base, epoch, [record(v, delta) for delta, v in enumerate(values)])


def log_directory(
    disks: Path,
    node: int,
    batches: list[bytes],
    *,
    quorum_state: str | None = None,
    epochs: str | None = None,
    tail: bytes = b"",
) -> Path:
    """`disks/node-N/kraft` with one segment; returns the metadata log's directory."""
    home = disks / f"node-{node}" / "kraft"
    log = home / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (home / "meta.properties").write_text(
        f"#written by a test\nversion=1\ncluster.id=cluster-1\nnode.id={node}\n"
        f"directory.id=directory-of-node-0000{node}\n"
    )
    (log / f"{0:020}.log").write_bytes(b"".join(batches) + tail)
    if quorum_state is not None:
        (log / "quorum-state").write_text(quorum_state)
    if epochs is not None:
        (log / "leader-epoch-checkpoint").write_text(epochs)
    return log
