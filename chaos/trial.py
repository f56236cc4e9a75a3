"""A trial: all that a run is but where it takes place, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass

from chaos.conditions import Conditions
from chaos.nemesis.schedule import Schedule
from workloads.workload import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """From a seed, or from what a run recorded."""

    nodes: int
    schedule: Schedule
    load: Load
    conditions: Conditions
    settings: Mapping[str, str]  # that nobody asked for otherwise
