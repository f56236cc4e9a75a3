"""A planted bug as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One planted bug, and the scenario that shows it within `tries` runs.

    `simulated`: in virtual time only. Either it needs a window of some hundred milliseconds,
    measured there and not yet in containers; or it was not tried in containers yet.
    """

    id: str
    wrong: str  # what goes wrong, in one line
    real: str  # where it was real
    checks: tuple[str, ...]
    scenario: str
    duration_s: float
    nodes: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)  # of the scenario
    tries: int = 3
    simulated: bool = False
