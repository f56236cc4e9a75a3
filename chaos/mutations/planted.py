"""One wrong decision, and how it takes the place of the right one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """`owner` is the class or module of the node that takes the decision, by a method or function
    of that name; `wrong` is called in its place. Where a bug takes two wrong decisions to do any
    harm, `other` is the second."""

    owner: object
    decision: str
    wrong: Callable[..., object]
    other: "Planted | None" = None

    def plant(self, place: Callable[[object, str, object], None] = setattr) -> None:
        """For the rest of this process. The node must have such a decision, or nothing is wrong."""
        for one in self.decisions():
            assert callable(getattr(one.owner, one.decision)), f"{one.owner} decides no such thing"
            place(one.owner, one.decision, one.wrong)

    def decisions(self) -> "Iterator[Planted]":
        yield self
        if self.other is not None:
            yield from self.other.decisions()


def planted_by(mutation: str) -> Planted:
    """What the module of a mutation, by its id, puts in place of what."""
    module = import_module(f"chaos.mutations.{mutation.lower().replace('-', '_')}")
    planted: Planted = module.PLANTED
    return planted
