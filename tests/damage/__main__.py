"""Damages valid runs at random, and asks the judge: what is missing may accuse nobody.

    python -m tests.damage [--count 1000] [--seed 1] [--simulated 12] [--run DIRECTORY ...]

Prints how many damages became which verdict, and every one that was taken for valid or held against
a node; then the losses that were planted, and whether each was found. Leaves the figures in
runs/damage.json, for `make bench`. Exits 1 where one was wrong.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.damage.bases import required_valid, simulated
from tests.damage.campaign import KEPT, Figures, damages, losses


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.damage", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="damages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--simulated", type=int, default=12, help="runs to make and damage")
    parser.add_argument("--run", type=Path, nargs="*", default=[], help="valid runs to damage too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mine = simulated(Path(place) / "simulated", arguments.simulated)
        bases = [*mine, *(required_valid(run) for run in arguments.run)]
        figures = damages(Path(place), bases, count=arguments.count, seed=arguments.seed)
        print(_told(figures, "damages"))
        planted = losses(mine, seed=arguments.seed, each=max(1, arguments.count // 50))
        print(_told(planted, "planted losses"))
    KEPT.parent.mkdir(exist_ok=True)
    kept = {"damages": figures.as_json(), "planted": planted.as_json(), "runs": len(bases)}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return int(bool(figures.wrong or planted.wrong))


def _told(figures: Figures, what: str) -> str:
    verdicts = ", ".join(f"{count} {word}" for word, count in sorted(figures.verdicts.items()))
    lines = [f"{figures.count} {what}: {verdicts}; {len(figures.wrong)} wrong"]
    lines += [f"  {one.verdict}: {one.what}: {one.sentence[:200]}" for one in figures.wrong]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
