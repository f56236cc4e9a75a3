"""Cycles of dependencies, with Adya's names and, over real time, Elle's; strongly connected
components.

    G0         ww only: what two operations sent is in two orders
    G1b        what was polled ends within what an operation sent to that key
    G1c        ww and wr: each saw, or was overwritten by, what comes after it
    G-single   with exactly one rw
    G2         with more of them

`-realtime` if the cycle needs that one operation had ended when another began. A component is named
after the narrowest kinds of dependencies that close a cycle in it; those of wr alone, with and
without real time, are looked for apart, as no order of sends explains them.

Operations of one micro-operation need no such search. A single send, or a single poll, is of one
log alone; and if each log keeps the order of real time, all of them together do (Herlihy and Wing,
1990, locality). Breaches of one log have their own names: future-read, nonmonotonic-send-realtime.
Only rw could then close a cycle, since polls may lag: those are looked for on request. Jepsen's
Kafka workload leaves rw out for that reason.

An intermediate read, G1b, is no anomaly of a log as such: a poll ends anywhere. It is one if a
transaction has to be polled as a whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import NEVER, Outcome
from checkers.log.anomalies import Anomaly, Cases, Component, Cycle, DependencyStep, Purse, cases
from checkers.log.arrays import CORRUPT, LogArrays, LogOperations
from checkers.log.dependencies import (
    UNKNOWN,
    Dependencies,
    Dependency,
    VersionOrder,
    dependencies,
    happened,
)
from checkers.log.positions import ends

# Operations that depend on each other in a circle: strongly connected components.
#
# Real time has a row for every pair of operations one of which ended before the other began. Its
# transitive reduction is nearly as large if many run at once, so completions are nodes of their own
# here, a chain in the order of events: an operation leads to its completion, that to the next one,
# and each to the operations that began right after it. Three rows per operation say the same.


def components(
    ops: LogOperations, nodes: Ints, ends: Flags, rows: Iterable[Dependencies], *, real_time: bool
) -> Codes:
    """By node: the number of its component, or -1 if it is alone.

    `nodes` are rows of operations, rising; `ends` says which of them are known to have ended in
    time. Both ends of all `rows` are among the nodes.
    """
    # The import takes several times as long as judging most histories, which have no cycles.
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    before = [np.searchsorted(nodes, one.before) for one in rows]
    after = [np.searchsorted(nodes, one.after) for one in rows]
    size = len(nodes)
    if real_time:
        chain = _completions(ops, nodes, ends)
        before.append(chain[0])
        after.append(chain[1])
        size += int(ends.sum())
    source, destination = _joined(before), _joined(after)
    graph = coo_matrix((np.ones(len(source), np.bool_), (source, destination)), shape=(size, size))
    labels = connected_components(graph, directed=True, connection="strong")[1][: len(nodes)]
    together = np.bincount(labels, minlength=1)
    return np.where(together[labels] > 1, labels, -1).astype(np.int32)


def _completions(ops: LogOperations, nodes: Ints, ends: Flags) -> tuple[Ints, Ints]:
    """Rows of real time; the completions are nodes behind those of operations, in their order."""
    ended = np.flatnonzero(ends)
    ended = ended[np.argsort(ops.complete[nodes[ended]], kind="stable")]
    completion = len(nodes) + np.arange(len(ended))
    latest = np.searchsorted(ops.complete[nodes[ended]], ops.invoke[nodes]) - 1
    begun = np.flatnonzero(latest >= 0)
    before = [ended, completion[:-1], completion[latest[begun]] if len(begun) else begun]
    return _joined(before), _joined([completion, completion[1:], begun])


def _joined(parts: list[Ints]) -> Ints:
    joined: Ints = np.concatenate([np.empty(0, np.int64), *parts])
    return joined


_WW, _WR, _RW, _RT = Dependency.WW, Dependency.WR, Dependency.RW, Dependency.RT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """Cycles of some kinds of dependencies. `single`: the name of those with exactly one rw."""

    anomaly: Anomaly
    kinds: frozenset[Dependency]
    single: Anomaly | None = None


# Each after those of fewer kinds.
_LAYERS = (
    _Layer(anomaly=Anomaly.G1C, kinds=frozenset({_WR})),
    _Layer(anomaly=Anomaly.G1C_REALTIME, kinds=frozenset({_WR, _RT})),
    _Layer(anomaly=Anomaly.G0, kinds=frozenset({_WW})),
    _Layer(anomaly=Anomaly.G1C, kinds=frozenset({_WW, _WR})),
    _Layer(anomaly=Anomaly.G0_REALTIME, kinds=frozenset({_WW, _RT})),
    _Layer(anomaly=Anomaly.G1C_REALTIME, kinds=frozenset({_WW, _WR, _RT})),
    _Layer(anomaly=Anomaly.G2, kinds=frozenset({_WW, _WR, _RW}), single=Anomaly.G_SINGLE),
    _Layer(
        anomaly=Anomaly.G2_REALTIME,
        kinds=frozenset({_WW, _WR, _RW, _RT}),
        single=Anomaly.G_SINGLE_REALTIME,
    ),
)


def cycles(log: LogArrays, order: VersionOrder, *, anti: bool) -> Iterator[Cases]:
    """G0, G1b, G1c and their like over real time; G-single and G2 only if `anti`.

    A case of a cycle is a component. The search for its shortest cycle is bounded; beyond the bound
    a G-single may be called a G2, and a shorter cycle may be missed.
    """
    yield _intermediate(log, order)
    if not (anti or _may_close(log, order)):
        return
    found = dependencies(log, order, anti=anti)
    for anomaly, those in named_cycles(log.ops, found, anti=anti).items():
        yield _cases(anomaly, those)


def named_cycles(
    ops: LogOperations, found: Mapping[Dependency, Dependencies], *, anti: bool
) -> Mapping[Anomaly, list[Cycle]]:
    """The cycles of any operations with such dependencies: one per component, by name.

    Those that need rw only if `anti`.
    """
    search = _Search(ops, found)
    by_name: dict[Anomaly, list[Cycle]] = {}
    for layer in _LAYERS:
        if anti or _RW not in layer.kinds:
            for anomaly, cycle in search.layer(layer):
                by_name.setdefault(anomaly, []).append(cycle)
    return by_name


def _may_close(log: LogArrays, order: VersionOrder) -> bool:
    """Whether some operation sends and polls, or sends to several places that are not adjacent."""
    sent = log.sent
    sends = np.zeros(len(log.ops), np.bool_)
    sends[sent.op] = True
    if sends[log.polled.op].any():
        return True
    then = np.flatnonzero(sent.op[1:] == sent.op[:-1]) + 1
    rank = order.first_rank[: len(sent)]
    apart = (sent.key[then] != sent.key[then - 1]) | (rank[then] != rank[then - 1] + 1)
    return bool(apart.any())


def _intermediate(log: LogArrays, order: VersionOrder) -> Cases:
    """G1b. The last that an operation polled of a key is not the last that another sent to it."""
    polled, sent = log.polled, log.sent
    row = ends(polled.op, polled.key) if sent.step.any() else np.empty(0, np.int64)
    row = row[(polled.value[row] != CORRUPT) & (polled.value[row] < len(sent))]
    did = happened(log, order)
    code = polled.value[row]
    last = ends(sent.op, sent.key)
    final = last[np.searchsorted(last, code)]
    inside = (sent.op[code] != polled.op[row]) & did[sent.op[code]] & did[polled.op[row]]
    inside &= (sent.step[final] > sent.step[code]) & (order.first_rank[final] != UNKNOWN)
    inside &= order.first_rank[final] > order.first_rank[code]
    row, code, final = row[inside], code[inside], final[inside]
    return cases(
        Anomaly.G1B,
        polled.key[row],
        one=sent.op[code],
        other=polled.op[row],
        one_offset=sent.offset[final],
        other_offset=polled.offset[row],
        one_value=final.astype(np.int32),
        other_value=code,
    )


class _Search:
    """Looks through one layer after the other; a cycle of an earlier layer is not reported
    again."""

    def __init__(self, ops: LogOperations, found: Mapping[Dependency, Dependencies]) -> None:
        """Nodes on no cycle of any kind are dropped."""
        self._ops = ops
        self._over: Flags = (ops.outcome == Outcome.OK) & (ops.complete != NEVER)
        named = [part for one in found.values() for part in (one.before, one.after)]
        nodes = np.unique(np.concatenate(named)).astype(np.int64)
        ends = self._over[nodes]
        labels = np.full(len(ops), -1, np.int32)
        labels[nodes] = components(ops, nodes, ends, found.values(), real_time=True)
        self._found = {
            kind: one.where((labels[one.before] >= 0) & (labels[one.before] == labels[one.after]))
            for kind, one in found.items()
        }
        self._nodes: Ints = nodes[labels[nodes] >= 0]
        self._ends: Flags = self._over[self._nodes]
        self._shown: list[tuple[frozenset[Dependency], int]] = []  # kinds, and a node
        self._purse = Purse()

    def layer(self, layer: _Layer) -> Iterator[tuple[Anomaly, Cycle]]:
        """Each component that no narrower one explains, with its name."""
        if not len(self._nodes):
            return
        rows = [one for kind, one in self._found.items() if kind in layer.kinds]
        labels = components(self._ops, self._nodes, self._ends, rows, real_time=_RT in layer.kinds)
        known = {int(labels[node]) for kinds, node in self._shown if kinds <= layer.kinds}
        fresh = ~np.isin(labels, [-1, *known])
        steps = self._steps(labels, fresh, rows)
        for label, members in _by_label(labels, fresh):
            cycle, single = self._shortest(layer, members, steps.get(label, []))
            self._shown.append((layer.kinds, int(members[0])))
            yield (layer.single or layer.anomaly) if single else layer.anomaly, cycle

    def _shortest(
        self, layer: _Layer, members: Ints, steps: list[DependencyStep]
    ) -> tuple[Cycle, bool]:
        """The shortest cycle, and whether it has exactly one rw."""
        if layer.single is not None:
            anti = [step for step in steps if step.kind is _RW]
            others = [step for step in steps if step.kind is not _RW]
            single = self._component(layer, members, others).shortest_with_one(anti)
            if single is not None:
                return single, True
        return self._component(layer, members, steps).shortest(), False

    def _component(self, layer: _Layer, members: Ints, steps: list[DependencyStep]) -> Component:
        return Component(
            operations=self._nodes[members].tolist(),
            steps=steps,
            span=self._span,
            real_time=_RT in layer.kinds,
            purse=self._purse,
        )

    def _span(self, op: int) -> tuple[int, int | None]:
        ops = self._ops
        return int(ops.invoke[op]), int(ops.complete[op]) if self._over[op] else None

    def _steps(
        self, labels: Codes, fresh: Flags, rows: list[Dependencies]
    ) -> dict[int, list[DependencyStep]]:
        """By component: the dependencies between its operations, each kind once for a pair."""
        steps: dict[int, list[DependencyStep]] = {}
        for one in rows:
            before = np.searchsorted(self._nodes, one.before)
            after = np.searchsorted(self._nodes, one.after)
            inside = np.flatnonzero((labels[before] == labels[after]) & fresh[before])
            pairs = before[inside] * len(self._nodes) + after[inside]
            for row in inside[np.unique(pairs, return_index=True)[1]].tolist():
                steps.setdefault(int(labels[before[row]]), []).append(_step(one, row))
        return steps


def _step(one: Dependencies, row: int) -> DependencyStep:
    return DependencyStep(
        before=int(one.before[row]),
        after=int(one.after[row]),
        kind=one.kind,
        key=int(one.key[row]),
        one=int(one.one[row]),
        other=int(one.other[row]),
    )


def _by_label(labels: Codes, fresh: Flags) -> Iterator[tuple[int, Ints]]:
    """The nodes of each component, the smallest components first."""
    nodes = np.flatnonzero(fresh)
    nodes = nodes[np.argsort(labels[nodes], kind="stable")]
    parts = np.split(nodes, np.flatnonzero(np.diff(labels[nodes])) + 1) if len(nodes) else []
    for part in sorted(parts, key=len):
        yield int(labels[part[0]]), part


def _cases(anomaly: Anomaly, those: list[Cycle]) -> Cases:
    """The shortest first."""
    those = sorted(those, key=lambda cycle: len(cycle.steps))
    told = [next(step for step in cycle.steps if step.kind is not _RT) for cycle in those]
    return cases(
        anomaly,
        np.array([step.key for step in told], np.int32),
        one=np.array([step.before for step in told], np.int32),
        other=np.array([step.after for step in told], np.int32),
        one_value=np.array([step.one for step in told], np.int32),
        other_value=np.array([step.other for step in told], np.int32),
        cycles=tuple(those),
    )
