"""The registrations that followed a shutdown in good order, so that a controller may take nothing
from their brokers.

A broker with traces says it itself: it traces the broker epoch in its disk's clean-shutdown file.
For one without traces, it is inferred: its last process was asked to stop and did so in time, and
nothing hit the node until the next process had begun. It has then flushed its logs and written the
clean-shutdown file.
"""

from collections.abc import Iterator

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.planned import Kind
from checkers.evidence.restarts import restarts

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
