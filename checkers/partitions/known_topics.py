"""Do brokers know the existing topics, and no others?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import LAG_NS
from checkers.evidence.promised import CREATE, DELETE
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

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
