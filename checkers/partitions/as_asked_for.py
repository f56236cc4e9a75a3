"""Does the cluster have what was requested, and nothing else: topics, configurations, features?

By the metadata log, and by brokers' answers about topics. The plan and the requests of clients and
operators say what was requested (`evidence.promised`).
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import BROKER, FEATURE, TOPIC, MadeTopic, Setting, Timeline
from checkers.evidence.isr_history import LAG_NS
from checkers.evidence.metadata_replay import ELR_FEATURE
from checkers.evidence.promised import (
    CREATE,
    DELETE,
    INTERNAL,
    UNCLEAN,
    AskedFor,
    InForce,
    topic_of,
)
from checkers.history.asked import CONFIG_OF_ALL_BROKERS, MIN_ISR
from checkers.history.sealed_run import RunInfo
from checkers.partitions.leaders import NEED, names
from checkers.verdict import CheckResult, counted

_NEED = f"{NEED}, and what clients asked for"
_ALGORITHM = "replay of the committed metadata log against the plan and clients' requests"
_RESTS_ON = (Kind.METADATA_LOGS, Kind.OPERATIONS)
_METRICS = 16  # a resource type
_CLUSTER = (BROKER, "", MIN_ISR)
# The configurations that brokers request for internal topics; None: the value that the broker is
# configured with.
_OF_INTERNAL_TOPICS: Mapping[str, str | None] = {
    "cleanup.policy": None,
    "compression.type": None,
    "segment.bytes": None,
    "retention.ms": "-1",
    MIN_ISR: None,
    UNCLEAN: "false",
}


@check(
    "topics-as-asked-for",
    applies=of_brokers,
    source="KIP-500: a controller creates and deletes what it is asked to",
    rests_on=_RESTS_ON,
)
def topics_as_asked_for(evidence: Evidence) -> CheckResult:
    """Every topic in the metadata log was asked for and has the requested number of partitions and
    replicas; no topic is deleted without a request.

    Internal topics have as many replicas as the brokers are configured to give them. If the log
    begins with a snapshot, the topics in it and later ones are judged. Needs: ops, log_records.
    """
    found, promised = evidence.timeline, evidence.promised
    if found is None:
        return unread("topics", _NEED)
    violations = [
        *_unasked(promised, found),
        *_shapes(promised, found),
        *_fewer_replicas(promised, found),
    ]
    return conclude(
        looked_at=len(found.made),
        unit="topics",
        violations=violations,
        needs=_NEED,
        holds="each was asked for, and has the requested shape",
        algorithm=_ALGORITHM,
        nothing="no topic was created" if not promised.asked(CREATE) else "",
    )


def _unasked(promised: AskedFor, found: Timeline) -> Iterator[Violation]:
    for done, f, records in (
        ("created", CREATE, found.topics),
        ("deleted", DELETE, found.removed),
    ):
        for name, offsets in records.items():
            asked = len(promised.asked(f, name))
            if len(offsets) > asked and not (name.startswith(INTERNAL) and f == CREATE):
                text = f"topic {name} was {done} at offset {offsets[asked]}, but "
                text += f"clients asked for that {counted(asked, 'time')}" if asked else ""
                text += "" if asked else "no client had asked for that"
                yield Violation(text, [{"what": done, "key": name, "offset": offsets[asked]}])


def _shapes(promised: AskedFor, found: Timeline) -> Iterator[Violation]:
    """The partitions with which topics were created and those that they got later, or that a
    snapshot has."""
    numbers: dict[str, list[int]] = defaultdict(list)  # by the topic's id
    for batch in found.batches:
        for change in batch.changes:
            if change.before is None and change.after is not None:
                number = int(change.after.key.rpartition("-")[2])
                numbers[change.after.topic_id].append(number)
    for made in found.made:
        shape, has = promised.shape(made.name), sorted(numbers[made.id])
        least, most = promised.partitions(made.name) if shape else (1, max(1, len(has)))
        wanted = list(range(min(max(least, len(has)), most)))
        if has != wanted:
            text = f"topic {made.name} was requested with {counted(len(wanted), 'partition')}, "
            text += f"but has those numbered [{names(has)}]" if has else "but has none"
            yield Violation(text, [{"what": "Topic", "key": made.name, "offset": made.offset}])


def _fewer_replicas(promised: AskedFor, found: Timeline) -> Iterator[Violation]:
    """The first change of each partition that leaves it fewer replicas than were asked for."""
    told: set[str] = set()
    for batch in found.batches:
        for change in batch.changes:
            after = change.after
            if after is None or after.key in told:
                continue
            wanted = promised.asked_replication(topic_of(after.key))
            if wanted is not None and len(set(after.replicas)) < wanted:
                told.add(after.key)
                text = f"{after.key} was requested with {counted(wanted, 'replica')}, but has "
                text += f"those on [{names(after.replicas)}]"
                yield Violation(
                    text, [{"what": "replicas", "key": after.key, "offset": change.offset}]
                )


# --- configurations ---


@check(
    "configs-as-asked-for",
    applies=of_brokers,
    source="KIP-226, KIP-339: configurations are what clients set",
    rests_on=_RESTS_ON,
)
def configs_as_asked_for(evidence: Evidence) -> CheckResult:
    """Every change of a configuration of topics and brokers in the metadata log was requested, as
    often as it is there, and every acknowledged change is in the log.

    Brokers ask for the configurations of internal topics; and with eligible leader replicas a
    controller writes a cluster-wide min.insync.replicas, the one in the brokers' files, and removes
    those of single brokers (KIP-966, KAFKA-16540). Clients' settings of client metrics are judged
    by other checks. Needs: ops, log_records.
    """
    found, promised = evidence.timeline, evidence.promised
    if found is None:
        return unread("configurations", _NEED)
    chosen = [one for one in found.settings if one.of[0] in (TOPIC, BROKER)]
    others = [one for one in found.settings if one.of[0] not in (TOPIC, BROKER, FEATURE, _METRICS)]
    wanted = [made for made in found.made if promised.shape(made.name) is not None]
    violations = [
        *(_unasked_setting(one) for one in others),
        *(_unasked_setting(one) for one in chosen if not _was_asked(promised, one)),
        *_too_often(promised, chosen),
        *(each for made in wanted for each in _forgotten(promised, found, made)),
        *_not_in_force(promised, found),
    ]
    return conclude(
        looked_at=len(chosen) + len(others) + len(wanted),
        unit="configurations and topics",
        violations=violations,
        needs=_NEED,
        holds="all changes were asked for, and none is missing",
        algorithm=_ALGORITHM,
        nothing="nothing was configured",
    )


def _was_asked(promised: AskedFor, one: Setting) -> bool:
    kind, resource, name = one.of
    if one.value is None:
        return kind == BROKER and bool(resource) and name == MIN_ISR
    if kind == BROKER:
        return one.of == _CLUSTER and one.value in map(str, _ever(promised))
    if resource.startswith(INTERNAL) and name in _OF_INTERNAL_TOPICS:
        wanted = _OF_INTERNAL_TOPICS[name]
        return wanted is None or wanted == one.value
    shape = promised.shape(resource)
    asked = set(shape.configs.items()) if shape else set()
    return (name, one.value) in asked | set(promised.configs_of(resource))


def _ever(promised: AskedFor) -> frozenset[int]:
    """The cluster-wide min.insync.replicas: the configured one, and all that were asked for."""
    found = promised.min_isr_of_all_brokers.values
    return frozenset[int]().union(*found)


def _unasked_setting(one: Setting) -> Violation:
    what = _named(one.of)
    told = "is removed" if one.value is None else f"is set to {one.value}"
    text = f"{what} {told} at offset {one.offset}, but no client had asked for that"
    return Violation(text, [{"what": what, "value": one.value, "offset": one.offset}])


def _named(of: tuple[int, str, str]) -> str:
    kind, resource, name = of
    owner = {
        TOPIC: f"topic {resource}",
        BROKER: f"broker {resource}" if resource else "all brokers",
    }
    return f"{name} of {owner.get(kind, f'resource {resource} of type {kind}')}"


def _too_often(promised: AskedFor, chosen: Sequence[Setting]) -> Iterator[Violation]:
    """Changes of the brokers' min ISR to a value beyond those that clients asked for. A request
    without an answer may be forwarded again by the broker that got it, and be done twice."""
    rows = [row for f in CONFIG_OF_ALL_BROKERS for row in promised.asked(f)]
    asked = Counter(str(row["value"]) for row in rows)
    unknown = {str(row["value"]) for row in rows if row["outcome"] != "ok"}
    (usual,) = promised.min_isr_of_all_brokers.values[0]
    before = str(usual)
    for one in chosen:
        if one.of == _CLUSTER and one.value not in (None, before):
            before = str(one.value)
            asked[before] -= 1
            if asked[before] < 0 and before not in unknown and _was_asked(promised, one):
                yield _unasked_setting(one)
                return


def _forgotten(promised: AskedFor, found: Timeline, made: MadeTopic) -> Iterator[Violation]:
    """Configurations that a topic was requested with, and was created without: they are set in the
    same batch."""
    shape, batches = promised.shape(made.name), found.log.batches
    assert shape is not None
    own = bisect_left(batches, made.offset, key=lambda batch: batch.last)
    last = batches[own].last if made.offset >= found.start else found.start
    written = {
        (one.of[2], one.value)
        for one in found.settings
        if one.of[:2] == (TOPIC, made.name) and made.offset <= one.offset <= last
    }
    for name, value in sorted(set(shape.configs.items()) - written):
        text = f"topic {made.name} was requested with {name}={value}, but was created without"
        yield Violation(text, [{"what": "Topic", "key": made.name, "offset": made.offset}])


def _not_in_force(promised: AskedFor, found: Timeline) -> Iterator[Violation]:
    """The cluster-wide min ISR at the end, if another one was acknowledged last."""
    of_all = promised.min_isr_of_all_brokers
    may = {str(value) for value in of_all.last}
    has = found.configs.get(_CLUSTER, str(min(of_all.values[0])))
    if has not in may:
        text = f"{_named(_CLUSTER)} is {has} at the end, but the last acknowledged value is "
        yield Violation(f"{text}{' or '.join(sorted(may))}", [{"what": _named(_CLUSTER)}])


# --- features ---


@check(
    "features-as-asked-for",
    applies=of_brokers,
    source="KIP-584: features are finalized as operators ask",
    rests_on=(*_RESTS_ON, Kind.FAULTS),
)
def features_as_asked_for(evidence: Evidence) -> CheckResult:
    """Feature levels are those that the cluster was formatted with until an operator asks for
    others, and eligible leader replicas are on or off as requested.

    All levels of a format are in the metadata log before the first broker registers. Needs:
    log_records, faults.
    """
    found, levels = evidence.timeline, evidence.promised.elr_levels
    if found is None:
        return unread("levels of features", _NEED)
    chosen = [one for one in found.settings if one.of[0] == FEATURE]
    registered = min(
        (offset for batch in found.batches for offset, _, _ in batch.broker_records), default=0
    )
    violations: list[Violation] = []
    level: dict[str, int] = {}  # by name
    for one in chosen:
        name, before, now = one.of[2], level.get(one.of[2], 0), int(one.value or 0)
        is_late = not one.is_state and one.offset > registered
        may: frozenset[int] = frozenset({before} if is_late else {before, now})
        if name == ELR_FEATURE and levels is not None:
            may = _elr_levels(levels, before, is_late=is_late or one.is_state)
        if now not in may:
            violations.append(_unasked_level(one))
        level[name] = now
    if levels is not None and level.get(ELR_FEATURE, 0) not in levels.last and not violations:
        wanted = " or ".join(map(str, sorted(levels.last)))
        has = level.get(ELR_FEATURE, "not set")
        text = f"{ELR_FEATURE} is {has} at the end, but level {wanted} was asked for"
        violations.append(Violation(text, [{"what": ELR_FEATURE, "value": str(has)}]))
    return conclude(
        looked_at=len(chosen) + (levels is not None),
        unit="levels of features",
        violations=violations,
        needs=_NEED,
        holds="each is as requested",
        algorithm=_ALGORITHM,
    )


def _elr_levels(levels: InForce, before: int, *, is_late: bool) -> frozenset[int]:
    """The levels that may be set: that of the format, or later ones that were asked for."""
    if not is_late:
        return levels.values[0]
    return frozenset({before}).union(*levels.values)


def _unasked_level(one: Setting) -> Violation:
    text = f"{one.of[2]} is finalized at level {one.value} at offset {one.offset}, but no "
    text += "operator had asked for that"
    return Violation(text, [{"what": one.of[2], "value": one.value, "offset": one.offset}])


# Brokers know the existing topics, and no others.


DESCRIBE = "describe-topic"
_KNOWN, _GONE = 1, 0
_SHOWN = ("op_id", "node", "f", "key", "value", "outcome")

_Operation = dict[str, Any]


def asks_for_topics(info: RunInfo) -> bool:
    """Applies where every broker is asked for the topics that it knows."""
    return "deleting-topics" in info.load.get("chores", ())


@check(
    "brokers-know-the-topics",
    applies=asks_for_topics,
    source="KIP-500: a broker's metadata is what the log says, up to an offset",
)
def brokers_know_the_topics(evidence: Evidence) -> CheckResult:
    """A broker that knows a topic knows every topic that was created before and not deleted, and
    none that was deleted before it was created.

    The metadata log has one order and brokers replay it in that order, so no time is allowed for. A
    broker that knows no topic at all is behind all of them: once it had every chance to hear of one
    that is not deleted, it has to know it. The final reads are judged, during which no broker
    restarts. Needs: ops.
    """
    ops = evidence.tables["ops"]
    history = _history(ops)
    answers = _rows(ops, f=DESCRIBE, outcome="ok", phase="final")
    looked_at = 0
    violations: list[Violation] = []
    newest: dict[int, _Operation] = {}  # by node, of the topics that it knows
    for row in answers:
        node, topic = row["node"], history.get(row["key"])
        if topic is None:
            continue
        proof = newest.get(node)
        if proof is not None and (settled := topic.before(proof)) is not None:
            looked_at += 1
            if row["value"] != settled:
                violations.append(_differs(topic, proof, row))
        elif row["value"] == _KNOWN and not topic.deletions:
            known = [one for one in (proof, topic.creation) if one]
            newest[node] = max(known, key=lambda one: int(one["invoke_index"]))
    ignorant = [*_ignorant(evidence, history, answers)]
    return conclude(
        looked_at=looked_at + len(ignorant),
        unit="answers about topics",
        violations=[*violations, *ignorant],
        needs="answers of brokers that know a topic which was created afterwards",
        holds="each broker knows the existing topics, and no others",
        algorithm="answers after one with a later topic",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    """The operations on a topic that was created once; `deletions`: all that may have happened."""

    creation: _Operation
    deletions: Sequence[_Operation]

    def before(self, later: _Operation) -> int | None:
        """Whether it exists once a topic does that was created by `later`; None: unknown."""
        if any(_over(one, later) for one in self.deletions):
            return _GONE
        return _KNOWN if not self.deletions and _over(self.creation, later) else None


def _ignorant(
    evidence: Evidence, history: Mapping[str, _Topic], answers: Sequence[_Operation]
) -> Iterator[Violation]:
    """Brokers that know no topic though they had every chance to: one was created a while before,
    and nothing was wrong with any link, process or machine since."""
    knowing = {row["node"] for row in answers if row["value"] == _KNOWN}
    found: dict[int, Violation] = {}
    for row in answers:
        topic, since = history.get(row["key"]), row["t0"] - LAG_NS
        if row["node"] in knowing or topic is None or topic.deletions:
            continue
        created = topic.creation
        is_old = created["outcome"] == "ok" and created["t1"] < since
        if is_old and not any(fault.overlaps(since, row["t0"]) for fault in evidence.faults):
            found.setdefault(row["node"], _knows_nothing(created, row))
    yield from found.values()


def _knows_nothing(created: _Operation, row: _Operation) -> Violation:
    seconds = (row["t0"] - created["t1"]) / 1e9
    return Violation(
        f"missing topic: node {row['node']} knows no topic at all, {seconds:.1f} s after "
        f"{row['key']} was created",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (created, row)
        ],
    )


def _over(one: _Operation, later: _Operation) -> bool:
    done = one["outcome"] == "ok" and one["complete_index"] < later["invoke_index"]
    return bool(done)


def _history(ops: pa.Table) -> Mapping[str, _Topic]:
    """By name; without those that may have been created twice."""
    tried = [row for row in _rows(ops) if row["outcome"] != "fail"]
    created = [row for row in tried if row["f"] == CREATE]
    count = Counter(row["key"] for row in created)
    deletions: dict[str, list[_Operation]] = {}
    for row in tried:
        if row["f"] == DELETE:
            deletions.setdefault(row["key"], []).append(row)
    return {
        row["key"]: _Topic(creation=row, deletions=deletions.get(row["key"], ()))
        for row in created
        if count[row["key"]] == 1
    }


def _rows(ops: pa.Table, **equal: str) -> list[_Operation]:
    """Operations in the order of their invocation."""
    for name, value in equal.items():
        ops = ops.filter(pc.equal(ops[name], value))
    found: list[_Operation] = ops.sort_by("invoke_index").to_pylist()
    return found


def _differs(topic: _Topic, proof: _Operation, row: _Operation) -> Violation:
    if row["value"] == _KNOWN:
        what = f"ghost topic: node {row['node']} knows {row['key']}, which was deleted, yet"
    else:
        what = f"missing topic: node {row['node']} does not know {row['key']}, which exists, but"
    return Violation(
        f"{what} {proof['key']}, which was created afterwards",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (topic.creation, *topic.deletions, proof, row)
        ],
    )
