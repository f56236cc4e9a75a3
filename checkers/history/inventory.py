"""`inventory.json`: every file that was collected, with its size and CRC; `run.json` has the
inventory's own CRC. Whoever uses a run later compares.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from crc32c import crc32c

from checkers.history.sealed_run import laid_out

INVENTORY = "inventory.json"
# A broker derives these from its segments, which are collected: megabytes that are never read.
DERIVED = (".index", ".timeindex", ".txnindex")
_BLOCK = 1 << 20

_Entries = Mapping[str, Mapping[str, int]]


class InventoryError(Exception):
    """The inventory itself was changed."""


def inventory_of(directory: Path) -> bytes:
    """The content of `inventory.json` for the files that are in a run's directory now."""
    entries = {name: _entry(directory / name) for name in evidence_files(directory)}
    return laid_out(entries, sort_keys=True)


def differences(directory: Path, own_crc32c: int) -> dict[str, str]:
    """Files that changed after they were collected, and how."""
    try:
        entries = _load(directory, own_crc32c)
    except InventoryError as error:
        return {INVENTORY: str(error)}
    found = {}
    for name, entry in entries.items():
        if what := _difference(directory / name, entry):
            found[name] = what
    return found


def has_any_file(directory: Path, own_crc32c: int) -> bool:
    """Whether any collected file is here: of an archived run there may be only the seal."""
    try:
        return any((directory / name).exists() for name in _load(directory, own_crc32c))
    except InventoryError:
        return next(evidence_files(directory), None) is not None


def evidence_files(directory: Path) -> Iterator[str]:
    """The names of files, as paths in a run's directory."""
    yield from sorted(path.name for path in directory.glob("events-*.jsonl.zst"))
    for below in ("logs", "disks"):
        if (directory / below).is_dir():
            yield from sorted(_below(str(directory), below))


def _below(directory: str, name: str) -> Iterator[str]:
    """Without a Path for each: disks of brokers hold hundreds of files."""
    with os.scandir(f"{directory}/{name}") as entries:
        for entry in entries:
            found = f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _below(directory, found)
            elif entry.is_file() and not found.endswith(DERIVED):
                yield found


def _load(directory: Path, own_crc32c: int) -> _Entries:
    try:
        data = (directory / INVENTORY).read_bytes()
    except OSError as error:
        raise InventoryError(f"{error.strerror}") from error
    if crc32c(data) != own_crc32c:
        raise InventoryError("is not the one that run.json names")
    entries: _Entries = json.loads(data)
    return entries


def _entry(path: Path) -> dict[str, int]:
    return {"bytes": path.stat().st_size, "crc32c": _crc32c(path)}


def _difference(path: Path, entry: Mapping[str, int]) -> str:
    try:
        size = path.stat().st_size
    except OSError:
        return "is gone"
    if size != entry["bytes"]:
        return f"has {size:,} bytes of {entry['bytes']:,}"
    if _crc32c(path) != entry["crc32c"]:
        return "has other bytes than it had when it was collected"
    return ""


def _crc32c(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = crc32c(block, found)
    return found
