"""How each broker process ended before the next one registered: by the fault log and the metadata
log.

The two have different clocks, so they are matched by count: a node that was ended n times has
registered n + 1 processes. If the counts differ (a process died before it registered, a node is
still down, a snapshot hides the first ones), `restarts` leaves that node out. `started_brokers`
uses what processes trace themselves, if they do.
"""

from collections import defaultdict
from dataclasses import dataclass

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.image import MetadataBatch, Registration


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A process that registered, its batch, and the fault that ended the process before it."""

    registration: Registration
    batch: MetadataBatch
    fault: FaultFact


def restarts(evidence: Evidence) -> tuple[Restart, ...]:
    """Of all nodes with registrations that can be matched; empty without a replayed metadata
    log."""
    registered: dict[int, list[tuple[MetadataBatch, Registration]]] = defaultdict(list)
    for batch in evidence.timeline.batches if evidence.timeline else ():
        for registration in batch.registrations:
            registered[registration.node].append((batch, registration))
    ended: dict[int, list[FaultFact]] = defaultdict(list)
    for fault in evidence.faults:
        for node in set(fault.nodes) if fault.ends_process and fault.may_have_bitten else ():
            ended[node].append(fault)
    return tuple(
        Restart(registration=registration, batch=batch, fault=fault)
        for node, faults in sorted(ended.items())
        if len(registered[node]) == len(faults) + 1
        for (batch, registration), fault in zip(registered[node][1:], faults, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedBroker:
    """A process that traced the broker epoch in which it registered, and that epoch's offset in the
    log."""

    node: int
    began_ns: int  # by its first line
    registered: int  # offset


def started_brokers(evidence: Evidence) -> tuple[StartedBroker, ...]:
    """In the order in which they began, from complete traces: without its first lines a process
    would seem to have begun later. By `evidence.once`."""
    offsets = {
        (registration.node, registration.after.epoch): registration.offset
        for batch in (evidence.timeline.batches if evidence.timeline else ())
        for registration in batch.registrations
    }
    found = [
        StartedBroker(node=process.node, began_ns=process.first_ns, registered=offset)
        for life in evidence.lives
        for process in life.processes
        if process.gap is None
        for offset in {offsets.get((process.node, it.epoch)) for it in process.events("b.life")}
        if offset is not None
    ]
    return tuple(sorted(found, key=lambda one: one.began_ns))
