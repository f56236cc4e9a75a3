"""The faults that are injected into a running cluster: `inject` and `heal` are separate processes.

Kept per user and cluster, independent of the working directory; see `chaos.setup.places`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from chaos.cluster.interface import FaultEvidence, Link, NodeId
from chaos.nemesis.fault import Hit
from chaos.nemesis.recorded import fault_as_json, fault_from
from chaos.operator_errors import OperatorError
from chaos.setup.places import cache_dir


class Injected:
    """The faults of one cluster that are not healed yet, the oldest first."""

    def __init__(self, cluster: str) -> None:
        self._path = cache_dir() / "injected" / f"{cluster}.json"

    def hits(self) -> list[Hit]:
        return [_hit(entry) for entry in self._entries()]

    def add(self, hit: Hit) -> None:
        """Record a fault, atomically, lest half of it is read."""
        entry = {
            "fault": fault_as_json(hit.fault),
            "nodes": list(hit.nodes),
            "links": [[link.source, link.destination] for link in hit.links],
            "evidence": {str(node): asdict(evidence) for node, evidence in hit.evidence.items()},
        }
        self._write([*self._entries(), entry])

    def require_writable(self) -> None:
        """Raises OperatorError: a fault that is not recorded could not be healed."""
        try:
            self._write(self._entries())
        except OSError as error:
            raise OperatorError(f"cannot record faults in {self._path}: {error}") from error

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)

    def _entries(self) -> list[dict[str, Any]]:
        return list(json.loads(self._path.read_text())) if self._path.exists() else []

    def _write(self, entries: Sequence[dict[str, Any]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(entries, indent=2) + "\n")
        part.replace(self._path)


def _hit(entry: dict[str, Any]) -> Hit:
    return Hit(
        fault=fault_from(**entry["fault"]),
        nodes=tuple(NodeId(node) for node in entry["nodes"]),
        links=tuple(Link(NodeId(a), NodeId(b)) for a, b in entry["links"]),
        evidence={
            NodeId(int(node)): FaultEvidence(**evidence)
            for node, evidence in entry["evidence"].items()
        },
    )
