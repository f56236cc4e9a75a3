"""Damage to the files that a run left: all of them deleted, cut or thinned out at random.

The seal is taken away with it, so that the run is judged from what is left.
"""

import random
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import zstandard

Cut = Callable[[bytes, random.Random], bytes]

# No evidence: prose for people, and what is made of the run.
_DERIVED = ("*.parquet", "_manifest.json", "verdict.json", "report.html", "harness.log", "repro.sh")


def damage_file(directory: Path, rng: random.Random) -> str:
    """Damage one file of a run, or a whole disk; what was done, in words."""
    unseal(directory)
    disks = sorted((directory / "disks").iterdir())
    if disks and rng.random() < 0.05:
        victim = rng.choice(disks)
        shutil.rmtree(victim)
        return f"{victim.name}'s disk deleted"
    return _damage(rng.choice(evidence(directory)), directory, rng)


def damage_nodes(directory: Path, rng: random.Random) -> str:
    """Damage the same file of several nodes, or of all that have it: the traces, or one of each
    disk."""
    unseal(directory)
    like = rng.choice([path for path in evidence(directory) if "node-" in path.as_posix()])
    own = re.search(r"node-\d+", like.as_posix())
    assert own is not None
    nodes = [path.name for path in sorted((directory / "disks").iterdir())]
    others = [node for node in nodes if node != own[0]]
    done = []
    for node in [own[0], *rng.sample(others, rng.randint(1, len(others)))]:
        path = Path(like.as_posix().replace(own[0], node))
        if path.exists():
            done.append(_damage(path, directory, rng))
    return "; ".join(done)


def _damage(path: Path, directory: Path, rng: random.Random) -> str:
    name = path.relative_to(directory).as_posix()
    data = path.read_bytes()
    if rng.random() < (0.15 if data else 0.5):
        path.unlink()
        return f"{name} deleted"
    if not data:
        path.write_bytes(b"\0")
        return f"{name} has a byte"
    cuts = _cuts_of(path)
    while True:
        cut = rng.choice(cuts)
        left = cut(data, rng)
        if left != data:
            path.write_bytes(left)
            return f"{name}: {cut.__name__}, {len(data) - len(left)} of {len(data)} bytes"


def unseal(directory: Path) -> None:
    for pattern in _DERIVED:
        for path in directory.glob(pattern):
            path.unlink()


def evidence(directory: Path) -> list[Path]:
    """Files that evidence is read from; of some, such as a mark of flushes, the name is all."""
    found = [*directory.glob("events-*.jsonl.zst"), directory / "run.json"]
    logs = (directory / "logs").glob("node-*.log")
    found += (path for path in logs if path.read_bytes().startswith(b"{"))  # else it is prose
    found.append(directory / "inventory.json")
    disks = (path for path in (directory / "disks").rglob("*") if path.is_file())
    found += (path for path in disks if not path.suffix.endswith("index"))
    return sorted(found)


def _cuts_of(path: Path) -> Sequence[Cut]:
    if path.suffix == ".zst":
        return (*_ANY, last_frames, some_frame)
    if path.suffix == ".log" and path.name.startswith("node-"):
        return (*_ANY, *_LINES, lines_of_a_process)
    if path.suffix in ("", ".json", ".properties", ".metadata"):
        return (*_ANY, *_LINES)
    return _ANY


def cut_anywhere(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def last_bytes(data: bytes, rng: random.Random) -> bytes:
    return data[: -rng.randint(1, min(60, len(data)))]


def first_half(data: bytes, rng: random.Random) -> bytes:
    del rng
    return data[len(data) // 2 :]


def everything(data: bytes, rng: random.Random) -> bytes:
    del data, rng
    return b""


def last_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: -rng.randint(1, min(60, len(lines)))])


def first_half_of_lines(data: bytes, rng: random.Random) -> bytes:
    del rng
    lines = data.splitlines(keepends=True)
    return b"".join(lines[len(lines) // 2 :])


def some_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    begin = rng.randrange(len(lines))
    return b"".join(lines[:begin] + lines[begin + rng.randint(1, 10) :])


def lines_of_a_process(data: bytes, rng: random.Random) -> bytes:
    """All that one process of a node printed."""
    lines = data.splitlines(keepends=True)
    names = sorted({_incarnation(line) for line in lines} - {b""})
    victim = rng.choice(names) if names else b"no process"
    return b"".join(line for line in lines if _incarnation(line) != victim)


def _incarnation(line: bytes) -> bytes:
    return line.partition(b'"inc":"')[2].partition(b'"')[0]


def last_frames(data: bytes, rng: random.Random) -> bytes:
    frames = _frames(data)
    return b"".join(frames[: -rng.randint(1, len(frames))])


def some_frame(data: bytes, rng: random.Random) -> bytes:
    frames = _frames(data)
    del frames[rng.randrange(len(frames))]
    return b"".join(frames)


def _frames(data: bytes) -> list[bytes]:
    found = []
    while data:
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        decompressor.decompress(data)
        rest = decompressor.unused_data
        found.append(data[: len(data) - len(rest)])
        data = rest
    return found


_ANY: tuple[Cut, ...] = (cut_anywhere, last_bytes, first_half, everything)
_LINES: tuple[Cut, ...] = (last_lines, first_half_of_lines, some_lines)
