"""The faults of a run as windows of time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from checkers.history.tables import HARM
from checkers.page import units


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWindow:
    """One row of `FAULTS`, ready to be shown. `bit` is None if the evidence was never asked for."""

    fault_id: int
    kind: str
    nodes: tuple[int, ...]
    links: tuple[str, ...]
    start_ns: int
    bit_ns: int | None
    heal_ns: int | None
    healed_ns: int | None
    bit: bool | None
    evidence: str
    facts: Mapping[str, str]
    harm: frozenset[str]  # its possible harm, of `tables.HARM`

    @property
    def begins_ns(self) -> int:
        """When it was surely in force, if that is known."""
        return self.start_ns if self.bit_ns is None else self.bit_ns

    def ends_ns(self, run_end_ns: int) -> int:
        """When it was over; a fault that was never healed lasts to the end of the run."""
        return run_end_ns if self.healed_ns is None else self.healed_ns

    def covers(self, at_ns: int, run_end_ns: int) -> bool:
        return self.start_ns <= at_ns <= self.ends_ns(run_end_ns)

    @property
    def stops_processes(self) -> bool:
        return {"ends_process", "halts"} <= self.harm

    @property
    def pauses_processes(self) -> bool:
        return "halts" in self.harm and not self.stops_processes

    @property
    def name(self) -> str:
        """Kind and nodes, in short."""
        return f"{self.kind} {','.join(map(str, self.nodes))}".rstrip()

    @property
    def where(self) -> str:
        """The nodes and links that it hit: node 1 (1→2, 1→3)."""
        nodes = ", ".join(map(str, self.nodes))
        named = f"node{'s' if len(self.nodes) > 1 else ''} {nodes}" if nodes else ""
        links = ", ".join(link.replace("->", "→") for link in self.links)
        return f"{named} ({links})" if named and links else named or links or units.NOTHING


def fault_windows(faults: pa.Table) -> list[FaultWindow]:
    """All faults in the order in which they began."""
    windows = [_window(row) for row in faults.to_pylist() if row["t_start"] is not None]
    return sorted(windows, key=lambda window: (window.start_ns, window.fault_id))


def _window(row: Mapping[str, object]) -> FaultWindow:
    return FaultWindow(
        fault_id=_integer(row["fault_id"]) or 0,
        kind=str(row["kind"] or "unnamed"),
        nodes=tuple(map(int, _items(row["nodes"]))),
        links=_items(row["links"]),
        start_ns=_integer(row["t_start"]) or 0,
        bit_ns=_integer(row["t_bit"]),
        heal_ns=_integer(row["t_heal"]),
        healed_ns=_integer(row["t_healed"]),
        bit=None if row["bit"] is None else bool(row["bit"]),
        evidence=str(row["evidence"] or ""),
        facts=_facts(str(row["facts"] or "{}")),
        harm=frozenset(name for name in HARM if row[name]),
    )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _items(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _facts(text: str) -> dict[str, str]:
    """Measured numbers by name; anything but a JSON object is shown as it was recorded."""
    try:
        found = json.loads(text)
    except ValueError:
        return {"recorded": text}
    if not isinstance(found, dict):
        return {"recorded": text}
    return {str(name): _plain(value) for name, value in found.items()}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
