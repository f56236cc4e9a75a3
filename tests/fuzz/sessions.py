"""Sessions by number, so that each can be seen again alone; and the command that runs many."""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable


class Surprise(AssertionError):
    """The node did what it must not do."""


def run_sessions(
    module: str, seed: int, numbers: Iterable[int], session: Callable[[random.Random], None]
) -> None:
    """Of `tests.fuzz.<module>`. Raises Surprise, which says how to see it again."""
    for number in numbers:
        try:
            session(random.Random(f"{seed}:{number}"))
        except Exception as error:
            again = f"python -m tests.fuzz.{module} --seed {seed} --first {number} --count 1"
            raise Surprise(f"{error!r}\n  try: {again}") from error


def command(about: str | None, size: int, fuzz: Callable[[int, range], str]) -> int:
    """Run sessions of that size as the command line says, print what `fuzz` tells of them, and give
    the exit code."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--count", type=int, default=100_000, help="requests or answers, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first session")
    options = parser.parse_args()
    numbers = range(options.first, options.first + max(options.count // size, 1))
    began = time.monotonic()
    try:
        told = fuzz(options.seed, numbers)
    except Surprise as surprise:
        print(f"seed {options.seed}: {surprise}", file=sys.stderr)
        return 1
    print(f"seed {options.seed}: {told}; {time.monotonic() - began:.1f} s")
    return 0
