"""Files copied from containers, as a stream of a tar archive, and written to them.

The engine mounts a container's volumes for a copy, whether it runs or not.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from docker.models.containers import Container

BLOCK = 1 << 16
ZEROS = bytes(BLOCK)


class _Pieces(io.RawIOBase):
    """Pieces of bytes as one file to read from."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces: Iterator[bytes] = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # as it is called
        while not self._rest:
            try:
                self._rest = next(self._pieces)
            except StopIteration:
                return 0
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def copy_out(container: Container, path: str, into: Path) -> None:
    """Copy the contents of a container's directory; docker.errors.NotFound without one."""
    pieces, _ = container.get_archive(path)
    unpack(io.BufferedReader(_Pieces(pieces)), into)


def read_file(container: Container, path: str) -> bytes:
    """The contents of a container's file; docker.errors.NotFound without one."""
    pieces, _ = container.get_archive(path)
    with tarfile.open(fileobj=io.BufferedReader(_Pieces(pieces)), mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member)
            return content.read() if content is not None else b""
    return b""


def write_file(container: Container, path: str, content: str) -> None:
    """Write a file of a container, whether it runs or not."""
    data, place = content.encode(), PurePosixPath(path)
    member = tarfile.TarInfo(place.name)
    member.size = len(data)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(member, io.BytesIO(data))
    container.put_archive(str(place.parent), archive.getvalue())


def unpack(archive: IO[bytes], into: Path) -> None:
    """Write an archive's files, without the name of their directory.

    Names come from a node's disk: none may lead out of `into`, and only plain files are taken.
    """
    with tarfile.open(fileobj=archive, mode="r|") as tar:
        for member in tar:
            below = PurePosixPath(member.name).parts[1:]
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None and below and ".." not in below:
                target = into.joinpath(*below)
                target.parent.mkdir(parents=True, exist_ok=True)
                _write(content, target)


def _write(content: IO[bytes], target: Path) -> None:
    """With holes for zeros: Kafka's indexes are megabytes, mostly empty."""
    with target.open("wb") as file:
        size = 0
        while block := content.read(BLOCK):
            size += len(block)
            if block == ZEROS[: len(block)]:
                file.seek(size)
            else:
                file.write(block)
        file.truncate(size)
