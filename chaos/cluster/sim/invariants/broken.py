"""How a broken invariant is reported: by name, in one sentence, with the step that broke it."""

from node.ids import NodeId


class Broken(Exception):
    """A rule does not hold; the caller that watches the node adds node and time."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant
        self.what = what


class InvariantViolated(Exception):
    """The run proves a bug. No AssertionError: those are the node's own, and only stop the node.

    `step` counts the steps of that life of the node from 1 (0: what it found on its disk), so a
    rerun of the seed can stop right there.
    """

    def __init__(self, broken: Broken, *, node: NodeId, life: int, step: int, at_ns: int) -> None:
        place = f"n{node}, life {life}, step {step}, t={at_ns / 1e9:.9f} s"
        super().__init__(f"{broken.invariant}: {broken.what}  ({place})")
        self.invariant = broken.invariant
        self.what = broken.what
        self.node = node
        self.life = life
        self.step = step
        self.at_ns = at_ns
