"""Does this checkout simulate what another does, byte for byte? It has to where code only moved.

    python -m tests.bench.digest > before.txt       at the older commit
    python -m tests.bench.digest --like before.txt  at the newer one

A line is a run: its scenario, its seed, its exit code, and a digest of each of its files. Of
verdicts the checks, what each concludes and what it says count, but not the time that they took;
of run.json all but the commit.
With --like, runs that differ are named with the first files that do, and the exit code is 1.
"""

import argparse
import contextlib
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from chaos.cli import main as kraft_chaos
from checkers.history.store import VERDICT
from tests.bench.paired import SCRATCH

SCENARIOS = (
    "kill-leader",
    "partition-leader",
    "power-off",
    "swarm",
    "swarm-brokers",
    "last-replica-standing",
    "isr-shrink-storm",
    "membership-churn",
    "snapshot-catch-up",
    "controlled-shutdown-roll",
)
SEEDS = range(1, 5)
DURATION_S = 6
# The checkout, wall-clock time, and checksums of files that have one of these.
NOT_OF_THE_RUN = ("commit", "seconds", "judged", "beside", "crc32c")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDigest:
    scenario: str
    seed: int
    exit_code: int
    files: Mapping[str, str]

    def as_line(self) -> str:
        return json.dumps([self.scenario, self.seed, self.exit_code, self.files])

    @classmethod
    def from_line(cls, line: str) -> Self:
        scenario, seed, exit_code, files = json.loads(line)
        return cls(scenario=scenario, seed=seed, exit_code=exit_code, files=files)

    def differs(self, other: Self) -> list[str]:
        """What is not the same in both; a file that only one has differs."""
        found = [] if self.exit_code == other.exit_code else ["the exit code"]
        names = sorted(self.files.keys() | other.files.keys())
        return found + [name for name in names if self.files.get(name) != other.files.get(name)]


def simulated(scenarios: Sequence[str]) -> Iterator[RunDigest]:
    for scenario in scenarios:
        for seed in SEEDS:
            with tempfile.TemporaryDirectory(dir=SCRATCH) as out:
                exit_code = _run(scenario, seed, Path(out))
                files = _digests(Path(out))
            yield RunDigest(scenario=scenario, seed=seed, exit_code=exit_code, files=files)


def _run(scenario: str, seed: int, out: Path) -> int:
    line = ["run", scenario, "--runtime", "sim", "--seed", str(seed)]
    line += ["--duration", str(DURATION_S), "--out", str(out)]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        return kraft_chaos(line)


def _digests(out: Path) -> dict[str, str]:
    """By the path within the run's directory, whose name has the time of day."""
    paths = (path for path in sorted(out.rglob("*")) if path.is_file() and not path.is_symlink())
    return {
        "/".join(path.relative_to(out).parts[1:]): hashlib.sha256(_bytes_of(path)).hexdigest()[:16]
        for path in paths
    }


def _bytes_of(path: Path) -> bytes:
    if path.name not in (VERDICT, "run.json"):
        return path.read_bytes()
    return json.dumps(_without_times(json.loads(path.read_text())), sort_keys=True).encode()


def _without_times(value: object) -> object:
    match value:
        case dict():
            kept = value.items()
            return {key: _without_times(each) for key, each in kept if key not in NOT_OF_THE_RUN}
        case list():
            return [_without_times(each) for each in value]
        case _:
            return value


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.digest")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", default=SCENARIOS)
    parser.add_argument("--like", type=Path, metavar="FILE", help="what an older checkout printed")
    arguments = parser.parse_args()
    lines = arguments.like.read_text().splitlines() if arguments.like else []
    before = {(run.scenario, run.seed): run for run in map(RunDigest.from_line, lines)}
    differing = 0
    for run in simulated(arguments.scenarios):
        if arguments.like is None:
            print(run.as_line(), flush=True)
            continue
        named = f"{run.scenario} {run.seed}"
        other = before.get((run.scenario, run.seed))
        found = ["not in the other digest"] if other is None else run.differs(other)
        differing += bool(found)
        told = f"differs: {', '.join(found[:5])}" if found else f"{len(run.files)} files the same"
        print(f"{named:<30} {told}", flush=True)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
