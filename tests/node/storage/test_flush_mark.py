"""What somebody does to the mark, to the log below it, or to both, after a life that ended anyhow.

Whatever it is: a log that ends below a mark, or is damaged there, is refused and left as it is;
what a power cut left is opened; and where the log was opened although records are gone that the
node's own mark vouched for, the account says so. Who makes the mark a lower one *and* cuts the log
at a batch's boundary is not found out: nothing is left then that knows of more.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import pytest

from chaos.cluster.interface import PowerCutMode
from node.ids import Offset
from node.records.batch import split_batches
from node.storage.disk import METADATA_DIRECTORY, CorruptLog
from node.storage.log import Log
from node.storage.recovery import FlushMark, find_mark, flush_mark_name
from tests.support.batches import batch
from tests.support.power import Powered

SEGMENT_BYTES = 2500
SEEDS = 2000


@dataclass
class Left:
    """What a life left: a disk, and the batches of which it was told that they are durable."""

    power: Powered
    durable: list[bytes]

    def files(self) -> Mapping[str, bytes]:
        disk = self.power.disk
        return {name: disk.read_all(path(name)) for name in disk.names(METADATA_DIRECTORY)}

    def mark(self) -> Offset:
        found = find_mark(self.power.disk, METADATA_DIRECTORY)
        assert found is not None
        return found

    def rename_mark(self, name: str) -> None:
        self.power.disk.rename(path(flush_mark_name(self.mark())), path(name))

    def add(self, name: str) -> None:
        self.power.disk.open(path(name)).close()


def path(name: str) -> str:
    return f"{METADATA_DIRECTORY}/{name}"


def lived(rng: Random) -> Left:
    """Appends, flushes and truncations; then a power cut, or a process that was killed."""
    power = Powered()
    log = Log.open(power.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
    written: list[bytes] = []
    durable = 0
    for _ in range(rng.randint(1, 10)):
        what = rng.random()
        if what < 0.5:
            end = log.end()
            epoch = max(end.epoch + rng.randint(0, 1), 1)
            written.append(batch(end.offset, epoch, size=rng.randint(0, 900)))
            log.append(written[-1])
        elif what < 0.9:
            log.flush()
            durable = len(written)
        elif written:
            keep = rng.randrange(len(written))
            log.truncate(Offset(keep))
            written, durable = written[:keep], keep
    mode = rng.choice([None, *PowerCutMode])
    if mode is not None:
        power.power_off(mode, rng)
    return Left(power, written[:durable])


# --- what is done to the mark ---

Attack = Callable[[Left, Random], None]


def leave(_left: Left, _rng: Random) -> None: ...


def remove(left: Left, _rng: Random) -> None:
    left.power.disk.remove(path(flush_mark_name(left.mark())))


def raise_it(left: Left, rng: Random) -> None:
    """Beyond the log's end, whatever a power cut spared."""
    higher = left.mark() + rng.choice([1000, 2**31, 2**63 - 1, 10**19])
    left.rename_mark(flush_mark_name(Offset(higher)))


def lower(left: Left, rng: Random) -> None:
    if left.mark():
        left.rename_mark(flush_mark_name(Offset(rng.randrange(left.mark()))))


def add_a_lower_one(left: Left, rng: Random) -> None:
    if left.mark():
        left.add(flush_mark_name(Offset(rng.randrange(left.mark()))))


def add_a_higher_one(left: Left, rng: Random) -> None:
    left.add(flush_mark_name(Offset(left.mark() + rng.choice([1000, 2**63]))))


def add_what_is_none(left: Left, rng: Random) -> None:
    left.add(rng.choice(NO_MARKS))


def make_it_none(left: Left, rng: Random) -> None:
    left.rename_mark(rng.choice(NO_MARKS))


NO_MARKS = [
    "flushed-",
    "flushed-7",
    "flushed--0000000000000000001",
    "flushed-+0000000000000000001",
    "flushed-0000000000_000000001",
    "flushed-00000000000000000001.tmp",
    "flushed-000000000000000000010",
    "flushed-v2-00000000000000001",
    "flushed-0000000000000000000\N{ARABIC-INDIC DIGIT ONE}",
    "flushed-flushed-00000000000000000001",
    "00000000000000000001",
    "FLUSHED-00000000000000000001",
]

# --- what is done to the log ---


def flip(left: Left, rng: Random) -> None:
    name, data = a_segment(left, rng)
    if data:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        left.power.disk.replace(path(name), data)


def cut_anywhere(left: Left, rng: Random) -> None:
    name, data = a_segment(left, rng)
    left.power.disk.replace(path(name), data[: rng.randint(0, len(data))])


def cut_at_a_batch(left: Left, rng: Random) -> None:
    """Of the last segment, and as if nothing else had ever been there."""
    name = max(each for each in left.files() if each.endswith(".log"))
    data = left.files()[name]
    sizes = [len(each) for each in left.durable if each in data]
    kept = sum(sizes[: rng.randint(0, len(sizes))])
    left.power.disk.replace(path(name), data[:kept])


def remove_a_segment(left: Left, rng: Random) -> None:
    left.power.disk.remove(path(a_segment(left, rng)[0]))


def a_segment(left: Left, rng: Random) -> tuple[str, bytes]:
    name = rng.choice([each for each in left.files() if each.endswith(".log")])
    return name, left.files()[name]


TO_THE_MARK: list[Attack] = [
    leave,
    remove,
    raise_it,
    lower,
    add_a_lower_one,
    add_a_higher_one,
    add_what_is_none,
    make_it_none,
]
TO_THE_LOG: list[Attack] = [
    leave,
    leave,
    flip,
    cut_anywhere,
    cut_at_a_batch,
    remove_a_segment,
]
# The mark that a node left is still there, and the highest.
HARMLESS = (leave, add_a_lower_one, add_what_is_none)


def attacked(seed: int) -> str:
    """What became of it: refused, cut, told of, whole."""
    rng = Random(seed)
    left = lived(rng)
    vouched = left.durable[: left.mark()]  # of each batch one record
    to_the_mark, to_the_log = rng.choice(TO_THE_MARK), rng.choice(TO_THE_LOG)
    to_the_mark(left, rng)
    to_the_log(left, rng)
    found_mark = find_mark(left.power.disk, METADATA_DIRECTORY)
    before = left.files()
    try:
        log = Log.open(left.power.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
    except CorruptLog:
        assert to_the_mark not in HARMLESS or to_the_log is not leave, "a power cut was all"
        assert left.files() == before, "a refusal changes nothing"
        return "refused"
    assert found_mark is None or log.end().offset >= found_mark
    if read(log)[: len(vouched)] != vouched:
        assert to_the_mark not in HARMLESS, "records below the mark are gone"
        told = log.cut is not None or log.was_unmarked
        assert told or to_the_mark is lower, "records are gone, and nothing says so"
    check_opened(left, log)
    return "cut" if log.cut is not None else "unmarked" if log.was_unmarked else "whole"


def check_opened(left: Left, log: Log) -> None:
    """One mark that vouches for all, and nothing left to tell the next time."""
    marks = [each for each in left.files() if each == flush_mark_name(log.end().offset)]
    assert len(marks) == 1
    assert find_mark(left.power.disk, METADATA_DIRECTORY) == log.end().offset
    again = Log.open(left.power.disk, METADATA_DIRECTORY, SEGMENT_BYTES)
    assert (again.cut, again.was_unmarked) == (None, False)
    assert read(again) == read(log)


def read(log: Log) -> list[bytes]:
    data = b"".join(log.read(it.base, 1 << 20) for it in log.segments if it.size)
    return [each.data for each in split_batches(data)]


def test_no_attack_on_the_mark_or_below_it_passes_in_silence() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        try:
            seen[attacked(seed)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
    assert min(seen[outcome] for outcome in ("refused", "cut", "unmarked", "whole")) > SEEDS / 50


@pytest.mark.parametrize("name", NO_MARKS)
def test_a_name_that_is_nearly_a_mark_is_none(name: str) -> None:
    left = lived(Random(1))
    left.rename_mark(name)
    assert find_mark(left.power.disk, METADATA_DIRECTORY) is None
    FlushMark.put(left.power.disk, METADATA_DIRECTORY, Offset(5))
    assert find_mark(left.power.disk, METADATA_DIRECTORY) == 5
    assert name in left.files(), "what is not ours is left alone"
