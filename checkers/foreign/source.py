"""The contents of a file, unpacked if packed, or why it cannot be read; what a file leaves open."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyarrow as pa

from checkers.foreign.foreign_values import MalformedError, Value
from checkers.log.anomalies import Isolation

# Policies that a file leaves open: the meaning of a failed compare-and-set and of a read of nil.


class CasFailures(Enum):
    # the object did not have the expected value: as good as a read (Porcupine)
    OBSERVED = "observed"
    DROPPED = "dropped"  # it did not happen, for whatever reason (Knossos)


class NilReads(Enum):
    VALUE = "value"  # nothing had been written, or nil had
    ANY = "any"  # the client learned nothing (Knossos)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """`initial` is what every object holds at first; None is nil. `isolation` is of logs."""

    cas_failures: CasFailures
    nil_reads: NilReads
    initial: Value = None
    isolation: Isolation = Isolation.KAFKA


# Bytes of text: a small packed file may hold any amount. Reading takes about nine bytes of memory
# per byte of text (measured), so 1.5 GiB at most, which is enough for a million operations.
LARGEST_BYTES = 160 << 20

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


def read_data(path: Path) -> bytes:
    """All of a file; `.gz` and `.zst` are recognised by their first bytes, whatever their names.

    Raises MalformedError: no such file, empty, too large, or a stream cut short.
    """
    try:
        data = _read_bytes(path)
    except FileNotFoundError as error:
        raise MalformedError(0, "a run or a file", "nothing of that name") from error
    except IsADirectoryError as error:
        raise MalformedError(0, "a run (with run.json) or a file", "another directory") from error
    except OSError as error:
        raise MalformedError(0, "a file that can be read", error.strerror or str(error)) from error
    if not data.strip():
        raise MalformedError(0, "a history", "an empty file")
    return data


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            return _unpack(file.read(LARGEST_BYTES), "gzip")
        if magic == _ZSTD:
            return _unpack(file.read(LARGEST_BYTES), "zstd")
        return _limited([file.read(LARGEST_BYTES + 1)])


def _unpack(packed: bytes, codec: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        stream = pa.CompressedInputStream(pa.BufferReader(packed), codec)
        while size <= LARGEST_BYTES and (chunk := stream.read(_CHUNK)):
            chunks.append(chunk)
            size += len(chunk)
    except OSError as error:
        raise MalformedError(
            b"".join(chunks).count(b"\n") + 1,
            f"a whole {codec} stream",
            f"one that is truncated or damaged ({error})",
        ) from error
    return _limited(chunks)


def _limited(chunks: list[bytes]) -> bytes:
    data = b"".join(chunks)
    if len(data) > LARGEST_BYTES:
        raise MalformedError(0, f"at most {LARGEST_BYTES >> 20} MiB", "more")
    return data


def decode(data: bytes) -> str:
    """The text of the data. Raises MalformedError."""
    if (at := data.find(b"\0")) >= 0:
        raise MalformedError(data.count(b"\n", 0, at) + 1, "text", "binary data (a zero byte)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedError(
            line, "text in UTF-8", f"the byte 0x{data[error.start]:02x}"
        ) from error
