"""Every kernel of the judge with its bounds checked, in a process of its own.

    python -m tests.fuzz.bounds --count 2000 --seed 1

Compiled code does not look whether an index is inside of its array; NUMBA_BOUNDSCHECK makes it
look, at several times the cost. Histories at the limits of what the kernels have room for, ones
that are none, and record batches whose lengths are lies: each is judged, or refused with a
ValueError, and never an index out of its array. Prints a line; exit code 1 if one is, and how to
repeat it.
"""

import argparse
import os
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from checkers.history.calls import ANY, NEVER, NIL, Calls, Model
from checkers.linearizability import Budget, decide
from tests.support.long_calls import Load, long_calls
from tests.support.random_calls import Shape, random_calls

MODELS = (Model.REGISTER, Model.CAS_REGISTER, Model.KV, Model.MULTI_REGISTER)
_EXTREMES = (-(2**31), -3, -2, -1, 0, 1, 2, 7, 2**15, 2**31 - 1)
_FAR = (-(2**63), -1, 0, 1, 63, 64, 2**31, 2**62, 2**63 - 2, NEVER)


def _budget(rng: random.Random) -> Budget:
    """Seldom enough."""
    return Budget(
        work=rng.choice((1, 100, 20_000)),
        configurations=rng.choice((1, 2, 5, 4096)),
        states=rng.choice((1, 2, 3, 5, 100_000)),
        cells=rng.choice((1, 40, 1_000_000)),
    )


def _calls(rng: random.Random) -> Calls:
    """Around 64 and 512 operations under way, few and many values, one and many keys."""
    processes = rng.choice((1, 3, 8, 63, 64, 65, 80))
    shape = Shape(
        model=rng.choice(MODELS),
        calls=rng.choice((1, 2, 10, 40, 2 * processes)),
        processes=processes,
        keys=rng.choice((1, 1, 2, 5, 64, 65)),
        values=rng.choice((0, 1, 2, 5)),
        info=rng.choice((0.0, 0.1, 0.5, 1.0)),
        cas=rng.choice((0.2, 0.6)),
        deletes=rng.choice((0.0, 0.3)),
        initial=rng.choice((NIL, 0)),
    )
    return random_calls(rng, shape)


def judged(rng: random.Random) -> str:
    return decide(_calls(rng), budget=_budget(rng)).verdict.word


def many_open(rng: random.Random) -> str:
    """More of unknown outcome than there are slots."""
    info = rng.choice((0.5, 0.9, 1.0))
    load = Load(
        operations=rng.choice((200, 700, 1200)),
        processes=rng.choice((1, 5, 70)),
        values=rng.choice((1, 2, 5)),
        info=info,
        cas=rng.random() < 0.5,
        damaged=info < 1.0 and rng.random() < 0.5,
    )
    return decide(long_calls(load, rng.randrange(1000)), budget=_budget(rng)).verdict.word


def broken(rng: random.Random) -> str:
    """Codes that point nowhere, columns that are too short, events that are none."""
    calls = _calls(rng)
    columns = ("outcome", "kind", "key", "value", "expected", "step_from", "invoke", "complete")
    changed: dict[str, object] = {}
    for name in rng.sample(columns, rng.randint(1, 3)):
        column = getattr(calls, name).copy()
        for _ in range(rng.randint(0, 3)):
            if len(column):
                far = _FAR if column.dtype == np.int64 else _EXTREMES
                value = rng.choice((*far, int(column[rng.randrange(len(column))])))
                held = np.iinfo(column.dtype)
                column[rng.randrange(len(column))] = min(max(value, held.min), held.max)
        if rng.random() < 0.2:
            column = column[: rng.randrange(len(column) + 1)]
        changed[name] = column
    if rng.random() < 0.2:
        changed["keys"] = calls.keys[: rng.randrange(len(calls.keys) + 1)]
    if rng.random() < 0.2:
        changed["values"] = calls.values[: rng.randrange(len(calls.values) + 1)]
    if rng.random() < 0.1:
        changed["initial"] = rng.choice((ANY, 5, 2**31))
    if rng.random() < 0.2:
        changed["model"] = rng.choice(MODELS)
    return decide(replace(calls, **changed), budget=_budget(rng)).verdict.word  # type: ignore[arg-type]  # as meant


def swept(rng: random.Random) -> str:
    """The sweep that runs are judged by, over any columns."""
    from checkers.linearizability import zones

    rows, keys = rng.choice((0, 1, 2, 20, 300)), rng.randint(0, 4)
    events = 2 * rows + rng.choice((0, 0, 5, -1))
    order = np.array(rng.sample(range(2 * rows), 2 * rows), np.int64).reshape(2, rows)
    invoke, complete = order.min(axis=0), order.max(axis=0)
    for column in (invoke, complete):
        if rows and rng.random() < 0.2:
            column[rng.randrange(rows)] = rng.choice(_FAR)
    key = np.array([rng.randrange(max(1, keys)) for _ in range(rows)], np.int32)
    if rows and rng.random() < 0.2:
        key[rng.randrange(rows)] = rng.choice(_EXTREMES)
    found = zones.check(
        kind=np.array([rng.randrange(8) for _ in range(rows)], np.int8),
        key=key,
        value=np.array([rng.choice((*_FAR, 3, 4, 5)) for _ in range(rows)], np.int64),
        invoke=invoke,
        complete=complete,
        keys=keys,
        events=max(0, events),
    )
    return "valid" if (found.against < 0).all() else "invalid"


def records(rng: random.Random) -> str:
    """Record batches whose varints tell any length."""
    from checkers.disk.values import walk

    blocks, counts = [], []
    for _ in range(rng.randint(1, 4)):
        data = b""
        for _ in range(rng.randint(0, 4)):
            data += b"".join(_varint(rng) if rng.random() < 0.9 else b"\0" for _ in range(6))
            data += rng.randbytes(rng.choice((0, 1, 8, 20)))
        blocks.append(data)
        counts.append(rng.randint(0, len(data) + 1))
    sizes = np.array([len(block) for block in blocks], np.int64)
    ends = np.cumsum(sizes)
    room = np.array(counts, np.int64)
    first = np.concatenate([[0], np.cumsum(room)])
    offsets, values = np.zeros(first[-1], np.int64), np.zeros(first[-1], np.int64)
    read = np.zeros(len(blocks), np.int64)
    joined = np.frombuffer(b"".join(blocks), np.uint8)
    walk(joined, ends - sizes, ends, room, first, offsets, values, read)
    assert (read <= room).all()
    return "read"


def _varint(rng: random.Random) -> bytes:
    number = rng.choice((0, 1, 2, 14, 16, 40, 2**31, 2**32, 2**62, 2**63, 2**64 - 2, 2**64 - 1))
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


CASES: Sequence[Callable[[random.Random], str]] = (
    judged,
    judged,
    many_open,
    broken,
    swept,
    records,
)


def fuzz(seed: int, numbers: range) -> tuple[Counter[str], list[str]]:
    """What came of each case, and the stories of those that must not have happened."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for number in numbers:
        rng = random.Random(f"{seed}:bounds:{number}")
        case = rng.choice(CASES)
        try:
            counts[f"{case.__name__} {case(rng)}"] += 1
        except ValueError as error:
            if "not a history" in str(error):
                counts[f"{case.__name__} refused"] += 1
            else:
                wrong.append(f"--seed {seed} --first {number}: {traceback.format_exc()}")
        except Exception:  # noqa: BLE001 - an IndexError above all, but nothing else either
            wrong.append(f"--seed {seed} --first {number}: {traceback.format_exc()}")
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.bounds", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    options = parser.parse_args()
    if not os.environ.get("NUMBA_BOUNDSCHECK"):
        # Before anything is compiled; optimized less, for what takes longest is compiling.
        checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"}
        return subprocess.run(
            [sys.executable, "-m", __spec__.name, *sys.argv[1:]], env=checked
        ).returncode
    began = time.monotonic()
    counts, wrong = fuzz(options.seed, range(options.first, options.first + options.count))
    for one in wrong[:5]:
        print(one)
    said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(
        f"{options.count} cases with bounds checked: {len(wrong)} wrong; {said}; "
        f"{time.monotonic() - began:.0f} s"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
