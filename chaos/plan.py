"""What a run is to be, as one value; `chaos.plan_json` writes it down and reads it back."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chaos.conditions import Conditions
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Fault, needs_of
from chaos.nemesis.schedule import Schedule
from chaos.nemesis.script import Script
from chaos.scenario import SCENARIO_SETTINGS, Scenario
from checkers.run.expectation import Expectation
from workloads.register_options import RegisterOptions
from workloads.workload import Load, WorkloadKind
from workloads.workload_kinds import kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What to run, and how. Without a `schedule` the scenario draws one."""

    scenario: Scenario
    seed: int
    nodes: int
    duration_s: float
    schedule: Schedule | None = None
    load: Load = field(default_factory=RegisterOptions)
    conditions: Conditions = field(default_factory=Conditions)
    target: str = "node"
    settings: Mapping[str, str] = field(default_factory=dict)  # as asked for
    client: str = "raw"  # the library that sends and polls (`workloads.library_clients`)
    topic_client: str = "raw"  # the one that creates and deletes topics meanwhile
    side: str = ""  # of the scenario, where it is compared with others
    runtime: str = "docker"
    mutation: str = ""  # planted in every node
    # What becomes of the cluster, which is not written down: nobody has to do that again.
    keep: bool = False
    cluster_name: str = ""  # run ids are unique in their directory only, clusters on the machine

    @property
    def target_settings(self) -> Mapping[str, str]:
        """All settings but the scenario's own."""
        return {n: value for n, value in self.settings.items() if n not in SCENARIO_SETTINGS}

    @property
    def workload(self) -> WorkloadKind[Any]:
        return kind_of(self.load)

    @property
    def expected(self) -> Expectation | None:
        """What its side is to show; None where it is of none."""
        sides = [each for each in self.scenario.sides if each.name == self.side]
        return sides[0].on(self.target).expected if sides else None

    @property
    def script(self) -> Script | None:
        """What the nemesis is going to follow, where nothing is drawn."""
        return self.scenario.script_with(self.settings)

    @property
    def coming_up(self) -> Script | None:
        """How the cluster is started, where something hurts it meanwhile."""
        return self.scenario.coming_up_with(self.settings)

    def drawn(self) -> Schedule:
        """What the nemesis is going to do."""
        if self.schedule is not None:
            return self.schedule
        return self.scenario.schedule(
            seed=self.seed,
            nodes=self.nodes,
            duration_s=self.duration_s,
            settings=self.settings,
        )

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All that the nemesis is going to inject, or try to."""
        script = self.script
        windows = self.drawn().windows if script is None else ()
        later = script.faults if script is not None else tuple(each.fault for each in windows)
        return self.faults_before_load + later

    @property
    def faults_before_load(self) -> tuple[Fault, ...]:
        """Those that are over before there are clients."""
        return self.coming_up.faults if self.coming_up is not None else ()

    @property
    def needs(self) -> frozenset[Ability]:
        """What a cluster must be able to do, so that the run can be told to its end."""
        return needs_of(self.faults)

    def settled(self) -> "RunPlan":
        """The same with its schedule, whatever a later version draws from the seed. A scenario with
        a script has none."""
        return self if self.scenario.script is not None else replace(self, schedule=self.drawn())
