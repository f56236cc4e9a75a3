"""The state of each node at every moment: its role, its epoch, whether it ran at all.

The faults of a run as windows of time.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.sealed_run import Run
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


# The roles of nodes without traces, by answers to the harness's probes (`PROBES`).


_NO_NODE = -1
LEADER, FOLLOWER, BEHIND = "leader", "follower", "unattached"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """About one partition, or the quorum: the newest claim so far."""

    leader: int
    epoch: int
    in_sync: frozenset[int] | None  # None: unknown


def probed_roles(run: Run) -> dict[int, list[tuple[int, str]]]:
    """For each node with any answer about it: when (ns) it took which role.

    A leader leads a partition, or the quorum. A follower is in sync in all partitions, and a node
    that is not is behind. A claim of an older leader epoch than an earlier one changes nothing.
    """
    claims: dict[str, _Claim] = {}
    course: dict[int, list[tuple[int, str]]] = {}
    for at_ns, key, claim in _claims(run):
        known = claims.get(key)
        if known is not None and claim.epoch < known.epoch:
            continue
        claims[key] = claim
        for node in sorted({*course, *(claim.in_sync or ()), claim.leader} - {_NO_NODE}):
            changes, role = course.setdefault(node, []), _role(node, claims)
            if not changes or changes[-1][1] != role:
                changes.append((at_ns, role))
    return course


def _claims(run: Run) -> Iterator[tuple[int, str, _Claim]]:
    rows = run.tables["probes"].sort_by("t1").to_pylist()
    for row in rows:
        isr = frozenset(row["isr"]) if row["isr"] is not None else None
        yield (
            row["t1"],
            row["key"],
            _Claim(leader=row["leader"], epoch=row["epoch"], in_sync=isr),
        )


def _role(node: int, claims: Mapping[str, _Claim]) -> str:
    if any(claim.leader == node for claim in claims.values()):
        return LEADER
    partitions = [claim.in_sync for claim in claims.values() if claim.in_sync is not None]
    return FOLLOWER if all(node in in_sync for in_sync in partitions) else BEHIND


LANES_LIMIT = 15

_SHOWN_EVENTS = pa.array(["n.start", "n.stop", "q.state"])


@dataclass(frozen=True, slots=True)
class NodeSpan:
    """A node was in `state` from `from_ns` to `to_ns`; epoch is None if it is unknown."""

    from_ns: int
    to_ns: int
    state: str
    epoch: int | None


@dataclass(frozen=True, slots=True)
class NodeLane:
    """One node. `paused` spans lie over the others: a stopped process keeps its role."""

    node: int
    spans: tuple[NodeSpan, ...]
    paused: tuple[NodeSpan, ...]
    traced: bool


@dataclass(frozen=True, slots=True)
class _Change:
    at_ns: int
    order: int
    state: str
    epoch: int | None


def lanes_of(run: Run, faults: Sequence[FaultWindow], end_ns: int) -> list[NodeLane]:
    """A lane for each node of the run, in order of their ids.

    Roles need traces; without them (Apache Kafka) they are those in brokers' answers to probes, and
    the lane still shows when the node was down.
    """
    events = run.tables["node_events"]
    events = events.filter(pc.is_in(events["event"], _SHOWN_EVENTS))
    seen = {node for node in events["node"].unique().to_pylist() if node is not None}
    nodes = sorted(seen | set(range(1, run.info.nodes + 1)))[:LANES_LIMIT]
    told = probed_roles(run)
    return [_lane(node, events, told.get(node, []), faults, end_ns) for node in nodes]


def _lane(
    node: int,
    events: pa.Table,
    told: Sequence[tuple[int, str]],
    faults: Sequence[FaultWindow],
    end_ns: int,
) -> NodeLane:
    mine = events.filter(pc.equal(events["node"], node))
    hits = [fault for fault in faults if node in fault.nodes]
    changes = [*_traced_changes(mine), *_stops(hits, traced=mine.num_rows > 0)]
    if not mine.num_rows:
        changes += [_Change(at_ns, 1, role, None) for at_ns, role in _while_on(told, hits)]
    changes.sort(key=lambda change: (change.at_ns, change.order))
    if not changes or changes[0].at_ns > 0:
        changes.insert(0, _Change(0, -1, "running" if not mine.num_rows else "unseen", None))
    ends = [change.at_ns for change in changes[1:]] + [end_ns]
    spans = tuple(
        NodeSpan(change.at_ns, end, change.state, change.epoch)
        for change, end in zip(changes, ends, strict=True)
        if end > 0 and end >= change.at_ns
    )
    return NodeLane(node, spans, _pauses(hits, end_ns), mine.num_rows > 0 or bool(told))


def _while_on(
    told: Sequence[tuple[int, str]], hits: Sequence[FaultWindow]
) -> Iterator[tuple[int, str]]:
    """The reported states of a running node; those from before it was off still hold."""
    outages = [
        (hit.begins_ns, hit.healed_ns)
        for hit in hits
        if hit.stops_processes and hit.healed_ns is not None
    ]
    last = ""
    moments = [(at_ns, role) for at_ns, role in told]
    moments += [(back_ns, "") for _, back_ns in outages]
    for at_ns, role in sorted(moments):
        last = role or last
        if last and not any(began <= at_ns < back for began, back in outages):
            yield at_ns, last


def _traced_changes(events: pa.Table) -> Iterable[_Change]:
    rows = events.select(["t", "seq", "event", "state", "epoch"]).to_pylist()
    for row in rows:
        state = {"n.start": "running", "n.stop": "off"}.get(row["event"], row["state"])
        yield _Change(row["t"] or 0, row["seq"] or 0, str(state or "running").lower(), row["epoch"])


def _stops(faults: Iterable[FaultWindow], *, traced: bool) -> Iterable[_Change]:
    """Off from the fault on; up again with the next `n.start`, or when the fault was healed."""
    for fault in faults:
        if not fault.stops_processes:
            continue
        yield _Change(fault.begins_ns, -1, "off", None)
        if not traced and fault.healed_ns is not None:
            yield _Change(fault.healed_ns, 0, "running", None)


def _pauses(faults: Iterable[FaultWindow], end_ns: int) -> tuple[NodeSpan, ...]:
    return tuple(
        NodeSpan(
            fault.begins_ns, end_ns if fault.heal_ns is None else fault.heal_ns, "paused", None
        )
        for fault in faults
        if fault.pauses_processes
    )
