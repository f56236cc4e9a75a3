"""The leader, each process' role and the possible voters at a moment: from the nodes' traces.

Times are those of the machine's one monotonic clock.
"""

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.lives import NodeEvent, Process
from checkers.evidence.told_voters import ToldVoters
from checkers.evidence.voter_history import ReplicaKey, VoterSet


def processes_of(evidence: Evidence) -> list[Process]:
    return [process for life in evidence.lives for process in life.processes]


def state_at(process: Process, at: int) -> NodeEvent | None:
    """The role of a process at a moment; None if it did not run then."""
    if not process.first_ns <= at <= process.last_ns:
        return None
    states = [event for event in process.events("q.state") if event.t <= at]
    return states[-1] if states else None


def states_in_time(evidence: Evidence) -> list[NodeEvent]:
    """All q.state of all nodes. By `evidence.once`."""
    found = [one for process in evidence.once(processes_of) for one in process.events("q.state")]
    return sorted(found, key=lambda event: event.t)


def leads_at(evidence: Evidence, at: int) -> tuple[Process, NodeEvent] | None:
    """The leader of the newest epoch at a moment, and the line in which it said so."""
    found = [(process, state_at(process, at)) for process in evidence.once(processes_of)]
    leading = [(one, event) for one, event in found if event and event.state == "leader"]
    return max(leading, key=lambda pair: pair[1].epoch) if leading else None


def replicas_at(evidence: Evidence, at: int) -> tuple[ReplicaKey, ...]:
    """All nodes that ever voted, each with the disk that it had at a moment."""
    disks = {node: ReplicaKey(node) for node in evidence.voters.nodes}
    for process in evidence.once(processes_of):  # of a node, in order
        if process.node in disks and process.first_ns <= at:
            disks[process.node] = ReplicaKey(process.node, process.directory)
    return tuple(disks.values())


def voters_between(evidence: Evidence, begin: int, end: int) -> tuple[VoterSet, ...]:
    """The sets of voters that may have been in force on any node between two times.

    A set is in force from when the first node appended it until the last one appended the next. If
    a snapshot hides sets, those that a process traced count as well.
    """
    times = evidence.once(_change_times)
    bounds = zip(evidence.voters.sets, times, [*times[1:], (0, FOREVER_NS)], strict=True)
    found = [(voters, since, until) for voters, (since, _), (_, until) in bounds]
    if evidence.voters.known > 0:
        found += evidence.once(_told_sets)
    within = (voters for voters, since, until in found if since <= end and begin <= until)
    return tuple(dict.fromkeys(within))


def _told_sets(evidence: Evidence) -> list[tuple[VoterSet, int, int]]:
    """The sets that processes traced, each from when until when it was in force for one of them. A
    new disk has no voters at first."""
    found = []
    for process in evidence.once(processes_of):
        lines = process.events("q.voters")
        ends = [*(line.t for line in lines[1:]), process.last_ns]
        found += [(ToldVoters.of(a).voters, a.t, end) for a, end in zip(lines, ends, strict=True)]
    return [each for each in found if each[0].keys]


def electing_between(evidence: Evidence, begin: int, end: int) -> tuple[VoterSet, ...]:
    """The sets of voters by which a node may have been elected between two times.

    A set is ruled out once the next one is committed: a node that lacks it has an older log than a
    majority, and must not be elected. If a snapshot hides sets, it may be any that was in force on
    a node.
    """
    if evidence.voters.known > 0:
        return voters_between(evidence, begin, end)
    appended, committed = evidence.once(_change_times), evidence.once(_commit_times)
    untils = [*committed[1:], FOREVER_NS]
    return tuple(
        voters
        for voters, (since, _), until in zip(evidence.voters.sets, appended, untils, strict=True)
        if since <= end and begin <= until
    )


def _commit_times(evidence: Evidence) -> list[int]:
    """By set of voters, when a leader first committed it."""
    traces = evidence.traces
    rows = traces.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    marks, t = traces.column("hwm")[rows], traces.column("t")[rows]
    times = [t[marks > offset] for offset in evidence.voters.offsets]
    return [int(found.min()) if len(found) else FOREVER_NS for found in times]


def _change_times(evidence: Evidence) -> list[tuple[int, int]]:
    """By set of voters, when the first node appended it, and when the last one did."""
    traces = evidence.traces
    rows = traces.rows("q.append")
    base, last, t = (traces.column(name)[rows] for name in ("base", "last", "t"))
    appended = [t[(base <= offset) & (offset <= last)] for offset in evidence.voters.offsets]
    # The first set is there before any append; and a snapshot may bring any.
    return [
        (int(times.min()), int(times.max())) if number and len(times) else (-FOREVER_NS, FOREVER_NS)
        for number, times in enumerate(appended)
    ]
