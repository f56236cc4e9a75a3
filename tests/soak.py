"""`make soak`: many runs of every scenario with different seeds; none may be accused, none void.

    python -m tests.soak [--runs 20] [--seed 1] [--duration 10] [--jobs 1] [--scenario NAME ...]

Prints a row as each run ends and a table at the end, and keeps both in `runs/soak.json`, which
`make bench` shows. Exit code 1 when any run was not valid. What has run is kept after Ctrl-C.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

SCENARIOS = ("baseline", "partition-leader", "kill-leader", "power-off")
KEPT = Path("runs/soak.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakRun:
    scenario: str
    seed: int
    verdict: str
    wall_s: float
    directory: str
    sentence: str


def run_once(scenario: str, seed: int, duration_s: float) -> SoakRun:
    """One run as a user would make it, in a process of its own."""
    began = time.monotonic()
    arguments = ["run", scenario, "--seed", str(seed), "--duration", str(duration_s), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "chaos.cli", *arguments], capture_output=True, text=True, check=False
    )
    wall_s = round(time.monotonic() - began, 1)
    try:
        told = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        told = {"verdict": "error", "sentence": f"exit {done.returncode}: {last}", "directory": ""}
    return SoakRun(
        scenario=scenario,
        seed=seed,
        verdict=told["verdict"],
        wall_s=wall_s,
        directory=told["directory"],
        sentence=told["sentence"],
    )


def table(runs: list[SoakRun]) -> str:
    """One line a scenario: how many runs ended in which verdict."""
    verdicts = ("valid", "invalid", "unknown", "void", "error")
    lines = [f"{'scenario':<20}{'runs':>6}" + "".join(f"{word:>9}" for word in verdicts)]
    for scenario in dict.fromkeys(run.scenario for run in runs):
        counts = Counter(run.verdict for run in runs if run.scenario == scenario)
        cells = "".join(f"{counts[word]:>9}" for word in verdicts)
        lines.append(f"{scenario:<20}{counts.total():>6}{cells}")
    return "\n".join(lines)


def keep(runs: list[SoakRun]) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    part = KEPT.with_suffix(".part")
    part.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    part.replace(KEPT)


def soak(scenarios: list[str], seeds: range, duration_s: float, jobs: int) -> list[SoakRun]:
    """Seeds outside, scenarios inside: what was interrupted still covers every scenario."""
    runs: list[SoakRun] = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = [
            pool.submit(run_once, scenario, seed, duration_s)
            for seed in seeds
            for scenario in scenarios
        ]
        try:
            for ended in as_completed(waiting):
                runs.append(ended.result())
                keep(runs)
                tell(runs[-1])
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return runs


def tell(run: SoakRun) -> None:
    print(f"{run.scenario:<20} seed {run.seed:<6} {run.verdict:<8} {run.wall_s:6.1f} s", flush=True)
    if run.verdict != "valid":
        print(f"    {run.sentence}\n    {run.directory}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="runs of each scenario (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--duration", type=float, default=10, help="seconds of load (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--scenario", nargs="*", default=list(SCENARIOS), choices=SCENARIOS)
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.runs)
    runs = soak(given.scenario, seeds, given.duration, given.jobs)
    print("\n" + table(runs))
    return int(any(run.verdict != "valid" for run in runs))


if __name__ == "__main__":
    sys.exit(main())
