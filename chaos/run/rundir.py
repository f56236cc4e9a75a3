"""Run directories, as `runs/20261121-055312-partition-leader-7/`, and `runs/latest`, the newest."""

import os
from datetime import UTC, datetime
from pathlib import Path

LATEST = "latest"


def new_run_directory(out: Path, scenario: str, seed: int, wall_ns: int) -> Path:
    """Make `20261121-055312-partition-leader-7` under `out`; its name is the run's id, but for a
    simulated run."""
    out.mkdir(parents=True, exist_ok=True)
    name = run_name(scenario, seed, wall_ns)
    attempt = 1
    while True:
        directory = out / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            directory.mkdir()
        except FileExistsError:
            attempt += 1
        else:
            return directory


def run_name(scenario: str, seed: int, wall_ns: int) -> str:
    """The name of the directory of a run that starts now, unless it is taken."""
    stamp = datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{scenario}-{seed}"


def point_latest(directory: Path) -> None:
    """Point `latest` beside the run at it; atomically, since runs go on side by side."""
    part = directory.parent / f".{LATEST}.{os.getpid()}"
    part.unlink(missing_ok=True)
    part.symlink_to(directory.name)
    part.replace(directory.parent / LATEST)


def is_run(directory: Path) -> bool:
    """False also for a name that no directory can have."""
    try:
        return (directory / "run.json").is_file()
    except OSError:
        return False
