"""The command; `tests.differential` tells what it does."""

import argparse
import asyncio
import sys
import time

from tests import differential
from tests.differential.asking import Asking, Tally
from tests.differential.clusters import both_sides


def main() -> int:
    parser = argparse.ArgumentParser(description=differential.__doc__)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unknown", type=int, default=1, help="differences to go on until")
    options = parser.parse_args()
    began = time.monotonic()
    tally = asyncio.run(compare(options.seed, options.requests, options.unknown))
    for each in tally.unknown:
        print(each.told(options.seed), file=sys.stderr)
    print(f"seed {options.seed}: {tally}; {time.monotonic() - began:.1f} s")
    if tally.unknown:
        return 1
    return 3 if tally.never_done else 0


async def compare(seed: int, count: int, most_unknown: int = 1) -> Tally:
    async with both_sides() as (kafka, node):
        return await Asking(seed, kafka, node).ask(count, most_unknown)


if __name__ == "__main__":
    sys.exit(main())
