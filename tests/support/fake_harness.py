"""`kraft-chaos` with a fake runtime, for tests that need a process of their own.

python -m tests.support.fake_harness [--toothless] [--break-at STEP] [--endless-judge] -- run ...
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from chaos.cli import main
from chaos.cluster.interface import Cluster, Keeper, StandingCluster
from chaos.conditions import Conditions
from chaos.run import judging
from chaos.run.runtimes import RUNTIMES
from tests.support.fake_cluster import FakeCluster


@dataclass(slots=True)
class FakeRuntime:
    """Makes fake clusters; remembers them, so that `attach` finds what `new` made."""

    bites: bool = True
    break_at: str = ""
    why: str = ""  # no cluster can be had
    made: list[FakeCluster] = field(default_factory=list)
    asked: list[Mapping[str, str]] = field(default_factory=list)  # settings, of each that was made

    def why_not(self) -> str:
        return self.why

    def new(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        settings: Mapping[str, str] | None = None,
        mutation: str = "",
        conditions: Conditions | None = None,
    ) -> Cluster:
        del target, keep, directory, mutation, conditions
        self.asked.append(settings or {})
        cluster = FakeCluster(nodes, bites=self.bites, break_at=self.break_at, run_id=run_id)
        self.made.append(cluster)
        return cluster

    def attach(self, run_id: str) -> Cluster:
        return next(cluster for cluster in self.made if cluster.run_id == run_id)

    def standing(self) -> Sequence[StandingCluster]:
        return [
            StandingCluster(name=cluster.run_id, keeper=Keeper.USER)
            for cluster in self.made
            if not cluster.destroyed
        ]


def judge_for_ever(*_: object, **__: object) -> NoReturn:
    """In place of `checkers.suite.judge`."""
    sys.stderr.write("the checks begin\n")
    sys.stderr.flush()
    while True:
        pass


if __name__ == "__main__":
    split = sys.argv.index("--")
    mine = sys.argv[1:split]
    fake = FakeRuntime(bites="--toothless" not in mine)
    if "--break-at" in mine:
        fake.break_at = mine[mine.index("--break-at") + 1]
    if "--endless-judge" in mine:
        vars(judging)["judge"] = judge_for_ever
    RUNTIMES["docker"] = fake
    code = main(sys.argv[split + 1 :])
    left = [cluster for cluster in fake.made if not cluster.destroyed]
    sys.stderr.write(f"{len(left)} clusters left behind\n")
    sys.exit(code)
