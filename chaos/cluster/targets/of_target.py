"""The properties of a cluster that its target decides, in either runtime."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.targets.target import Target

AnyTarget = TypeVar("AnyTarget", bound=Target)


class OfTarget(Generic[AnyTarget]):
    """A cluster of this target. The code that starts its nodes counts `starts`."""

    def __init__(self, target: AnyTarget, nodes: int) -> None:
        self._target = target
        self._nodes = tuple(NodeId(number) for number in range(1, nodes + 1))
        self._starts = dict.fromkeys(self._nodes, 0)

    @property
    def nodes(self) -> Sequence[NodeId]:
        return self._nodes

    @property
    def roles(self) -> Mapping[NodeId, Roles]:
        return {node: self._target.roles(node) for node in self._nodes}

    @property
    def settings(self) -> Mapping[str, str]:
        return self._target.settings

    @property
    def promises(self) -> Sequence[str]:
        return self._target.promises

    @property
    def traces(self) -> bool:
        return self._target.traces

    @property
    def judged_by_logs(self) -> bool:
        return self._target.judged_by_logs

    @property
    def starts(self) -> Mapping[NodeId, int]:
        return dict(self._starts)
