"""What a campaign covered, and what failed in it.

Coverage proves that faults hit nodes: which kinds struck, in which role of the victim and state of
the quorum. It proves that checks judged: at how many things each looked. A fingerprint says what
failed; runs with the same fingerprint are one finding.
"""

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from checkers.evidence.faults import faults_of
from checkers.evidence.lives import NodeEvent, TraceColumns
from checkers.evidence.voter_history import planned_voters
from checkers.history.sealed_run import Run
from checkers.verdict import CheckResult, Judgement, Verdict

# The roles of nodes, and the state of the quorum, at a moment of a run. Pure, from sealed tables.


_TOLD = ("n.start", "n.stop", "q.state")


class Role(StrEnum):
    LEADER = "leader"
    FOLLOWER = "follower"
    CANDIDATE = "candidate"  # unattached or resigned as well: up, and neither of the two
    DOWN = "down"  # or paused


class Quorum(StrEnum):
    """The state of the quorum, as the voters themselves saw it."""

    LED = "led"  # one leads, and a majority follows it
    SPLIT = "split"  # several lead, or one without a majority
    ELECTING = "electing"  # a majority is up, and none leads
    SHORT = "short"  # no majority is up


class _Traced(NamedTuple):
    at: int
    event: NodeEvent


class Standing:
    """Roles and the state of the quorum at any moment of one run, in ns since its start."""

    def __init__(self, run: Run) -> None:
        self._nodes = planned_voters(run.info)
        self._traced: dict[int, list[_Traced]] = defaultdict(list)
        for life in TraceColumns(run.tables["node_events"]).lives:
            for event in life.events(*_TOLD):
                self._traced[event.node].append(_Traced(event.t, event))
        self._downs = _downs(run)

    def role(self, node: int, at: int) -> Role:
        """Just before that moment. A killed node is down until it traces again."""
        last = self._last(node, at)
        if last is None or last.event == "n.stop":
            return Role.DOWN
        if any(last.t <= begin < at <= end for begin, end in self._downs[node]):
            return Role.DOWN
        match last.state:
            case "leader":
                return Role.LEADER
            case "follower":
                return Role.FOLLOWER
            case _:
                return Role.CANDIDATE

    def quorum(self, at: int) -> Quorum:
        """Just before that moment."""
        roles = {node: self.role(node, at) for node in self._nodes}
        majority = len(self._nodes) // 2 + 1
        if sum(role is not Role.DOWN for role in roles.values()) < majority:
            return Quorum.SHORT
        leaders = [node for node, role in roles.items() if role is Role.LEADER]
        if not leaders:
            return Quorum.ELECTING
        if len(leaders) > 1 or 1 + self._followers(leaders[0], roles, at) < majority:
            return Quorum.SPLIT
        return Quorum.LED

    def _followers(self, leader: int, roles: dict[int, Role], at: int) -> int:
        told = [self._last(node, at) for node, role in roles.items() if role is Role.FOLLOWER]
        return sum(event is not None and event.leader == leader for event in told)

    def _last(self, node: int, at: int) -> NodeEvent | None:
        told = self._traced[node]
        before = bisect_left(told, at, key=lambda each: each.at)
        return told[before - 1].event if before else None


def _downs(run: Run) -> dict[int, Sequence[tuple[int, int]]]:
    """The intervals in which each node was off or paused, by the nemesis's record."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fault in faults_of(run):
        if fault.halts and fault.t_bit is not None:
            for node in fault.nodes:
                found[node].append((fault.t_bit, fault.t_healed or run.info.duration_ns))
    return defaultdict(list, found)


class Cell(NamedTuple):
    """`kind` is the fault's, with its mode if that makes it another fault."""

    kind: str
    role: str
    quorum: str

    def __str__(self) -> str:
        return "|".join(self)


_INVARIANT = "invariant:"
_IMPOSSIBLE = {(Role.LEADER, Quorum.ELECTING)}
COLUMNS: tuple[tuple[Quorum, Role], ...] = tuple(
    (quorum, role)
    for quorum, role in product(Quorum, (Role.LEADER, Role.FOLLOWER, Role.CANDIDATE))
    if (role, quorum) not in _IMPOSSIBLE
)


def struck(run: Run) -> Counter[Cell]:
    """The nodes that faults hit in a run; only faults that bit count."""
    standing = Standing(run)
    found: Counter[Cell] = Counter()
    for fault in run.tables["faults"].to_pylist():
        if fault["bit"] is not True:
            continue
        kind = label(fault["kind"], json.loads(fault["params"]))
        quorum = standing.quorum(fault["t_start"])
        for node in fault["nodes"]:
            found[Cell(kind, standing.role(node, fault["t_start"]), quorum)] += 1
    return found


def looked_at(judgement: Judgement, run: Run | None) -> Counter[str]:
    """By check that judged a run, and by invariant of the simulator that watched it: how many
    things it looked at."""
    found: Counter[str] = Counter()
    for row in judgement.results:
        if not row.check.startswith(_INVARIANT):
            found[row.check] += row.looked_at
    for name, count in run.info.looked_at.items() if run is not None else ():
        found[f"{_INVARIANT}{name}"] += count
    return found


def as_rules(counts: Mapping[str, int], runs: int) -> str:
    """How much each rule looked at in all runs, and which rules looked at nothing."""
    width = max(map(len, counts), default=0)
    lines = [f"  {name.ljust(width)}  {counts[name]:,}" for name in sorted(counts) if counts[name]]
    nothing = sorted(name for name, count in counts.items() if not count)
    lines.insert(0, f"looked at in {runs:,} runs, by check and invariant:")
    if nothing:
        lines.append(f"looked at nothing, {len(nothing)} of {len(counts)}: {', '.join(nothing)}")
    return "\n".join(lines)


def label(kind: str, parameters: Mapping[str, str]) -> str:
    """`power-off torn`: the kind of a fault, with the mode that makes it another fault."""
    words = [kind, *(parameters[name] for name in ("mode", "ways", "disks") if name in parameters)]
    return " ".join(word for word in words if word != "both")


def cell_from(text: str) -> Cell:
    """A cell from its `str`."""
    return Cell(*text.split("|"))


def empty(counts: Mapping[Cell, int], kinds: Iterable[str]) -> list[Cell]:
    """The cells that a campaign with these kinds of faults could have filled, and did not."""
    return [
        cell
        for kind in kinds
        for quorum, role in COLUMNS
        if not counts.get(cell := Cell(kind, role, quorum))
    ]


def as_text(counts: Mapping[Cell, int], kinds: Sequence[str]) -> str:
    """The table, and how many of its cells are empty."""
    head = [["", *(quorum.value for quorum, _ in COLUMNS), ""]]
    head += [["nodes hit by", *(role.value for _, role in COLUMNS), "down"]]
    lines = head + [[kind, *_row(counts, kind)] for kind in kinds]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head[0]))]
    table = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
    return "\n".join([*table, *_missing(empty(counts, kinds), len(kinds))])


def _row(counts: Mapping[Cell, int], kind: str) -> list[str]:
    cells = [Cell(kind, role, quorum) for quorum, role in COLUMNS]
    down = sum(n for cell, n in counts.items() if cell.kind == kind and cell.role == Role.DOWN)
    return [*(str(counts.get(cell, 0) or ".") for cell in cells), str(down or ".")]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    yield line[0].ljust(widths[0])
    for cell, width in zip(line[1:], widths[1:], strict=True):
        yield cell.rjust(width)


def _missing(cells: Sequence[Cell], kinds: int) -> list[str]:
    if not cells:
        return [f"no cell of {kinds * len(COLUMNS)} is empty"]
    return [
        f"empty, {len(cells)} of {kinds * len(COLUMNS)} cells (a point each); --json names them"
    ]


# The fingerprint of a failure: the same for runs that fail alike. Pure.


_LONGEST = 90
_KEY = re.compile(r"\br-\d+\b")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_LIST = re.compile(r"N(?:, N)+")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fingerprint:
    """`role` is the role of the node of the witness's last event, at that event."""

    check: str
    anomaly: str
    role: str = "-"

    def __str__(self) -> str:
        role = "" if self.role == "-" else f" ({self.role})"
        return f"{self.check}: {self.anomaly}{role}"

    @property
    def rule(self) -> str:
        """What was broken: a check of recorded events, and an invariant inside simulated nodes,
        may have the same name."""
        return self.check.removeprefix(_INVARIANT)


def fingerprint(judgement: Judgement, run: Run | None) -> Fingerprint | None:
    """Of the first row that has the run's own verdict; None if the run is valid."""
    found = fingerprints(judgement, run)
    return found[0] if found else None


def fingerprints(judgement: Judgement, run: Run | None) -> Sequence[Fingerprint]:
    """Of all rows that have the run's own verdict; none if the run is valid."""
    if judgement.verdict is Verdict.VALID:
        return ()
    blamed = [row for row in judgement.results if row.verdict is judgement.verdict]
    if not blamed:
        return (Fingerprint(check="-", anomaly=anomaly(judgement.sentence)),)
    return tuple(
        Fingerprint(
            check=row.check,
            anomaly=anomaly(row.message),
            role=_role(row, run) if run is not None else "-",
        )
        for row in blamed
    )


def unlike_expected(mismatch: str) -> Fingerprint:
    """The fingerprint of a run in which nothing was wrong although something was expected to be."""
    return Fingerprint(check="expected", anomaly=anomaly(mismatch))


def anomaly(message: str) -> str:
    """The first clause of a message, without the parts that differ from run to run."""
    clause = re.split(r"[;(]", message, maxsplit=1)[0].strip()
    plain = _NUMBER.sub("N", _KEY.sub("KEY", clause))
    return _LIST.sub("N", plain)[:_LONGEST]


def _role(row: CheckResult, run: Run) -> str:
    for event in reversed(row.witness):
        node, at = event.get("node"), event.get("t_ns")
        if isinstance(node, int) and node > 0 and isinstance(at, int):
            # the event itself counts among what it did
            return Standing(run).role(node, at + 1).value
    return "-"
