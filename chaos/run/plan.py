"""The plan of a run as one value; `chaos.run.plan_files` writes and reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chaos.conditions import Conditions
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Fault, needs_of
from chaos.nemesis.script import Schedule, Script
from chaos.run.scenario_file import ScenarioFile
from chaos.scenario import SCENARIO_SETTINGS, Scenario
from checkers.run.expectation import Expectation
from workloads.workload import Load, RegisterOptions, WorkloadKind
from workloads.workload_kinds import kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What to run, and how. Without a `schedule`, the scenario draws one."""

    scenario: Scenario
    seed: int
    nodes: int
    duration_s: float
    schedule: Schedule | None = None
    load: Load = field(default_factory=RegisterOptions)
    conditions: Conditions = field(default_factory=Conditions)
    target: str = "node"
    settings: Mapping[str, str] = field(default_factory=dict)  # as requested
    client: str = "raw"  # the library that sends and polls (`workloads.clients.library_clients`)
    topic_client: str = "raw"  # the library that creates and deletes topics
    side: str = ""  # side of the scenario, in a comparison
    runtime: str = "docker"
    mutation: str = ""  # planted in every node
    file: ScenarioFile | None = None  # that has the scenario, where it is a user's own
    app: str = ""  # the command of an application of the user's, which runs beside the load
    # The fate of the cluster; not written down, since a replay need not repeat it.
    keep: bool = False
    keep_on_failure: bool = False  # as it was, unless the verdict is valid
    stop_at_first: bool = False  # violation
    pcap: bool = False  # record the packets of all links
    cluster_name: str = ""  # run ids are unique in their directory only, clusters on the machine

    @property
    def may_stay(self) -> bool:
        """Whether the cluster may outlive the run."""
        return self.keep or self.keep_on_failure

    @property
    def target_settings(self) -> Mapping[str, str]:
        """All settings but the scenario's own."""
        return {n: value for n, value in self.settings.items() if n not in SCENARIO_SETTINGS}

    @property
    def workload(self) -> WorkloadKind[Any]:
        return kind_of(self.load)

    @property
    def expected(self) -> Expectation | None:
        """The expected outcome of its side; None without a side."""
        sides = [each for each in self.scenario.sides if each.name == self.side]
        return sides[0].on(self.target).expected if sides else None

    @property
    def script(self) -> Script | None:
        """The script that the nemesis follows, where nothing is drawn."""
        return self.scenario.script_with(self.settings)

    @property
    def coming_up(self) -> Script | None:
        """The script of a start-up with faults."""
        return self.scenario.coming_up_with(self.settings)

    def drawn(self) -> Schedule:
        """The steps of the nemesis."""
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
        """All faults that the nemesis will inject, or try to."""
        script = self.script
        windows = self.drawn().windows if script is None else ()
        later = script.faults if script is not None else tuple(each.fault for each in windows)
        return self.faults_before_load + later

    @property
    def faults_before_load(self) -> tuple[Fault, ...]:
        """The faults that are over before clients start."""
        return self.coming_up.faults if self.coming_up is not None else ()

    @property
    def needs(self) -> frozenset[Ability]:
        """The powers that a cluster needs for this run."""
        return needs_of(self.faults)

    def settled(self) -> "RunPlan":
        """The same plan with its schedule fixed, whatever a later version draws from the seed. A
        scenario with a script has none."""
        return self if self.scenario.script is not None else replace(self, schedule=self.drawn())
