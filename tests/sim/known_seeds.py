"""By which seed, and in how short a run, each planted bug is known to show in its scenario.

The test command tries these, where `kraft-chaos selftest` begins with seed 1 and runs for longer.
Any change of node or simulator may move what a seed shows; then the test hunts as the table does,
and takes longer. To look for others, and print them as they stand here:

    python -m tests.sim.known_seeds [MUTATION ...]
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.progress import ConsoleProgress
from chaos.selftest.kill_table import SuspectKind
from chaos.selftest.suspects import SelftestArguments, Suspect, suspects
from chaos.selftest.trying import row_of

_SHORTEST_S = 8.0
_SEEDS = 3  # of each shorter length
_SHARES = (0.35, 0.6)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSeed:
    seed: int
    duration_s: float


def _by(seed: int, duration_s: float) -> KnownSeed:
    return KnownSeed(seed=seed, duration_s=duration_s)


KNOWN = {
    "Q-NO-FSYNC": _by(1, 8.0),
    "Q-VOTE-LATE": _by(1, 6.0),
    "Q-VOTE-UNFLUSHED": _by(3, 12.0),
    "Q-MARK-EARLY": _by(3, 8.0),
    "Q-SEGMENT": _by(2, 8.0),
    "Q-SNAP-OFF": _by(1, 8.0),
    "Q-SNAP-TORN": _by(1, 8.0),
    "Q-SAME-EPOCH": _by(1, 8.0),
    "Q-HWM-EPOCH": _by(1, 8.0),
    "Q-EARLY-ACTIVE": _by(1, 8.0),
    "Q-STALE-REVERT": _by(1, 15.0),
    "Q-ZOMBIE": _by(1, 12.0),
    "Q-DISRUPT": _by(1, 8.0),
    "Q-PREVOTE-GREEDY": _by(1, 10.0),
    "Q-LIVELOCK": _by(1, 21.0),
    "Q-EPOCH-MIX": _by(3, 11.0),
    "Q-PURGATORY": _by(3, 11.0),
    "Q-HALF-MAJORITY": _by(1, 6.0),
    "Q-HWM-SELF": _by(1, 12.0),
    "Q-HWM-DOWN": _by(3, 21.0),
    "Q-CRASH-REMOVED": _by(1, 12.0),
    "Q-STAY-CANDIDATE": _by(1, 8.0),
    "V-NO-EPOCH-COMMIT": _by(1, 20.0),
    "V-TWO-PENDING": _by(1, 32.0),
    "V-NO-UNDO": _by(3, 20.0),
    "V-REFORMAT": _by(2, 32.0),
    "V-COMMIT-ONLY": _by(1, 20.0),
    "V-STRICT-VOTE": _by(1, 10.0),
    "V-LAG": _by(2, 32.0),
    "V-ID-KEY": _by(1, 16.0),
    "V-REJOIN": _by(1, 12.0),
    "V-TOLD-OLD": _by(1, 8.0),
    "V-BAD-ENDPOINT": _by(1, 24.0),
    "R-STALE-READ": _by(1, 8.0),
    "A-CUT-SHORT": _by(1, 8.0),
    "A-LENIENT": _by(1, 8.0),
    "A-DONE-ANYWAY": _by(1, 21.0),
    "A-ACK-WRITTEN": _by(1, 8.0),
    "A-DENY-CONTROL": _by(1, 8.0),
    "P-HWM-MINISR": _by(1, 16.0),
    "P-HWM-COMMITTED": _by(1, 14.0),
    "P-HWM-DOWN": _by(1, 10.0),
    "P-STALE-EPOCH": _by(1, 12.0),
    "P-ISR-SHORT": _by(1, 10.0),
    "P-TRUNC-HWM": _by(3, 24.0),
    "P-STAY-FENCED": _by(1, 10.0),
    "P-ISR-HASTY": _by(1, 12.0),
    "E-CLEAN-LIE": _by(1, 12.0),
    "E-NO-DETECT": _by(1, 12.0),
    "P-FENCED-ISR": _by(1, 16.0),
    "P-REASSIGN": _by(1, 10.0),
    "E-FENCED-LKL": _by(1, 12.0),
    "E-EAGER": _by(1, 30.0),
    "E-MINISR-DRIFT": _by(1, 30.0),
    "E-CLEAR-ELR": _by(1, 14.0),
    "E-FILE-MINISR": _by(1, 30.0),
    "E-CLEAR-GHOST": _by(1, 20.0),
    "E-LATE-ANSWER": _by(1, 40.0),
    "E-BETTER-COMES": _by(1, 30.0),
    "E-LONGEST-LEO": _by(1, 35.0),
    "E-UNASKED-LKL": _by(1, 30.0),
    "P-LAST-REPLICA": _by(1, 12.0),
    "P-NOT-DEMOTED": _by(1, 12.0),
    "P-DIVERGE-ACK": _by(2, 14.0),
    "P-HWM-STUCK": _by(1, 16.0),
    "P-SHUT-HWM": _by(1, 16.0),
    "P-EARLY-HWM": _by(1, 16.0),
    "P-STALE-DIVERGE": _by(5, 14.0),
    "P-LASTEPOCH": _by(5, 24.0),
    "P-NAME-ALL": _by(1, 21.0),
    "P-NEVER-FENCED": _by(1, 16.0),
    "P-BUSY-FENCE": _by(1, 16.0),
    "P-STRAY": _by(2, 16.0),
    "G-DEPOSED-COMMIT": _by(1, 16.0),
    "E-CLEAN-UNSYNCED": _by(1, 8.0),
    "E-CLEAN-SEGMENT": _by(1, 8.0),
    "E-ELECTION-WIPE": _by(1, 10.0),
    "A-ACK-EARLY": _by(1, 10.0),
    "A-OUT-OF-RANGE": _by(1, 10.0),
    "A-OUT-OF-ORDER": _by(1, 10.0),
    "A-DENY-LEAD": _by(1, 16.0),
    "A-TOLD-AHEAD": _by(1, 10.0),
    "A-TOO-FEW": _by(1, 10.0),
    "G-ACK-WRITTEN": _by(1, 10.0),
    "G-DISOWN": _by(1, 16.0),
    "G-OLD-GENERATION": _by(1, 16.0),
    "G-UNREST": _by(1, 16.0),
    "A-EPOCH-END": _by(1, 16.0),
    "A-DELETE-EARLY": _by(1, 16.0),
    "A-GROWN-UNWRITTEN": _by(1, 16.0),
    "A-REFUSE-ISR": _by(1, 10.0),
    "A-STALE-BROKER": _by(1, 10.0),
}


def looked_for(suspect: Suspect, arguments: SelftestArguments) -> KnownSeed | None:
    """The first that a named check accuses from outside, else the first that one sees inside."""
    inside = None
    for known in _candidates(suspect):
        short = replace(suspect, duration_s=known.duration_s, tries=1)
        row = row_of(short, replace(arguments, seed=known.seed), ConsoleProgress(quiet=True))
        if row.by_name:
            return known
        if row.holds and inside is None:
            inside = known
    return inside


def _candidates(suspect: Suspect) -> Iterator[KnownSeed]:
    whole = suspect.duration_s
    assert whole is not None
    for share in _SHARES:
        for seed in range(1, _SEEDS + 1):
            yield _by(seed, max(min(whole, _SHORTEST_S), float(round(share * whole))))
    for seed in range(1, suspect.tries + 1):
        yield _by(seed, whole)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.known_seeds")
    parser.add_argument("mutations", nargs="*", metavar="MUTATION", help="at first all")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        arguments = SelftestArguments(
            mutations=tuple(wanted.mutations),
            tries=None,
            seed=1,
            out=Path(out),
            as_json=True,
            runtime="sim",
        )
        planted = [one for one in suspects(arguments) if one.kind is SuspectKind.MUTATION]
        for suspect in planted:
            found = looked_for(suspect, arguments)
            told = f"_by({found.seed}, {found.duration_s})" if found else "None: not found"
            print(f'    "{suspect.id}": {told},', flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
