"""Damaged files, by the ten thousand: what is read back is what was written, or is refused.

Each case damages one file of a node's log directory and starts from it, in this process and on a
disk in memory. What must hold: the log comes back as a prefix of the batches that were written,
bit for bit and in order, that lacks nothing of what was flushed, and can be appended to; a
checkpoint comes back as it was; or one of the storage's own errors is raised. No other exception,
and no hang.

Not held, because nothing on the disk could tell: a flipped digit of quorum-state or a letter of
meta.properties, which have no checksum in Kafka's format, may be read as another value.

    python -m tests.fuzz.files --count 10000 --seed 1
"""

import argparse
import faulthandler
import io
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from chaos.cluster.sim.disk.disk import SimDisk
from node.effects import ElectionState
from node.ids import Endpoint, Epoch, NodeId, Offset, ReplicaKey
from node.records.batch import split_batches
from node.server.dump_log import dump_file
from node.storage.disk import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    VOTERS_CHECKPOINT,
    StorageError,
)
from node.storage.election_store import ElectionStore
from node.storage.format import format_log_directory, read_bootstrap, read_voters
from node.storage.log import Log
from node.storage.meta import load_meta
from tests.support.batches import batch
from tests.support.power import new_disk

SEGMENT_BYTES = 9000
LAST_FLUSHED = 17  # the number of a batch; two more follow, in the same segment
HANG_SECONDS = 30
Content = dict[str, bytes]


def sound_directory() -> Content:
    """The files of a voter that has been through four epochs and three segments: a few batches at
    the end were never flushed."""
    disk = new_disk()
    voters = tuple(
        (ReplicaKey(NodeId(node), UUID(int=node << 64)), (Endpoint(name="C", host="n", port=9),))
        for node in (1, 2, 3)
    )
    format_log_directory(
        disk, cluster_id="fuzzed", node_id=NodeId(1), voters=voters, timestamp_ms=1
    )
    ElectionStore(disk).save(ElectionState(epoch=Epoch(7), voted=voters[1][0]))
    log = Log.open(disk, METADATA_DIRECTORY, SEGMENT_BYTES)
    for index, epoch in enumerate([1] * 5 + [3] * 5 + [4] * 5 + [7] * 5):
        size = (0, 40, 900)[index % 3]
        log.append(batch(log.end().offset, epoch, 1 + index % 4, size=size))
        if index == LAST_FLUSHED:
            log.flush()
    return disk.filesystem.files()


SOUND = sound_directory()
SEGMENTS = sorted(path for path in SOUND if path.endswith(".log"))
WRITTEN = b"".join(SOUND[path] for path in SEGMENTS)
(FLUSHED,) = [int(path[-20:]) for path in SOUND if "flushed-" in path]


def on_disk(content: Content) -> SimDisk:
    disk = new_disk()
    disk.make_directory(METADATA_DIRECTORY)
    for path, data in sorted(content.items()):
        disk.replace(path, data)
    return disk


# Damages of one file: content in, content out, the position drawn from `rng`.


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    length = rng.choice((1, 8, 61, 512, 4096, len(data)))
    return start, min(start + rng.randint(1, max(length, 1)), len(data))


def flip_bits(data: bytes, rng: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 20)) if data else 0):
        bit = rng.randrange(len(data) * 8)
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def flip_in_a_header(data: bytes, rng: Random) -> bytes:
    """Where it hurts most: offset, length, epoch, magic, CRC and counts of a batch."""
    starts = [0]
    while int.from_bytes(data[starts[-1] + 8 : starts[-1] + 12], "big") > 0:
        starts.append(starts[-1] + 12 + int.from_bytes(data[starts[-1] + 8 :][:4], "big"))
    position = rng.choice(starts) + rng.randrange(61)
    if position >= len(data):
        return data[:-1]
    return data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :]


def truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def nul_tail(data: bytes, rng: Random) -> bytes:
    kept = rng.choice((len(data), rng.randint(0, len(data))))
    return data[:kept] + bytes(rng.choice((1, 60, 61, 4096, 10_000)))


def zero_hole(data: bytes, rng: Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + bytes(end - start) + data[end:]


def zero_page(data: bytes, rng: Random) -> bytes:
    start = rng.randint(0, len(data) // 4096) * 4096
    return data[:start] + bytes(len(data[start : start + 4096])) + data[start + 4096 :]


def duplicate(data: bytes, rng: Random) -> bytes:
    start, end = _span(data, rng)
    at = rng.choice((end, rng.randint(0, len(data)), len(data)))
    return data[:at] + data[start:end] + data[at:]


def cut_out(data: bytes, rng: Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def garbage_over(data: bytes, rng: Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + rng.randbytes(end - start) + data[end:]


def garbage_in(data: bytes, rng: Random) -> bytes:
    at = rng.choice((0, len(data), rng.randint(0, len(data))))
    return data[:at] + rng.randbytes(rng.choice((1, 12, 61, 5000))) + data[at:]


def other_file(_: bytes, rng: Random) -> bytes:
    return SOUND[rng.choice(sorted(SOUND))]


def empty(_: bytes, __: Random) -> bytes:
    return b""


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    flip_bits,
    flip_bits,
    flip_in_a_header,
    flip_in_a_header,
    truncate,
    nul_tail,
    zero_hole,
    zero_page,
    duplicate,
    cut_out,
    garbage_over,
    garbage_in,
    other_file,
    empty,
)


def swap_segments(content: Content, rng: Random) -> str:
    one, other = rng.sample(SEGMENTS, 2)
    content[one], content[other] = content[other], content[one]
    return f"swap {one} and {other}"


def remove_file(content: Content, rng: Random) -> str:
    path = rng.choice(sorted(content))
    del content[path]
    return f"remove {path}"


def add_segment(content: Content, rng: Random) -> str:
    path = f"{METADATA_DIRECTORY}/{rng.choice((1, 49, 50, 51, 10**19)):020d}.log"
    content[path] = rng.choice((b"", rng.randbytes(100), SOUND[SEGMENTS[0]]))
    return f"add {path}"


def damage_file(content: Content, rng: Random) -> str:
    # Segments carry most of the bytes and most of the rules.
    path = rng.choice(SEGMENTS if rng.random() < 0.6 else sorted(content))
    kinds = rng.sample(DAMAGES, rng.choice((1, 1, 1, 2, 3)))
    for kind in kinds:
        content[path] = kind(content[path], rng)
    return f"{', '.join(kind.__name__ for kind in kinds)} in {path}"


def damaged_directory(seed: int, number: int) -> tuple[Content, str]:
    """The files of case `number`, and what was done to them."""
    rng = Random(f"{seed}:{number}")
    content = dict(SOUND)
    kind = rng.choices((damage_file, swap_segments, remove_file, add_segment), (94, 2, 2, 2))[0]
    return content, kind(content, rng)


def judge(content: Content) -> str:
    """What starting from `content` came to, in a word. AssertionError where it invents."""
    read_small_files(content)
    for path in SEGMENTS:
        if path in content and content[path] != SOUND[path]:
            dump_file(on_disk(content).open(path), io.StringIO())
    disk = on_disk(content)
    try:
        log = Log.open(disk, METADATA_DIRECTORY, SEGMENT_BYTES)
    except StorageError:
        return "refused"
    found = read_whole(log)
    assert WRITTEN.startswith(found), "the log holds what was never written"
    assert log.end().offset >= FLUSHED, "the log lacks what was flushed"
    go_on(disk, log, found)
    return "whole" if found == WRITTEN else "a prefix"


def read_small_files(content: Content) -> None:
    disk, sound = on_disk(content), on_disk(SOUND)
    try:
        assert read_voters(disk) == read_voters(sound), "other voters"
    except StorageError:
        assert content.get(VOTERS_CHECKPOINT) != SOUND[VOTERS_CHECKPOINT], "sound, but refused"
    try:
        assert read_bootstrap(disk) == read_bootstrap(sound), "other bootstrap records"
    except StorageError:
        assert content.get(BOOTSTRAP_CHECKPOINT) != SOUND[BOOTSTRAP_CHECKPOINT], "sound, refused"
    try:
        ElectionStore(disk).load()
    except StorageError:
        assert content.get(QUORUM_STATE) != SOUND[QUORUM_STATE], "sound, but refused"
    try:
        load_meta(disk)
    except StorageError:
        assert content.get(META_PROPERTIES) != SOUND[META_PROPERTIES], "sound, but refused"


def read_whole(log: Log) -> bytes:
    found = b""
    offset = log.start()
    while data := log.read(offset, 1 << 20):
        offset = [each.header.next_offset for each in split_batches(data)][-1]
        found += data
    assert log.end().offset == offset
    return found


def go_on(disk: SimDisk, log: Log, found: bytes) -> None:
    """What was recovered is a log like any other: it can be appended to and found again."""
    end = log.end()
    more = batch(end.offset, end.epoch + 1)
    log.append(more)
    log.flush()
    again = Log.open(disk, METADATA_DIRECTORY, SEGMENT_BYTES)
    assert again.cut is None, "recovery left something to cut"
    assert read_whole(again) == found + more
    assert again.end_of_epoch(end.epoch).offset == end.offset or end.offset == Offset(0)


@dataclass(slots=True)
class Outcome:
    """How many cases came to what, and the story of each that must not have."""

    counts: "Counter[str]" = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


def run(seed: int, numbers: range, progress: Callable[[int], None] = lambda _: None) -> Outcome:
    outcome = Outcome()
    for number in numbers:
        content, story = damaged_directory(seed, number)
        began = time.monotonic()
        try:
            outcome.counts[judge(content)] += 1
        except Exception:  # noqa: BLE001 - whatever else is raised is what the fuzz looks for
            outcome.counts["FAILED"] += 1
            outcome.failures.append(f"case {number}: {story}\n{traceback.format_exc()}")
        outcome.slowest_s = max(outcome.slowest_s, time.monotonic() - began)
        progress(number)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.files", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    options = parser.parse_args()
    began = time.monotonic()
    last = options.first + options.count - 1

    def progress(number: int) -> None:
        if (number - options.first + 1) % 1000 == 0 or number == last:
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            print(f"{number - options.first + 1} of {options.count}", file=sys.stderr)

    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    outcome = run(options.seed, range(options.first, options.first + options.count), progress)
    faulthandler.cancel_dump_traceback_later()
    for failure in outcome.failures[:5]:
        print(failure)
        number = failure.split()[1].rstrip(":")
        print(
            f"  try: python -m tests.fuzz.files --seed {options.seed} --first {number} --count 1\n"
        )
    counts = ", ".join(f"{name} {count}" for name, count in sorted(outcome.counts.items()))
    print(
        f"{options.count} damaged files, seed {options.seed}: {counts};"
        f" {time.monotonic() - began:.1f} s, slowest {outcome.slowest_s * 1000:.0f} ms"
    )
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
