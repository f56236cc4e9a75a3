"""What a leader asks of the records of a batch before it appends them."""

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import pyarrow as pa
import pytest

from node.codec.varint import encode_signed
from node.ids import Epoch, Offset
from node.records.batch import HEADER_SIZE, check_batch, encode_batch
from node.records.compression import DamagedCompression, opened
from node.records.record_checks import MistakenRecords, check_contents
from tests.support.batches import timed_batch

CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
OPENED = tuple(CODECS)
TIMES = tuple(range(100, 140))  # more than are looked into


def packed(codec: str, data: bytes) -> bytes:
    """By other people's code."""
    found = pa.compress(data, codec=codec, asbytes=True)
    assert isinstance(found, bytes)
    return found


def framed(data: bytes) -> bytes:
    """Snappy in the frames of Java's library, in blocks of a hundred bytes."""
    blocks = (packed("snappy", data[at : at + 100]) for at in range(0, len(data), 100))
    head = b"\x82SNAPPY\x00" + bytes((0, 0, 0, 1)) * 2
    return head + b"".join(len(each).to_bytes(4, "big") + each for each in blocks)


def check(batch: bytes) -> None:
    check_contents(check_batch(batch), batch)


def some(seed: int) -> bytes:
    """Text, zeros and noise, in turns."""
    rng = random.Random(seed)
    pieces = [b"", bytes(rng.randrange(2000)), rng.randbytes(rng.randrange(3000))]
    words = [rng.randbytes(rng.randrange(1, 9)) for _ in range(5)]
    pieces.append(b"".join(rng.choices(words, k=rng.randrange(4000))))
    rng.shuffle(pieces)
    return b"".join(pieces * rng.randrange(1, 4))


@pytest.mark.parametrize("codec", [*OPENED, "framed snappy"])
def test_what_others_compress_is_opened(codec: str) -> None:
    pack: Callable[[bytes], bytes] = (
        framed if codec == "framed snappy" else lambda data: packed(codec, data)
    )
    name = codec.removeprefix("framed ")
    for seed in range(30):
        data = some(seed)
        for most in (0, 1, 100, len(data), len(data) + 1):
            assert opened(name, pack(data), most) == data[:most], seed


@pytest.mark.parametrize("codec", OPENED)
def test_what_is_damaged_is_refused_or_opened_to_something(codec: str) -> None:
    """Nothing else is raised, and nothing takes for ever."""
    rng = random.Random(7)
    refused = 0
    for seed in range(60):
        data = bytearray(packed(codec, some(seed) or b"x"))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            assert len(opened(codec, bytes(data[: rng.randrange(len(data)) + 1]), 5000)) <= 5000
        except DamagedCompression:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(("codec", "most"), [("gzip", 100_000), ("zstd", 4_000_000)])
def test_little_is_made_of_a_thousandfold(codec: str, most: int) -> None:
    bomb = packed(codec, bytes(50_000_000))
    tracemalloc.start()
    try:
        assert len(opened(codec, bomb, 1000)) == 1000
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_zstd_of_several_frames_is_opened_to_its_end() -> None:
    data = some(5)
    framed_in_three = b"".join(packed("zstd", data[at::3]) for at in range(3))
    whole = b"".join(data[at::3] for at in range(3))
    for most in (1, len(data[::3]), len(data[::3]) + 1, len(data), len(data) + 1):
        assert opened("zstd", framed_in_three, most) == whole[:most]
    for cut in (1, 7, len(framed_in_three) // 2):
        with pytest.raises(DamagedCompression):
            opened("zstd", framed_in_three[:-cut], len(data) + 1)
    with pytest.raises(DamagedCompression):
        opened("zstd", framed_in_three + b"abc", len(data) + 1)


def test_a_node_that_is_sent_no_zstd_does_not_load_its_library() -> None:
    asked = (
        "import sys, node.server.__main__, node.process_roles; print('zstandard' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("codec", ["none", *OPENED])
def test_records_as_they_should_be_pass(codec: str) -> None:
    plain = timed_batch(*TIMES)[HEADER_SIZE:]
    records = plain if codec == "none" else packed(codec, plain)
    check(timed_batch(*TIMES, codec=CODECS.get(codec, 0), records=records))


@pytest.mark.parametrize("codec", ["none", *OPENED])
def test_large_ones_pass_as_well(codec: str) -> None:
    rng = random.Random(3)
    pairs = [(rng.randbytes(rng.randrange(200)), rng.randbytes(3000)) for _ in range(100)]
    batch = encode_batch(pairs, base_offset=Offset(0), leader_epoch=Epoch(0), timestamp_ms=5)
    check(batch)
    if codec != "none":
        records = packed(codec, batch[HEADER_SIZE:])
        check(timed_batch(*range(100), codec=CODECS[codec], records=records))


def test_headers_of_records_pass() -> None:
    header = encode_signed(3) + b"key" + encode_signed(-1)
    inner = b"\0\0\0\x01\x01" + encode_signed(2) + header * 2
    check(timed_batch(1, records=encode_signed(len(inner)) + inner))


@pytest.mark.parametrize("codec", ["none", *OPENED])
@pytest.mark.parametrize(
    "mistake",
    [
        lambda good: good[:-1],  # the last record runs past the end
        lambda good: good + b"\0",  # bytes that are of no record
        lambda good: good[len(good) // len(TIMES) :],  # fewer than it says
        lambda good: b"\xff" * len(good),
        lambda good: b"",  # noqa: ARG005
        lambda good: b"\x01" + good[1:],  # a record of a negative length
        lambda good: good[:1] + b"\0\0\0\x01\x7f" + good[6:],  # a value that is too long
    ],
)
def test_what_is_not_as_the_header_says_is_its_writers_mistake(
    codec: str, mistake: Callable[[bytes], bytes]
) -> None:
    records = mistake(timed_batch(*TIMES)[HEADER_SIZE:])
    if codec != "none":
        records = packed(codec, records)
    with pytest.raises(MistakenRecords):
        check(timed_batch(*TIMES, codec=CODECS.get(codec, 0), records=records))


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5])
def test_what_no_codec_made_is_a_mistake(codec: int) -> None:
    with pytest.raises(MistakenRecords):
        check(timed_batch(*TIMES, codec=codec, records=random.Random(1).randbytes(300)))
