"""How each broker process ended before the next one registered, by the fault log and the metadata
log; which followed a shutdown in good order; whether the log may have lost records.

The two have different clocks, so they are matched by count: a node that was ended n times has
registered n + 1 processes. If the counts differ (a process died before it registered, a node is
still down, a snapshot hides the first ones), `restarts` leaves that node out. `started_brokers`
uses what processes trace themselves, if they do.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.image import MetadataBatch, Registration
from checkers.history.tables import NO_DIRECTORY

# Whether the metadata log may have lost committed records, by what was done to the disks.


def may_forget(evidence: Evidence) -> bool:
    """Whether committed records may be gone without a broken promise: from so many voters' disks
    that the others are no majority. If voters are known by their ids alone (kraft.version 0), one
    disk is enough: a voter with an empty disk votes for any candidate (KIP-856, Motivation)."""
    voters = evidence.voters.newest
    gone = {n for f in evidence.faults if f.wipes or f.damages_bytes for n in f.nodes}
    gone &= set(voters.nodes)
    by_ids = any(key.directory == NO_DIRECTORY for key in voters.keys)
    return len(gone) >= (1 if by_ids else len(voters.keys) - voters.majority + 1)


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


# The registrations that followed a shutdown in good order: a controller must not remove their
# brokers from an ISR or ELR.
#
# A broker with traces says it itself: it traces the broker epoch in its disk's clean-shutdown file.
# For one without traces, it is inferred: its last process was asked to stop and did so in time, and
# nothing hit the node until the next process had begun. It has then flushed its logs and written
# the clean-shutdown file.


# A process that does not stop when asked is killed a second or more later.
_ENDS_WITHIN_NS = 9_000_000_000


def clean_registrations(evidence: Evidence) -> frozenset[int]:
    """The offsets of their records. By `evidence.once`."""
    asked = _as_asked(evidence) if evidence.gives(Kind.TRACES) else _as_stopped(evidence)
    return frozenset(asked)


def _as_asked(evidence: Evidence) -> Iterator[int]:
    named = {
        (line.node, line.epoch): line.more.get("previous")
        for life in evidence.lives
        for line in life.events("b.life")
    }
    for batch in evidence.timeline.batches if evidence.timeline else ():
        for one in batch.registrations:
            if (
                one.before is not None
                and named.get((one.node, one.after.epoch)) == one.before.epoch
            ):
                yield one.offset


def _as_stopped(evidence: Evidence) -> Iterator[int]:
    for one in evidence.once(restarts):
        stop = one.fault
        in_time = stop.t_bit is not None and stop.t_bit - stop.t_start < _ENDS_WITHIN_NS
        node = one.registration.node
        others = (
            f for f in evidence.faults if f.id != stop.id and node in f.nodes and _is_rough(f)
        )
        alone = not any(f.overlaps(stop.t_start, stop.over_ns) for f in others)
        if in_time and alone and stop.bit and not _is_rough(stop) and one.registration.before:
            yield one.registration.offset


def _is_rough(fault: FaultFact) -> bool:
    return fault.unclean or fault.may_lose or fault.damages_bytes or fault.wipes
