"""The cluster that the tests of a session use one after another."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from chaos.testing.cluster import LibraryCluster


class Pool:
    """At most one cluster at a time. A test gets the one before it, if it asks for the same and
    that one is as it was when it came up; a new one otherwise."""

    def __init__(self) -> None:
        self._cluster: LibraryCluster | None = None
        self._options: Mapping[str, Any] = {}
        self._ending = ExitStack()

    def take(self, options: Mapping[str, Any], evidence: Path, *, fresh: bool) -> LibraryCluster:
        """`evidence` is where it leaves logs and disks if it does not come up. Raises as Cluster
        does."""
        if self._cluster is not None and not fresh and self._options == options:
            return self._cluster
        another = LibraryCluster(**options, evidence=evidence)
        self.drop()
        self._cluster = self._ending.enter_context(another)
        self._options = dict(options)
        return self._cluster

    def give_back(self, *, passed: bool) -> None:
        """After a test; a failed one leaves nothing to the next. Raises NoEffectError as a fault
        does that is healed now."""
        try:
            if not passed or self._cluster is None or not self._cluster.reset():
                self.drop()
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Remove the cluster, if there is one."""
        self._cluster = None
        self._ending.close()
