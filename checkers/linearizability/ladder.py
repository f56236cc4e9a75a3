"""From cheap to expensive: searches of one key, each of which may prove something.

A search under an assumption that makes it cheap proves one side only (`deadlines`); the ladder
goes on until something is proved or the budget is spent. It never guesses.
"""

from collections.abc import Iterator
from typing import NamedTuple

from checkers.linearizability import frontier
from checkers.linearizability.deadlines import EXACT, LATEST, NONE, STICKY, lives
from checkers.linearizability.decision import DEFAULT, Budget
from checkers.linearizability.frontier import DIED, NO_SLOT, SURVIVED, SearchEnd, search
from checkers.linearizability.split import Problem
from checkers.verdict import Verdict

WIDE = 8  # words: 512 operations open at a time


class Rung(NamedTuple):
    name: str
    bound: int  # how long pending operations live; see `deadlines`
    words: int
    room: int  # configurations
    share: float  # of the budget's work
    cut_allowed: bool = False


class Settled(NamedTuple):
    verdict: Verdict
    algorithm: str
    work: int
    peak: int
    end: SearchEnd  # of the last search
    rung: Rung


WIDEST = Rung("wide frontier", EXACT, WIDE, DEFAULT.configurations, 1.0)
FIRST = Rung("just-in-time frontier", EXACT, 1, 256, 0.02)


def _rungs(budget: Budget) -> Iterator[Rung]:
    most = budget.configurations
    yield FIRST
    yield Rung("frontier without what is pending", NONE, 1, 1024, 0.05)
    for life in (64, 512, 4096):
        yield Rung(f"frontier, pending for {life} events", life, 1, 1024, 0.05)
    yield Rung("frontier, few pending of a kind", LATEST, 1, 1024, 0.05)
    yield Rung("frontier, pending inexhaustible", STICKY, 1, 2048, 0.1)
    yield Rung("beam, pending for 64 events", 64, 1, 512, 0.1, cut_allowed=True)
    yield Rung("wide frontier", EXACT, 1, most, 0.3)
    yield Rung("beam", EXACT, WIDE, 512, 0.1, cut_allowed=True)
    yield WIDEST._replace(room=most)


def settle(problem: Problem, budget: Budget, first_state: int = 0) -> Settled:
    """Decide one key."""
    left = budget.work
    pending = bool(problem.pending.any())
    work, peak = 0, 0
    for rung in _rungs(budget):
        if rung.bound != EXACT and not pending:
            continue
        live = lives(problem, rung.bound)
        for words in sorted({rung.words, WIDE}):
            used = rung._replace(words=words, room=min(rung.room, budget.configurations))
            end = search(
                problem,
                live,
                words=words,
                room=used.room,
                limit=min(int(budget.work * rung.share), left - work),
                cut_allowed=rung.cut_allowed,
                first_state=first_state,
            )
            work += end.work
            peak = max(peak, end.peak)
            if end.status != NO_SLOT:
                break
        verdict = _proved(used, end)
        if verdict is not Verdict.UNKNOWN or work >= left:
            break
    return Settled(verdict, rung.name, work, peak, end, used)


def not_decided(problem: Problem, settled: Settled) -> str:
    """Which of its bounds the last search reached."""
    match settled.end.status:
        case frontier.NO_SLOT:
            return f"more than {64 * settled.rung.words} operations were under way at one moment"
        case frontier.NO_ROOM:
            return f"it could be in more than {settled.rung.room:,} ways at one moment"
        case frontier.NO_STATE:
            return f"it could be in more than {len(problem.met.mixed):,} states at one moment"
        case _:
            return f"not decided within {settled.work:,} steps"


def _proved(rung: Rung, end: SearchEnd) -> Verdict:
    """What the end of a search proves under its assumption."""
    if end.status == SURVIVED and rung.bound != STICKY:
        return Verdict.VALID
    if end.status == DIED and rung.bound in (EXACT, STICKY) and not end.cut:
        return Verdict.INVALID
    return Verdict.UNKNOWN
