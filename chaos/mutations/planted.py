"""One wrong decision, and how it takes the place of the right one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """`owner` is the class or module of the node that takes the decision, by a method or function
    of that name; `wrong` is called in its place."""

    owner: object
    decision: str
    wrong: Callable[..., object]

    @property
    def module(self) -> str:
        """Where in the node the decision is taken."""
        name = "__name__" if isinstance(self.owner, ModuleType) else "__module__"
        return str(getattr(self.owner, name))

    def plant(self) -> None:
        """For the rest of this process. The node must have such a decision, or nothing is wrong."""
        assert callable(getattr(self.owner, self.decision)), f"{self.owner} decides no such thing"
        setattr(self.owner, self.decision, self.wrong)

    @contextmanager
    def planted(self) -> Iterator[None]:
        """While the block lasts: for a simulated run, whose nodes live in this process."""
        right = vars(self.owner)[self.decision]
        self.plant()
        try:
            yield
        finally:
            setattr(self.owner, self.decision, right)


def planted_by(mutation: str) -> Planted:
    """What the module of a mutation, by its id, puts in place of what."""
    module = import_module(f"chaos.mutations.{mutation.lower().replace('-', '_')}")
    planted: Planted = module.PLANTED
    return planted
