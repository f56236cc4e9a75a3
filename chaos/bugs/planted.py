"""A planted bug as a value, and how its wrong decision replaces the right one."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

# Planted bugs are looked up by id: A-EPOCH-END is `A_EPOCH_END` in one of these modules.
FAMILIES = (
    "answers",
    "elections",
    "elr",
    "groups",
    "partitions",
    "quorum_log",
    "replication",
    "voters",
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """`owner` is the class or module of the node that takes the decision, by a method or function
    of that name; `wrong` replaces it. Where a bug needs two wrong decisions to do harm, `other` is
    the second."""

    owner: object
    decision: str
    wrong: Callable[..., object] | property
    other: "Planted | None" = None

    @property
    def modules(self) -> tuple[str, ...]:
        """Where in the node the decisions are taken."""
        owners = [one.owner for one in self.decisions()]
        return tuple(
            str(owner.__name__ if isinstance(owner, ModuleType) else owner.__module__)
            for owner in owners
        )

    def plant(self) -> None:
        """For the rest of this process. The node must have such a decision, else nothing is
        planted."""
        for one in self.decisions():
            assert hasattr(one.owner, one.decision), f"{one.owner} decides no such thing"
            setattr(one.owner, one.decision, one.wrong)

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Within the block: for a simulated run, with its nodes in this process."""
        right = [(one, vars(one.owner)[one.decision]) for one in self.decisions()]
        self.plant()
        try:
            yield
        finally:
            for one, decision in right:
                setattr(one.owner, one.decision, decision)

    def decisions(self) -> "Iterator[Planted]":
        yield self
        if self.other is not None:
            yield from self.other.decisions()


def planted_by(mutation: str) -> Planted:
    """The replacement that the module of a mutation makes, by its id."""
    name = mutation.upper().replace("-", "_")
    for family in FAMILIES:
        planted = getattr(import_module(f"{__package__}.{family}"), name, None)
        if planted is not None:
            assert isinstance(planted, Planted)
            return planted
    raise LookupError(f"no module of chaos.bugs plants {mutation}")
