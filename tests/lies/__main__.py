"""Tells lies about sound runs, and asks the judge. See the package.

Prints each alteration that was judged wrongly, what no lie is told about, and figures, which it
leaves in runs/lies.json. Exits 1 where anything is wrong.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from tests.lies.alteration import Alteration, alterations
from tests.lies.bases import recorded
from tests.lies.coverage import uncovered
from tests.lies.judging import KEPT, Outcome, figures, outcomes_of


def main() -> int:
    parsed = _arguments()
    told = alterations()
    chosen = [each for each in told if _wanted(each, parsed)]
    whole = len(chosen) == len(told)
    if parsed.list:
        sys.stdout.writelines(f"{each.id}: {each.what}\n" for each in chosen)
        return 0
    if not chosen:
        sys.stderr.write("error: no such alteration\n  try: python -m tests.lies --list\n")
        return 254
    with tempfile.TemporaryDirectory() as room:
        bases = parsed.bases or Path(room) / "bases"
        names = list(dict.fromkeys(each.base for each in chosen))
        recorded(bases, names, parsed.jobs, lambda line: print(line, file=sys.stderr, flush=True))
        outcomes = []
        for outcome in outcomes_of(chosen, bases, parsed.seed, parsed.jobs):
            outcomes.append(outcome)
            if outcome.wrong or parsed.verbose:
                print(_told(outcome), flush=True)
    lacking = list(uncovered(told)) if whole else []
    print("\n".join(lacking))
    counted = {**figures(outcomes), "checks_lacking": len(lacking)}
    print(", ".join(f"{name.replace('_', ' ')} {number}" for name, number in counted.items()))
    if whole:
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(counted, indent=1) + "\n")
    return int(bool(lacking or any(outcome.wrong for outcome in outcomes)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.lies", description=__doc__)
    parser.add_argument("--check", nargs="+", default=[], metavar="ID", help="lies about these")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these alterations")
    parser.add_argument("--seed", type=int, default=1, help="draws the victims (default 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--bases", type=Path, help="keep the recorded runs here, and use them")
    parser.add_argument("--list", action="store_true", help="name the alterations, and do nothing")
    parser.add_argument("--verbose", action="store_true", help="show those judged rightly too")
    return parser.parse_args()


def _wanted(alteration: Alteration, parsed: argparse.Namespace) -> bool:
    of_check = not parsed.check or bool(set(parsed.check) & set(alteration.checks))
    return of_check and (not parsed.only or alteration.name in parsed.only)


def _told(outcome: Outcome) -> str:
    kind = "lie" if outcome.alteration.is_lie else "legal"
    head = f"{'WRONG' if outcome.wrong else 'right'} {kind} {outcome.alteration.id}"
    return f"{head}: {outcome.alteration.what}\n    {outcome.wrong or outcome.said}"


if __name__ == "__main__":
    sys.exit(main())
