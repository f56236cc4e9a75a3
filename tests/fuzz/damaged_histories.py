"""Files that are nearly histories: sound ones that were damaged, and odd ones.

Each may be judged or refused; what must not be is anything else.
"""

import gzip
import json
import random
from collections.abc import Callable

import zstandard

from tests.support.foreign import ALL

_PIECES = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\n",
    b"\\",
    b"#_",
    b"nil",
    b":ok",
    b"\xff",
    b"\0",
    b"7",
    b" ",
)
_NUMBERS = (
    "0",
    "-0.0",
    "1e999",
    "1.00000000000000000001M",
    "2/4",
    "1/0",
    "9" * 400,
    "9" * 401,
    "9223372036854775807",
    "9223372036854775808",
    "-1",
    "1e99999",
    "##NaN",
    "017",
    "1.",
    "+5",
    "0x1F",
)
_VALUES = (
    "nil",
    "[]",
    "[1]",
    "[nil nil]",
    "[[:r 1 nil]]",
    "[[:w 1]]",
    "[[:poll {1 [[0 1]]}]]",
    "[[:send 1 [0 1]]]",
    "{}",
    "{:a 1}",
    "#{1 2}",
    '"x"',
    '""',
    ":k",
    "\\a",
    '"\\u0000"',
    "true",
)
_NAMES = ("read", "write", "cas", "append", "get", "put", "delete", "txn", "send", "poll", "assign")
_OTHER_NAMES = ("subscribe", "crash", "swap", "nil", "seek", "enqueue", "add", "lock")


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Cut, repeated, swapped or sprinkled with what means something to a reader."""
    for _ in range(rng.randint(1, 3)):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        match rng.randrange(6):
            case 0:
                data = data[:end]
            case 1:
                data = data[:at] + data[min(end, at + 40) :]
            case 2:
                data = data[:at] + rng.choice(_PIECES) + data[at:]
            case 3:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 4:
                lines = data.splitlines(keepends=True)
                rng.shuffle(lines)
                data = b"".join(lines)
            case _:
                data += data[at:end]
    return data


def damaged_file(rng: random.Random) -> bytes:
    """One of them; some of either kind are packed, and some packed ones damaged again."""
    if rng.random() < 0.5:
        data = damaged(rng, ALL[rng.choice(sorted(ALL))].encode())
    else:
        data = rng.choice(ODD)(rng)
    match rng.randrange(10):
        case 0:
            data = zstandard.ZstdCompressor(write_checksum=True).compress(data)
        case 1:
            data = gzip.compress(data)
        case 2:
            data = damaged(rng, gzip.compress(data))
        case _:
            pass
    return data


def _line(rng: random.Random, process: object, kind: str, f: str, value: object) -> str:
    more = rng.choice(("", ", :time 7", ", :index 3", ", :error :timeout"))
    return f"{{:process {process}, :type :{kind}, :f :{f}, :value {value}{more}}}\n"


def _numbers(rng: random.Random) -> bytes:
    """Written and read, whatever they are."""
    text = ""
    for process in range(rng.randint(1, 4)):
        value = rng.choice(_NUMBERS)
        f = rng.choice(("write", "read"))
        text += _line(rng, process, "invoke", f, value if f == "write" else "nil")
        text += _line(rng, process, "ok", f, value)
    return text.encode()


def _offsets(rng: random.Random) -> bytes:
    text = ""
    for value in range(rng.randint(1, 4)):
        offset = rng.choice((*_NUMBERS, value, value, value, value))
        text += _line(rng, 0, "invoke", "send", f"[[:send :k {value}]]")
        text += _line(
            rng, 0, rng.choice(("ok", "ok", "info")), "send", f"[[:send :k [{offset} 1]]]"
        )
    text = text.replace(" 1]]]", " 0]]]", 1)
    return text.encode()


def _soup(rng: random.Random) -> bytes:
    """Any operations with any values, paired or not."""
    text = ""
    for _ in range(rng.randint(1, 12)):
        f = rng.choice((*_NAMES, *_NAMES, *_OTHER_NAMES))
        process = rng.choice((0, 1, 2, 2, ":nemesis", '"1"', "1.5", 2**31, -1))
        value = rng.choice((*_VALUES, rng.choice(_NUMBERS)))
        text += _line(rng, process, "invoke", f, value)
        if rng.random() < 0.9:
            told = value if rng.random() < 0.7 else rng.choice(_VALUES)
            text += _line(rng, process, rng.choice(("ok", "ok", "info", "fail")), f, told)
    return text.encode()


def _json_soup(rng: random.Random) -> bytes:
    values: tuple[object, ...] = (
        None,
        1,
        1.5,
        "x",
        [1, 2],
        [],
        {"a": 1},
        True,
        10**300,
        [["r", "k", None]],
        -1,
    )
    objects: list[object] = []
    for _ in range(rng.randint(1, 8)):
        f, value = rng.choice(_NAMES), rng.choice(values)
        process = rng.choice((0, 1, 2, 3, "nemesis", None, True, 1.0))
        for kind in ("invoke", rng.choice(("ok", "info", "fail", "sleep", None))):
            one: dict[str, object] = {"type": kind, "process": process, "f": f, "value": value}
            for name in list(one):
                if rng.random() < 0.03:
                    del one[name]
            if rng.random() < 0.1:
                one["key"] = rng.choice(values)
            objects.append(one if rng.random() < 0.97 else rng.choice(values))
    text = "\n".join(map(json.dumps, objects))
    if rng.random() < 0.3:
        text = json.dumps(objects)
    return text.replace("1.5", rng.choice(("1.5", "1e400", "-1E-400", "Infinity", "01"))).encode()


def _deep(rng: random.Random) -> bytes:
    depth = rng.choice((63, 64, 65, 5000))
    begin, end = rng.choice((("[", "]"), ("{:a ", "}"), ("#{", "}"), ("(", ")")))
    value = begin * depth + end * rng.choice((depth, depth, depth - 1))
    return rng.choice((value, _line(rng, 0, "invoke", "write", value))).encode()


def _tags(rng: random.Random) -> bytes:
    return (rng.choice(("#_ ", "#a ", "; x\n")) * rng.randint(1, 5000) + ALL["jepsen.edn"]).encode()


def _many_open(rng: random.Random) -> bytes:
    """As many operations under way as a search has room for, or more."""
    open_ones = rng.choice((63, 64, 65, 511, 512, 513, 600))
    values = rng.choice((1, 2, 7))
    text = "".join(_line(rng, p, "invoke", "write", p % values) for p in range(open_ones))
    for read in range(rng.randint(0, 5)):
        text += _line(rng, 10_000, "invoke", "read", "nil")
        text += _line(rng, 10_000, "ok", "read", read % values)
    if rng.random() < 0.5:
        text += "".join(_line(rng, p, "ok", "write", p % values) for p in range(open_ones))
    return text.encode()


def _many_registers(rng: random.Random) -> bytes:
    """More states than 64 bits count, and one read that may be wrong."""
    registers = rng.choice((16, 17, 32, 63, 64, 65, 300))
    text = ""
    for value in range(rng.choice((1, 2))):
        for first in range(0, registers - 1, rng.choice((1, 2))):
            inside = f"[[:w {first} {value}] [:w {first + 1} {value}]]"
            text += _line(rng, 0, "invoke", "txn", inside) + _line(rng, 0, "ok", "txn", inside)
    read = f"[[:r 0 {rng.choice((0, 1, 9))}] [:r {registers - 1} nil]]"
    return (text + _line(rng, 1, "invoke", "txn", read) + _line(rng, 1, "ok", "txn", read)).encode()


def _encoded(rng: random.Random) -> bytes:
    text = ALL[rng.choice(sorted(ALL))]
    match rng.randrange(5):
        case 0:
            return text.encode("utf-16")
        case 1:
            return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
        case 2:
            return text.replace("1", "ä").encode("latin1")
        case 3:
            return gzip.compress(gzip.compress(text.encode()))
        case _:
            return text.encode() + bytes(rng.randint(1, 3))


def _nothing(rng: random.Random) -> bytes:
    return rng.choice(
        (
            b"",
            b" \n",
            b"[]",
            b"{}",
            b"()",
            b"[[]]",
            b"null",
            b"nil",
            b"1",
            b"; x",
            b"\x1f\x8b",
            b"[{}]",
        )
    )


def _rebalances(rng: random.Random) -> bytes:
    log = rng.choice(("nil", "7", "[]", "[{:keys [:k]}]", "[{:keys 1}]", "[:k]", "{:keys [:k]}"))
    held = rng.choice(("[:k]", "#{:k}", "nil", "[]", ":k", "[[:k 0]]"))
    return (
        _line(rng, 1, "invoke", rng.choice(("assign", "subscribe")), held)
        + _line(rng, 0, "invoke", "send", "[[:send :k 1]]")
        + _line(rng, 0, "ok", "send", "[[:send :k [0 1]]]")
        + _line(rng, 2, "invoke", "poll", "[[:poll]]")
        + _line(rng, 2, "ok", "poll", "[[:poll {:k [[0 1]]}]]").replace(
            "}\n", f", :rebalance-log {log}}}\n"
        )
    ).encode()


ODD: tuple[Callable[[random.Random], bytes], ...] = (
    _numbers,
    _offsets,
    _soup,
    _soup,
    _json_soup,
    _deep,
    _tags,
    _many_open,
    _many_registers,
    _encoded,
    _nothing,
    _rebalances,
)
