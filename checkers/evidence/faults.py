"""The faults of a run as facts: what each hit and when, whether it bit, and what it may do.

A check asks what a fault may do to processes, bytes, links and clocks, and never for its kind: the
nemesis has written the answers into the fault's own row, from its description of that kind of
fault. So one rule serves all kinds, even those that a check does not know.

The kinds of evidence that a run may be planned to leave.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from checkers.history.sealed_run import Run
from checkers.history.tables import HARM
from checkers.verdict import EventValue


class Kind(StrEnum):
    """What checks judge by. A run's `gives` names those that it was planned to leave."""

    OPERATIONS = "operations"  # what clients invoked and what was answered
    FAULTS = "faults"  # what the nemesis did
    TRACES = "traces"  # what nodes trace of their own actions
    NODE_LOGS = "node-logs"  # what nodes log for people: errors, and that a process began
    METADATA_LOGS = "metadata-logs"  # the metadata log on each node's disk
    PARTITION_LOGS = "partition-logs"  # partitions on the brokers' disks
    QUORUM_PROBES = "quorum-probes"  # answers to DescribeQuorum
    PARTITION_PROBES = "partition-probes"  # answers to DescribeTopicPartitions


FOREVER_NS = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultFact:
    """One row of FAULTS. Times in ns since the run's start; None: the run broke off before it.

    Injection lasts from `t_start` to `t_bit`, the cure from `t_heal` to `t_healed`: the fault is in
    full effect from `t_bit` to `t_heal`, and may have some from `t_start` to `t_healed`. `bit` is
    None if the run broke off before its effect was looked for.
    """

    id: int
    kind: str
    nodes: tuple[int, ...]
    links: frozenset[tuple[int, int]]  # from, to; of a fault of links
    t_start: int
    t_bit: int | None
    t_heal: int | None
    t_healed: int | None
    bit: bool | None
    params: Mapping[str, str]
    evidence: str
    facts: Mapping[str, EventValue]  # measured numbers

    ends_process: bool  # the process of each node ends
    unclean: bool  # and leaves no clean-shutdown file
    may_lose: bool  # bytes that were written and not synced, or more, may be gone
    damages_bytes: bool  # bytes that were acknowledged as synced may be changed or gone
    wipes: bool  # each node comes back with a new, empty disk
    halts: bool  # none of the nodes does anything while it lasts
    cuts: bool  # nothing passes along its links while it lasts
    degrades: bool  # something is slower or less sure than it should be, yet up
    shifts_clock: bool  # the nodes' clocks are wrong while it lasts
    syncs: bool  # no harm: what was written before it is durable on each node's disk

    @property
    def may_have_bitten(self) -> bool:
        """Unless its effect was looked for and not found. If its cure failed, it was not looked
        for."""
        return self.bit is not False or self.t_healed is None

    @property
    def may_harm(self) -> bool:
        """Whether it may do anything to processes, bytes, links or clocks."""
        return any(getattr(self, name) for name in HARM if name != "syncs")

    @property
    def ran_its_course(self) -> bool:
        """Whether it was injected and cured, as planned."""
        return None not in (self.t_bit, self.t_heal, self.t_healed)

    @property
    def begin_ns(self) -> int:
        """When it began to be in full effect; FOREVER_NS if it never was."""
        return FOREVER_NS if self.t_bit is None else self.t_bit

    @property
    def end_ns(self) -> int:
        """When its full effect ended; FOREVER_NS if its cure never began."""
        return FOREVER_NS if self.t_heal is None else self.t_heal

    @property
    def over_ns(self) -> int:
        """When its cure was done; FOREVER_NS if it never was."""
        return FOREVER_NS if self.t_healed is None else self.t_healed

    def overlaps(self, begin: int, end: int) -> bool:
        """Whether any of it, from its first to its last moment, falls between the two times."""
        return self.t_start < end and begin < self.over_ns

    def shown(self, what: str, at: int | None) -> dict[str, EventValue]:
        """The fault as a row of a witness."""
        hit = ", ".join(f"node {node}" for node in self.nodes)
        return {"what": f"{what}: {self.kind} of {hit}", "t_ns": at, "fault": self.id}


def faults_of(run: Run) -> tuple[FaultFact, ...]:
    """All faults that began, in order of their start. Raises ValueError for a row without these
    facts."""
    rows = run.tables["faults"].to_pylist()
    found = [_fact(row) for row in rows if row["t_start"] is not None]
    return tuple(sorted(found, key=lambda fault: (fault.t_start, fault.id)))


def _fact(row: Mapping[str, Any]) -> FaultFact:
    unknown = [name for name in HARM if row[name] is None]
    if unknown:
        raise ValueError(f"fault {row['fault_id']} does not say whether it {', '.join(unknown)}")
    pairs = (link.split("->") for link in row["links"] or ())
    return FaultFact(
        id=row["fault_id"],
        kind=row["kind"],
        nodes=tuple(row["nodes"] or ()),
        links=frozenset((int(source), int(destination)) for source, destination in pairs),
        t_start=row["t_start"],
        t_bit=row["t_bit"],
        t_heal=row["t_heal"],
        t_healed=row["t_healed"],
        bit=row["bit"],
        params=json.loads(row["params"] or "{}"),
        evidence=row["evidence"] or "",
        facts=json.loads(row["facts"] or "{}"),
        **{name: row[name] for name in HARM},
    )
