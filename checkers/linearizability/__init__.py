"""Is a history linearizable? For registers with and without compare-and-set, maps, several at once,
mutexes, which are a compare-and-set each, and counters.

Real time is the order in which events were recorded, never a clock: operation a precedes b if a's
completion was recorded before b's invocation. Each key is decided alone, and how depends on its
operations (`choose`): values written once are swept in O(n) (`zones`, `blocks`, `quick`), all else
is searched by a just-in-time frontier (`frontier`, and its parts: `split`, `deadlines`, `slots`,
`configurations`), counters over the sums that they can have, maps over a table of their states and
several registers over the states that are met (`several_registers`, `states_met`), from cheap
searches that prove one side to expensive ones (`ladder`). A read of an impossible value needs no
search. What could not be decided within the budget is `unknown`. A history that is not linearizable
is reduced to a few calls that are not (`leaving_out`, `parts`) and put into words (`violation`).
Codes that point nowhere are refused (`well_formed`).

Importing this package compiles nothing.
"""

from functools import cache

from checkers.history.calls import Calls
from checkers.linearizability.decision import DEFAULT, Budget, Decision, KeyDecision, Witness

__all__ = ["DEFAULT", "Budget", "Decision", "KeyDecision", "Witness", "decide", "warm"]


def decide(calls: Calls, *, budget: Budget = DEFAULT, explain: bool = True) -> Decision:
    """Whether the calls are linearizable, by key; for a violation, the calls that show it.

    Finding those few calls costs more than the verdict; without `explain` there is no witness.

    A call that failed is ignored: whether a failed compare-and-set proves anything, and what a nil
    read means, was settled by the reader of the history, in the codes CAS_FAILED and ANY. `unknown`
    once the budget's work is spent: ten seconds or so, in less than 100 MiB beside the history and
    the tables that `Budget.cells` bounds. Raises ValueError for what is no history: a call that
    ends before it begins, two events with one index, a kind of step that the model does not have.
    """
    from checkers.linearizability import choose

    return choose.decide(calls, budget, explain)


@cache
def warm() -> None:
    """Compile the kernels, or load them from numba's cache, before a caller waits for a verdict.

    Once per process: the second time there is nothing to do.
    """
    from checkers.linearizability import choose, zones

    zones.warm()
    choose.warm()
