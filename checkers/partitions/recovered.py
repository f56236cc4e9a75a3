"""E10: unclean recovery elects the best of the replicas that it asked (KIP-966, part two).

A controller writes what it was told, and by whom, when it elects (c.recovered). Brokers write what
they told, and in which life and leader epoch (p.asked): the controller's word is held against
theirs, and both against the metadata log.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import Change
from checkers.evidence.lives import NodeEvent, gaps, witness
from checkers.evidence.promised import AGGRESSIVE, BALANCED, recovers
from checkers.history.sealed_run import RunInfo
from checkers.partitions.leaders import both, names
from checkers.partitions.traced_replicas import METADATA, PartitionId, partition_of, traces_replicas
from checkers.verdict import CheckResult

_UNIT = "elections by unclean recovery"


def _applies(info: RunInfo) -> bool:
    """Applies where brokers trace, and an unclean recovery manager was asked for."""
    return traces_replicas(info) and recovers(info)


class Told(NamedTuple):
    """What a broker says of its replica: in that life of it, the epoch of the last record, and the
    end of the log."""

    broker_epoch: int
    last_epoch: int
    end: int

    @property
    def length(self) -> tuple[int, int]:
        """By which replicas are compared."""
        return self.last_epoch, self.end


@check(
    "E10-best-replica-is-elected",
    applies=_applies,
    source="KIP-966, Unclean recovery",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def best_replica_is_elected(evidence: Evidence) -> CheckResult:
    """E10: An unclean recovery elects the replica with the highest leader epoch, then the highest
    log end, of those that answered in the partition's leader epoch and in the broker epoch in which
    they are registered; under Balanced every last known eligible replica has answered. Under None
    there is none before an operator asks for it. A replica that an operator names is not compared.

    Brokers' own lines say what each answered. (KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, METADATA)
    elections = [
        (change, event)
        for batch, change in found.changes()
        if change.elected_outside and not batch.from_snapshot
        for event in [_held(evidence, change)]
    ]
    asked = _asked(evidence)
    named = evidence.promised.designated()
    elections = [
        (change, event)
        for change, event in elections
        if event is not None or change.elected not in named
    ]
    violations = [
        violation
        for change, event in elections
        for violation in _faults(evidence, change, event, asked)
    ]
    return conclude(
        looked_at=len(elections),
        unit=_UNIT,
        violations=violations,
        needs=METADATA,
        holds="each elected the best of the replicas that had answered",
        algorithm="p.asked and c.recovered against the metadata log",
        gaps=gaps(evidence.lives),
        nothing="no leader was elected from outside ISR and ELR" if evidence.lives else "",
    )


def _partition(change: Change) -> PartitionId:
    one = change.partition
    return one.topic_id, int(one.key.rpartition("-")[2])


def _held(evidence: Evidence, change: Change) -> NodeEvent | None:
    """The controller's line of the election; the last one, if others tried it and failed."""
    before = change.before
    assert before is not None
    found = [
        event
        for life in evidence.lives
        for event in life.events("c.recovered")
        if partition_of(event) == _partition(change)
        and event.epoch == before.leader_epoch
        and event.leader == change.elected
    ]
    return max(found, key=lambda event: event.t) if found else None


def _asked(evidence: Evidence) -> Mapping[tuple[PartitionId, int, int], list[Told]]:
    """What brokers told: by partition, leader epoch and broker."""
    found: dict[tuple[PartitionId, int, int], list[Told]] = defaultdict(list)
    for life in evidence.lives:
        for event in life.events("p.asked"):
            more: Mapping[str, Any] = event.more
            at = (partition_of(event), event.epoch, event.node)
            found[at].append(Told(more["broker_epoch"], more["last_written"], event.log_end))
    return found


def _faults(
    evidence: Evidence,
    change: Change,
    event: NodeEvent | None,
    asked: Mapping[tuple[PartitionId, int, int], Sequence[Told]],
) -> Iterator[Violation]:
    before, winner = change.before, change.elected
    assert before is not None
    assert winner is not None
    start = f"{before.key}: node {winner} was elected in leader epoch {before.leader_epoch} "
    if event is None:
        text = f"{start}from outside ISR and ELR, and no controller traced that it asked"
        yield Violation(text, both(change))
        return
    rows = [*both(change), witness(event, "elected")]
    strategies = evidence.promised.recoveries(at=event.t)
    if not strategies & {AGGRESSIVE, BALANCED}:
        yield Violation(f"{start}although no recovery was asked for", rows)
    answers = _answers(event)
    for node, answer in sorted(answers.items()):
        given = asked.get((_partition(change), before.leader_epoch, node), ())
        if answer not in given:
            text = f"{start}by an answer of node {node}, which ends at {answer.end} in epoch "
            text += f"{answer.last_epoch}; that node gave no such answer in that leader epoch"
            yield Violation(text, rows)
        broker = change.brokers.get(node)
        if broker is None or broker.epoch != answer.broker_epoch:
            registered = "none" if broker is None else str(broker.epoch)
            text = f"{start}by an answer of node {node} from broker epoch {answer.broker_epoch}, "
            yield Violation(f"{text}and it is registered in {registered}", rows)
    if winner not in answers:
        yield Violation(f"{start}without an answer of its own", rows)
        return
    best = max(sorted(answers), key=lambda node: answers[node].length)
    if answers[best].length > answers[winner].length:
        mine, other = answers[winner], answers[best]
        text = f"{start}with a log up to {mine.end} of epoch {mine.last_epoch}, although node "
        text += f"{best} answered that it has up to {other.end} of epoch {other.last_epoch}"
        yield Violation(text, rows)
    needed = () if AGGRESSIVE in strategies else _needed(change)
    lacking = [node for node in needed if node not in answers]
    if lacking:
        text = f"{start}before [{names(tuple(lacking))}] answered, last known to be eligible"
        yield Violation(text, rows)


def _answers(event: NodeEvent) -> dict[int, Told]:
    more: Mapping[str, Any] = event.more
    return {
        one["id"]: Told(one["broker_epoch"], one["last_epoch"], one["end"])
        for one in more["answers"]
    }


def _needed(change: Change) -> tuple[int, ...]:
    """Those that a Balanced recovery cannot do without."""
    before = change.before
    assert before is not None
    return before.last_known_elr or before.replicas
