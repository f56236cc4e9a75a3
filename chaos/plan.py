"""What a run is to be, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.conditions import Conditions
from chaos.nemesis.schedule import Schedule
from chaos.scenario import Scenario
from workloads.append import AppendOptions
from workloads.register import RegisterOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What to run, and how. Without a `schedule` the scenario draws one."""

    scenario: Scenario
    seed: int
    nodes: int
    duration_s: float
    schedule: Schedule | None = None
    load: RegisterOptions | AppendOptions = field(default_factory=RegisterOptions)
    conditions: Conditions = field(default_factory=Conditions)
    target: str = "node"
    settings: Mapping[str, str] = field(default_factory=dict)  # of the target, as asked for
    client: str = "raw"  # the library that sends and polls (`workloads.library_clients`)
    topic_client: str = "raw"  # the one that creates and deletes topics meanwhile
    runtime: str = "docker"
    keep: bool = False
    mutation: str = ""  # planted in every node
    cluster_name: str = ""  # run ids are unique in their directory only, clusters on the machine
    command: str = ""

    def drawn(self) -> Schedule:
        """What the nemesis is going to do."""
        if self.schedule is not None:
            return self.schedule
        return self.scenario.plan(seed=self.seed, nodes=self.nodes, duration_s=self.duration_s)
