"""When a loss is allowed: after so many unclean shutdowns of replicas that nothing is promised.

The rule. KIP-966 wants "to elect a leader without data loss or HWM moving backward when we only
have min ISR - 1 unclean shutdowns" ("Eligible Leader Replicas"; its motivation: "MinISR-1 tolerance
to data loss unclean shutdown events"), where the effective min ISR is at most the replication
factor. So a loss is *allowed* on a partition only if min ISR or more of its replicas were shut down
uncleanly since all of them were last in the ISR, at least one of them in a way that can lose bytes:

* A shutdown is unclean if it leaves no clean-shutdown file ("Detection of an unclean shutdown");
  a fault's own row says what it does to processes and bytes. A kill loses nothing, but part one of
  the KIP drops the broker from the ELR all the same, so it spends the budget.
* A replica counts once, however often it went down: a replica that never did holds all that was
  acknowledged since, and is in the ISR or the ELR.
* The rule is the same with ELR off. Kafka does not keep it then, which scenarios are to show.
* A power cut takes no synced bytes. The loss of a record that was acknowledged before all replicas'
  disks were synced is never allowed, if nothing happened to any of them until then.
* An unclean election that was asked for may lose anything (KIP-966, "Unclean recovery").
* min.insync.replicas, replication and unclean elections are taken from the plan and from later
  requests (`promised`), never from the metadata log, which the accused wrote. A record is
  promised by the min ISR that was in force from its acknowledgement to the shutdown that was one
  too many; lowering it afterwards excuses nothing. If it changed in between, or a request was
  under way, the highest of them decides whether a loss is surely allowed, and the lowest whether it
  is surely not.

The metadata log on the disks says when all were in the ISR again (a full recovery): it holds every
registration and every change of the ISR in order; answers to probes bound the times. If no log can
be read, only answers are left: one broker must have said, after the shutdown, first that the victim
is out of the ISR and later that the ISR is complete. What cannot be decided is neither allowed nor
accused: it is undecided.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Codes, Flags, Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import (
    FOREVER_NS,
    NEVER_NS,
    IsrHistory,
    answers_about,
    isr_histories,
)
from checkers.evidence.promised import InForce, topic_of
from checkers.evidence.restarts import restarts, started_brokers


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """An unclean end of one broker. `started_ns` is when its cure began, `up_ns` when it was done;
    FOREVER_NS if it never was."""

    fault_id: int
    node: int
    at_ns: int
    started_ns: int
    up_ns: int
    may_lose: bool
    synced_ns: int = NEVER_NS  # records acknowledged before it were durable on this disk


class Recovery(NamedTuple):
    """When the ISR was complete again after a shutdown: not before, and surely by."""

    may_ns: int
    surely_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWindow:
    """From the last of so many shutdowns to the full recovery after it. As many as min ISR are too
    many."""

    from_ns: int
    until_ns: int
    spent: int  # replicas that were shut down uncleanly by then since all were last in sync
    synced_ns: int = NEVER_NS  # no disk could lose a record acknowledged before it


# Why a loss is neither allowed nor an accusation.
UNDECIDED = "it is not known when the ISR was complete again, or which min ISR was in force"
_WHATEVER_IT_TAKES = FOREVER_NS  # more than any min ISR

Windows = Mapping[str, tuple[LossWindow, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBudget:
    """By partition, when a loss was surely allowed, and when it may have been.

    Windows are those in which as many were shut down as the lowest min ISR ever asked for;
    `min_isr` decides by the time of a record's acknowledgement whether its own was reached.
    `lowest` is the lowest of all partitions, `worst` the most replicas of one partition that were
    shut down uncleanly at once.
    """

    lowest: int
    worst: int
    sure: Windows
    possible: Windows
    min_isr: Mapping[str, InForce]
    unclean_elections: bool

    def allows(self, keys: Sequence[str], key: Codes, begin: Ints, end: Ints) -> Flags:
        """Whether an event between two times on a partition may be due to an allowed loss."""
        return self._overlapping(keys, key, begin, end, surely=True)

    def may_allow(self, keys: Sequence[str], key: Codes, begin: Ints, end: Ints) -> Flags:
        """The same, and also if it cannot be decided whether the loss was allowed."""
        return self._overlapping(keys, key, begin, end, surely=False)

    def allows_loss(self, keys: Sequence[str], key: Codes, sent: Ints, answered: Ints) -> Flags:
        """Whether records that were sent and answered at these times may be lost for good."""
        return self._losable(keys, key, sent, answered, surely=True)

    def may_allow_loss(self, keys: Sequence[str], key: Codes, sent: Ints, answered: Ints) -> Flags:
        """The same, and also if it cannot be decided whether the loss was allowed."""
        return self._losable(keys, key, sent, answered, surely=False)

    def _overlapping(
        self, keys: Sequence[str], key: Codes, begin: Ints, end: Ints, *, surely: bool
    ) -> Flags:
        found = np.zeros(len(key), np.bool_)
        for code, name, window in self._windows(keys, surely=surely):
            overlaps = (begin < window.until_ns) & (end > window.from_ns)
            rows = np.flatnonzero((key == code) & overlaps)
            found[rows] |= self._is_spent(window, name, begin[rows], surely=surely)
        return found

    def _losable(
        self, keys: Sequence[str], key: Codes, sent: Ints, answered: Ints, *, surely: bool
    ) -> Flags:
        promised = np.where(answered == FOREVER_NS, sent, answered)
        found = np.zeros(len(key), np.bool_)
        for code, name, window in self._windows(keys, surely=surely):
            before = (sent < window.until_ns) & (answered >= window.synced_ns)
            rows = np.flatnonzero((key == code) & before)
            found[rows] |= self._is_spent(window, name, promised[rows], surely=surely)
        return found

    def _windows(
        self, keys: Sequence[str], *, surely: bool
    ) -> Iterator[tuple[int, str, LossWindow]]:
        windows = self.sure if surely else self.possible
        for code, name in enumerate(keys):
            yield from ((code, name, window) for window in windows.get(name, ()))

    def _is_spent(self, window: LossWindow, name: str, since: Ints, *, surely: bool) -> Flags:
        """Whether enough replicas were shut down for what was promised at these times."""
        least, most = self.min_isr[name].between(since, np.maximum(since, window.from_ns))
        return (most if surely else least) <= window.spent

    def said(self) -> str:
        """The budget, and how much of it was spent, in words."""
        if self.unclean_elections:
            return "a leader was elected uncleanly, as configured: nothing is promised"
        synced = any(one.synced_ns > NEVER_NS for each in self.sure.values() for one in each)
        return (
            f"fewer than {self.lowest} replicas shut down uncleanly between full recoveries; "
            f"at most {self.worst} were{', after their disks were synced' if synced else ''}"
        )


def loss_budget(evidence: Evidence) -> LossBudget:
    """For all partitions that clients or disks know of. By `evidence.once`."""
    shutdowns = sorted(_shutdowns(evidence), key=lambda one: one.at_ns)
    histories = evidence.once(isr_histories)
    sure: dict[str, tuple[LossWindow, ...]] = {}
    possible: dict[str, tuple[LossWindow, ...]] = {}
    worst, unclean = 0, False
    min_isr: dict[str, InForce] = {}
    for key in _keys(evidence):
        history = histories.get(key)
        min_isr[key] = evidence.promised.min_isr(topic_of(key))
        least = min_isr[key].lowest
        mine = [
            replace(one, synced_ns=_synced_ns(evidence, history, one))
            for one in shutdowns
            if one.node in _replicas(evidence, key, history)
        ]
        recoveries = _recoveries(evidence, key, history, mine)
        sure[key], _ = _windows(mine, [one.may_ns for one in recoveries], least)
        possible[key], spent = _windows(mine, [one.surely_ns for one in recoveries], least)
        worst = max(worst, spent)
        if (uncleanly := _elected_uncleanly(evidence, key)) is not None and evidence.faults:
            began = evidence.faults[0].t_start
            since = (LossWindow(from_ns=began, until_ns=FOREVER_NS, spent=_WHATEVER_IT_TAKES),)
            possible[key] = since
            sure[key] = since if uncleanly else sure[key]
            unclean = unclean or uncleanly
    return LossBudget(
        lowest=min((one.lowest for one in min_isr.values()), default=1),
        worst=worst,
        sure=sure,
        possible=possible,
        min_isr=min_isr,
        unclean_elections=unclean,
    )


def _keys(evidence: Evidence) -> list[str]:
    """Every partition that any evidence names."""
    found: set[str] = set()
    for table in ("spans", "replicas"):
        found |= set(evidence.tables[table]["key"].unique().to_pylist())
    found |= set(evidence.timeline.partitions if evidence.timeline else ())
    return sorted(key for key in found if key)


def _elected_uncleanly(evidence: Evidence, key: str) -> bool | None:
    """Whether a leader was elected uncleanly where that was asked for; None: surely not.

    Without a metadata log it is unknown: False.
    """
    if not evidence.promised.unclean(topic_of(key)):
        return None
    if evidence.timeline is None:
        return False
    return True if any(one.elected_outside for one in evidence.timeline.history(key)) else None


def _shutdowns(evidence: Evidence) -> Iterator[Shutdown]:
    for fault in evidence.faults:
        if fault.unclean and fault.may_have_bitten:
            for node in fault.nodes:
                yield Shutdown(
                    fault_id=fault.id,
                    node=node,
                    at_ns=fault.t_start,
                    started_ns=fault.end_ns,
                    up_ns=fault.over_ns,
                    may_lose=fault.may_lose,
                )


def _replicas(evidence: Evidence, key: str, history: IsrHistory | None) -> frozenset[int]:
    """The nodes that may have one: by the log, else by disks and answers, else every broker."""
    if history is not None:
        return frozenset(node for one in history.states for node in one.replicas)
    replicas = evidence.tables["replicas"]
    nodes = {node for row in answers_about(evidence, key) for node in row["isr"] or ()}
    nodes |= set(replicas.filter(pc.equal(replicas["key"], key))["node"].to_pylist())
    if len(nodes) >= evidence.promised.replication(topic_of(key)):
        return frozenset(nodes)
    return frozenset(evidence.brokers or evidence.voters.nodes) | nodes


def _synced_ns(evidence: Evidence, history: IsrHistory | None, shutdown: Shutdown) -> int:
    """The time before which an acknowledgement by all in-sync replicas means a durable record on
    this disk.

    Given only for a sync before which every replica had always been in the ISR, and for a shutdown
    before which nothing else went wrong: durable records may be truncated and fetched again.
    """
    before = [fault for fault in evidence.faults if fault.t_start < shutdown.at_ns]
    own = [fault for fault in evidence.faults if fault.id == shutdown.fault_id]
    if history is None or history.begins_hidden or any(fault.may_harm for fault in before):
        return NEVER_NS
    if any(fault.damages_bytes or fault.wipes for fault in own):
        return NEVER_NS
    syncs = [
        fault for fault in before if fault.syncs and fault.bit and shutdown.node in fault.nodes
    ]
    last = max((fault.t_start for fault in syncs), default=NEVER_NS)
    may_be_short = ~history.whole() & (history.not_before < last)
    return NEVER_NS if may_be_short.any() else last


# --- full recoveries ---


def _recoveries(
    evidence: Evidence, key: str, history: IsrHistory | None, shutdowns: Sequence[Shutdown]
) -> list[Recovery]:
    answers = _answers(evidence, key) if shutdowns else {}
    wanted = evidence.promised.replication(topic_of(key))
    whole = min(wanted, len(_replicas(evidence, key, history)))
    found = []
    for one in shutdowns:
        again = _registered_after(evidence, one)
        if history is not None and again is not None:
            found.append(_by_log(one, history, again))
        else:
            surely = min((_by_answers(one, told, whole) for told in answers.values()), default=None)
            found.append(Recovery(one.started_ns, FOREVER_NS if surely is None else surely))
    return found


def _registered_after(evidence: Evidence, shutdown: Shutdown) -> int | None:
    """The offset at which the next process registered, or a later one if that process died
    before."""
    for one in evidence.once(restarts):
        if (one.fault.id, one.registration.node) == (shutdown.fault_id, shutdown.node):
            return one.registration.offset
    return next(
        (
            one.registered
            for one in evidence.once(started_brokers)
            if one.node == shutdown.node and one.began_ns > shutdown.at_ns
        ),
        None,
    )


def _by_log(shutdown: Shutdown, history: IsrHistory, registered: int) -> Recovery:
    """The first change after the next process' registration that makes the ISR complete."""
    again = np.flatnonzero(history.whole() & (history.offsets > registered))
    if not len(again):
        return Recovery(FOREVER_NS, FOREVER_NS)
    first = int(again[0])
    # What a snapshot tells first may have been so long before.
    since = NEVER_NS if history.begins_hidden and not first else int(history.not_before[first])
    may = max(shutdown.started_ns, since)
    return Recovery(may, max(may, int(history.known_by[first])))


@dataclass(slots=True)
class _BrokerAnswers:
    """One broker's answers about a partition's ISR, in order."""

    t0: list[int] = field(default_factory=list)
    t1: list[int] = field(default_factory=list)
    isr: list[frozenset[int]] = field(default_factory=list)


def _answers(evidence: Evidence, key: str) -> dict[int, _BrokerAnswers]:
    said: dict[int, _BrokerAnswers] = {}
    for row in answers_about(evidence, key):
        one = said.setdefault(row["node"], _BrokerAnswers())
        one.t0.append(row["t0"])
        one.t1.append(row["t1"])
        one.isr.append(frozenset(row["isr"] or ()))
    return said


def _by_answers(shutdown: Shutdown, said: _BrokerAnswers, whole: int) -> int:
    """By one broker's answers: first without the victim, then complete and after its restart."""
    out = False
    for t0, t1, isr in zip(said.t0, said.t1, said.isr, strict=True):
        if t0 >= shutdown.at_ns and shutdown.node not in isr:
            out = True
        elif out and t0 >= shutdown.up_ns and len(isr) >= whole:
            return t1
    return FOREVER_NS


def _windows(
    shutdowns: Sequence[Shutdown], recovered_ns: Sequence[int], min_isr: int
) -> tuple[tuple[LossWindow, ...], int]:
    """The times over budget, and the most replicas that were down uncleanly at once."""
    windows, worst = [], 0
    for last in shutdowns:
        counted = [
            (one, recovered)
            for one, recovered in zip(shutdowns, recovered_ns, strict=True)
            if one.at_ns <= last.at_ns < recovered
        ]
        spent = len({one.node for one, _ in counted})
        worst = max(worst, spent)
        if spent >= min_isr and any(one.may_lose for one, _ in counted):
            until = max(recovered for _, recovered in counted)
            synced = min(one.synced_ns for one, _ in counted if one.may_lose)
            windows.append(
                LossWindow(from_ns=last.at_ns, until_ns=until, spent=spent, synced_ns=synced)
            )
    return tuple(windows), worst
