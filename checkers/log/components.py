"""Operations that depend on each other in a circle: strongly connected components.

Real time has a row for every pair of operations one of which ended before the other began. Its
transitive reduction is nearly as large if many run at once, so completions are nodes of their own
here, a chain in the order of events: an operation leads to its completion, that to the next one,
and each to the operations that began right after it. Three rows per operation say the same.
"""

from collections.abc import Iterable

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.log.arrays import LogOperations
from checkers.log.dependencies import Dependencies


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
