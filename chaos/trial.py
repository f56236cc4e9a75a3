"""A trial: everything about a run but its runtime, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass

from chaos.conditions import Conditions
from chaos.nemesis.schedule import Schedule
from workloads.workload import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial from a seed, or from a recorded run."""

    nodes: int
    schedule: Schedule
    load: Load
    conditions: Conditions
    settings: Mapping[str, str]  # defaults of the trial
