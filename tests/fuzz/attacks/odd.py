"""Requests with numbers, names and counts that no client sends; each is answered or hung up on."""

import gzip
from collections.abc import Iterator
from itertools import product

from tests.fuzz.attacks.raw import (
    LEAST_32,
    LEAST_64,
    MOST_16,
    MOST_32,
    MOST_64,
    NOTHING,
    array,
    batch,
    compact,
    compact_array,
    fetch,
    i8,
    i16,
    i32,
    i64,
    join,
    metadata,
    octets,
    produce,
    record,
    request,
    text,
    unsigned,
)

TOPIC, GROUP = "t0", "g"
NAMES = ("", ".", "..", "a/b", "a b", "a\0b", "x" * 250, "__consumer_offsets", "__cluster_metadata")
VALUES = (
    "",
    " ",
    "abc",
    "-1",
    "0",
    "1e9",
    str(2**63),
    "+5",
    "0x10",
    "NaN",
    "true",
    "5\0",
    "x" * 32000,
)
KEYS = ("retention.ms", "segment.bytes", "min.insync.replicas", "cleanup.policy", "nope")
WIDE = 1900  # elements: as many as anybody takes


def batches() -> Iterator[tuple[str, bytes | None]]:
    bomb = gzip.compress(record(bytes(1 << 28)), 9)[:1_000_000]
    yield "gzip-bomb", batch(bomb, attributes=1)
    yield "phantom-records", batch(last_delta=MOST_32 - 1, count=MOST_32)
    yield "negative-counts", batch(last_delta=-1, count=-1)
    yield "garbage-records", batch(b"\xff" * 500)
    yield "no-records", batch(b"")
    yield "unknown-codec", batch(attributes=7)
    yield "wrong-crc", batch(crc=0)
    yield "torn-batch", batch()[:-1]
    yield "two-batches", batch() * 2
    yield "no-batch", b""
    yield "null-batch", None
    yield "endless-length", batch(length=MOST_32)
    yield "negative-length", batch(length=-5)
    yield "negative-base", batch(base=LEAST_64)
    yield "last-base", batch(base=MOST_64)
    yield "control-batch", batch(attributes=0x20)
    yield "transactional-batch", batch(attributes=0x10)
    yield "end-of-time", batch(times=(MOST_64, MOST_64))
    yield "before-time", batch(times=(LEAST_64, LEAST_64))
    yield "last-producer", batch(producer=(MOST_64, MOST_16, MOST_32))
    yield "producer-without-epoch", batch(producer=(5, -1, 0))
    yield "producer-without-sequence", batch(producer=(77, 0, -1))
    for magic in (0, 1, 3):
        yield f"magic-{magic}", batch(magic=magic)


def produces() -> Iterator[tuple[str, list[bytes]]]:
    for name, records in batches():
        yield name, [produce(TOPIC, index, records) for index in range(3)]
    yield "odd-acks", [produce(TOPIC, 0, batch(), acks=acks) for acks in (2, -2, MOST_16)]
    yield "odd-patience", [produce(TOPIC, 0, batch(), -1, ms) for ms in (0, -1, LEAST_32)]
    yield "topics-of-nobody", [produce(name, 0, batch()) for name in NAMES]
    twice = array([i32(0) + octets(batch())] * 2)
    body = text(None) + i16(1) + i32(1000) + array([text(TOPIC) + twice] * 2)
    yield "one-partition-four-times", [request(0, 7, body)]


def fetches() -> Iterator[tuple[str, list[bytes]]]:
    offsets = (-1, LEAST_64, MOST_64, 0)
    yield "odd-offsets", [fetch(TOPIC, [(0, offset, MOST_32)]) for offset in offsets]
    yield (
        "odd-sizes",
        [
            fetch(TOPIC, [(0, 0, size)], least=least, most=most)
            for size, least, most in ((-1, -1, -1), (LEAST_32, 0, 0), (MOST_32, MOST_32, MOST_32))
        ],
    )
    yield (
        "odd-sessions",
        [
            fetch(TOPIC, [(0, 0, 1)], session=session)
            for session in ((5, 1), (0, 1), (MOST_32, MOST_32), (-1, 5), (7, -1))
        ],
    )
    # In the name of nobody: what a broker fetches counts as what it has.
    yield "replicas-of-nobody", [fetch(TOPIC, [(0, 0, 1)], replica=each) for each in (0, 99, -2)]
    yield "wide-fetch", [fetch(TOPIC, [(index % 3, 0, 1) for index in range(WIDE)])]
    listed = [i32(index % 3) + i64(1) for index in range(WIDE)]
    yield "wide-list-offsets", [request(2, 1, i32(-1) + array([text(TOPIC) + array(listed)]))]
    ends = [i32(0) + i32(current) + i32(MOST_32) for current in (-1, -5, MOST_32)]
    yield "odd-epochs", [request(23, 3, i32(-2) + array([text(TOPIC) + array(ends)]))]


def groups() -> Iterator[tuple[str, list[bytes]]]:
    yield (
        "odd-members",
        [
            join("", metadata=b""),
            join("g" * 32000),
            join("big", metadata=bytes(1_000_000)),
            *[join("timed", session_ms=ms) for ms in (-1, 0, 1, MOST_32)],
        ],
    )
    commits = [
        i32(index) + i64(offset) + text(said)
        for index, offset, said in product(
            (0, -1, MOST_32), (-1, LEAST_64, MOST_64), ("", "x" * 5000)
        )
    ]
    body = text(GROUP) + i32(-1) + text("") + array([text(TOPIC) + array(commits)])
    yield "odd-commits", [request(8, 5, body)]
    yield (
        "wide-group-questions",
        [
            request(15, 2, array(text(f"g{number}") for number in range(WIDE))),
            request(16, 2, b""),
            request(9, 5, text(GROUP) + i32(-1)),
        ],
    )


def administration() -> Iterator[tuple[str, list[bytes]]]:
    def created(name: str, count: int, replicas: int, ids: tuple[int, ...] = ()) -> bytes:
        assigned = [i32(0) + array(map(i32, ids))] if ids else []
        body = text(name) + i32(count) + i16(replicas) + array(assigned) + array([])
        return request(19, 4, array([body]) + i32(2000) + i8(0))

    yield "topics-of-odd-names", [created(name, 1, 1) for name in NAMES]
    counts = ((MOST_32, 1), (10**6, 1), (0, 1), (-2, 1), (1, MOST_16), (1, 0), (1, -5))
    yield "topics-of-odd-sizes", [created("odd", *each) for each in counts]
    yield (
        "odd-assignments",
        [created("odd", -1, -1, ids) for ids in ((4, 4), (99,), (-1,), (4, 99))],
    )
    yield (
        "odd-settings",
        [
            request(
                44,
                0,
                array([i8(2) + text(TOPIC) + array([text(key) + i8(way) + text(value)])]) + i8(1),
            )
            for key, value in product(KEYS, VALUES)
            for way in (0, 4)
        ],
    )
    moved = [[], [4, 4], [99], [-1], [4, 5, 6] * 30]
    yield (
        "odd-reassignments",
        [
            request(
                45,
                0,
                i32(1000)
                + compact_array(
                    [
                        compact("none")
                        + compact_array([i32(0) + compact_array(map(i32, ids)) + NOTHING])
                        + NOTHING
                    ]
                )
                + NOTHING,
                tags=NOTHING,
            )
            for ids in moved
        ],
    )
    yield "odd-elections", [request(43, 1, i8(kind) + i32(-1) + i32(MOST_32)) for kind in (9, -1)]
    yield (
        "odd-features",
        [
            request(
                57,
                1,
                i32(1000)
                + compact_array([compact(name) + i16(level) + i8(1) + NOTHING])
                + i8(1)
                + NOTHING,
                tags=NOTHING,
            )
            for name, level in product(("metadata.version", "kraft.version", "nope"), (-5, MOST_16))
        ],
    )


def quorum() -> Iterator[tuple[str, list[bytes]]]:
    yield (
        "what-only-nodes-ask",
        [
            request(api, 0, bytes(40), tags=NOTHING)
            for api in (52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82)
        ],
    )
    inner = [b"", bytes(900_000), metadata(TOPIC), request(58, 0, bytes(30), tags=NOTHING)]
    yield (
        "envelopes",
        [
            request(
                58,
                0,
                compact(each) + compact(b"p") + compact(b"\x7f\0\0\1") + NOTHING,
                tags=NOTHING,
            )
            for each in inner
        ],
    )
    yield (
        "voters-of-nobody",
        [
            request(
                80,
                0,
                compact(None)
                + i32(1000)
                + i32(voter)
                + b"\x11" * 16
                + compact_array([compact(host) + compact(host) + i16(9) + NOTHING] * many)
                + NOTHING,
                tags=NOTHING,
            )
            for voter, host, many in ((-1, "", 0), (9, "h" * 30000, 1), (9, "nowhere.invalid", 600))
        ],
    )
    yield (
        "producer-ids",
        [
            request(22, 3, compact(None) + i32(ms) + i64(id_) + i16(epoch) + NOTHING, tags=NOTHING)
            for ms, id_, epoch in ((0, 5, 5), (-1, -1, -1), (MOST_32, MOST_64, MOST_16))
        ],
    )


def frames() -> Iterator[tuple[str, list[bytes]]]:
    tags = unsigned(WIDE) + b"".join(unsigned(tag) + b"\0" for tag in range(WIDE))
    large = unsigned(1) + unsigned(5) + unsigned(900_000) + bytes(900_000)
    yield (
        "odd-headers",
        [
            request(3, 1, array([]), client="c" * 32000),
            request(3, 1, array([]), client=None),
            request(3, 1, array([]), client=b"\xff\xfe\0"),
            request(3, 9, compact_array([]) + bytes(3) + NOTHING, tags=tags),
            request(3, 9, compact_array([]) + bytes(3) + NOTHING, tags=large),
            request(18, 3, compact("\x1b[31m\n{}") + compact("v\0") + NOTHING, tags=NOTHING),
            request(18, 3, compact("a" * 900_000) + compact("v") + NOTHING, tags=NOTHING),
        ],
    )
    yield "odd-versions", [request(18, version, b"") for version in (99, -1, MOST_16)]
    yield "endless-arrays", [request(3, 1, i32(count)) for count in (MOST_32, LEAST_32, 10**6)]
    yield "wide-metadata", [metadata(*(f"none{number}" for number in range(WIDE)))]


def requests() -> dict[str, list[bytes]]:
    """By the names of attacks."""
    found: dict[str, list[bytes]] = {}
    for kind in (produces, fetches, groups, administration, quorum, frames):
        found |= dict(kind())
    return found
