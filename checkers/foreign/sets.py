"""Sets that only grow, read as a whole: `add` of an element, `read` of all.

    {:type :invoke, :f :add, :value 3, :process 0}
    {:type :ok, :f :read, :value #{1 3}, :process 1}

Such a history is linearizable if all reads can be put into one chain, each holding all that the one
before it held, and if no operation ended before one that has to come earlier began. An addition
comes before the first read that holds its element, and after the last that does not; elements that
were never read were added after all of them. Additions between two neighbours of the chain are
independent of each other, and so are equal reads. So stages of additions and of reads follow each
other, and an operation that ended before one of an earlier stage began refutes the history. Of
several additions of one element the first to begin counts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from checkers.foreign.accused import Accused
from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.foreign_values import ABSENT, EdnSet, Value, render
from checkers.foreign.keyed_calls import KeyedCall
from checkers.history.calls import Outcome

_SHOWN = 3  # elements in a sentence


@dataclass(slots=True)
class _Stage:
    """The additions after one read of the chain, up to the next; and the equal reads."""

    adds: list[KeyedCall] = field(default_factory=list)
    reads: list[KeyedCall] = field(default_factory=list)
    again: list[KeyedCall] = field(default_factory=list)  # in it or after it, of existing elements


def elements_of(value: Value, line: int) -> tuple[str, ...]:
    """The elements of a set or list; none for nil. Raises MalformedError for anything else."""
    if value is None:
        return ()
    if isinstance(value, EdnSet):
        return value.elements
    if isinstance(value, tuple):
        return tuple(map(render, value))
    found = "none" if value is ABSENT else excerpt(render(value))
    raise MalformedError(line, "a set such as #{1 2} or [1 2]", found)


def additions_and_reads(
    calls: Sequence[KeyedCall],
) -> tuple[dict[str, list[KeyedCall]], list[tuple[KeyedCall, tuple[str, ...]]]]:
    """Additions by their element, and successful reads with their elements.

    Raises MalformedError.
    """
    adds: dict[str, list[KeyedCall]] = {}
    for call in calls:
        if call.f == "add":
            adds.setdefault(_element(call), []).append(call)
    reads = [
        (call, elements_of(call.result, call.line))
        for call in calls
        if call.f != "add" and call.outcome is Outcome.OK and call.result is not None
    ]
    return adds, reads


def refute_set(calls: Sequence[KeyedCall], initial: frozenset[str]) -> Accused | None:
    """Why no order explains the calls on one set; None if one does."""
    adds, reads = additions_and_reads(calls)
    for call, elements in reads:
        accused = _of_one_read(call, elements, adds, initial)
        if accused is not None:
            return accused
    chain = sorted(((call, frozenset(held)) for call, held in reads), key=lambda one: len(one[1]))
    for (smaller, held), (larger, holds) in pairwise(chain):
        if not held <= holds:
            missing, more = _some(held - holds), _some(holds - held)
            return Accused(
                message=f"one read holds {missing} without {more}, another {more} without "
                f"{missing}: neither can come first",
                parts=((smaller, f"without {more}"), (larger, f"without {missing}")),
            )
    return _refuted(list(_stages(chain, adds, initial)))


def _element(call: KeyedCall) -> str:
    if call.given is ABSENT:
        raise MalformedError(call.pair.invoke.line, "an element to add", "none")
    return render(call.given)


def _of_one_read(
    call: KeyedCall,
    elements: Sequence[str],
    adds: dict[str, list[KeyedCall]],
    initial: frozenset[str],
) -> Accused | None:
    counts = Counter(elements)
    twice = [element for element, count in counts.items() if count > 1]
    if twice:
        return Accused(
            message=f"a read holds {_some(twice)} more than once", parts=((call, "no set does"),)
        )
    gone = initial - counts.keys()
    if gone:
        message = f"a read is without {_some(gone)}, which was there from the first"
        return Accused(message=message, parts=((call, f"without {_some(gone)}"),))
    for element in counts:
        if element in initial:
            continue
        tried = adds.get(element, [])
        if all(each.outcome is Outcome.FAIL for each in tried):
            why = "the adding of which had failed" if tried else "which was never added"
            return Accused(
                message=f"a read holds {element}, {why}",
                parts=(*((each, "failed") for each in tried[:1]), (call, f"holds {element}")),
                hint=f"if it was there before all additions: --initial '#{{{element}}}'",
            )
    return None


def _stages(
    chain: Sequence[tuple[KeyedCall, frozenset[str]]],
    adds: dict[str, list[KeyedCall]],
    initial: frozenset[str],
) -> Iterator[_Stage]:
    before: frozenset[str] = initial
    stage: _Stage | None = None
    for call, held in chain:
        if stage is None or held != before:
            if stage is not None:
                yield stage
            stage = _Stage()
            for element in held - before:
                happened = [one for one in adds[element] if one.outcome is not Outcome.FAIL]
                happened.sort(key=lambda one: one.pair.invoked)
                stage.adds.append(happened[0])
                stage.again += happened[1:]
            before = held
        stage.reads.append(call)
    if stage is not None:
        yield stage
    yield _Stage(
        again=[
            one
            for element, those in adds.items()
            if element not in before
            for one in those
            if one.outcome is Outcome.OK
        ]
    )


def _refuted(stages: Sequence[_Stage]) -> Accused | None:
    """By an operation that ended before one that has to come earlier began."""
    latest: KeyedCall | None = None  # to begin, of all that come before
    shown: KeyedCall | None = None  # a read of the same stage
    for stage in stages:
        for first, others in ((stage.adds, stage.again), (stage.reads, ())):
            for call in (*first, *others):
                if latest is not None and call.pair.completed < latest.pair.invoked:
                    return _late(latest, shown, call)
            for call in first:
                if latest is None or call.pair.invoked > latest.pair.invoked:
                    latest, shown = call, stage.reads[0]
    return None


def _late(latest: KeyedCall, shown: KeyedCall | None, call: KeyedCall) -> Accused:
    """`call` ended before `latest` began, which comes first; between them is what `shown` read."""
    began = f"began only when {_words(call)} had ended"
    if latest.f != "add" and call.f == "add":
        what = f"it does not hold {render(call.given)}, which had been added"
        parts = ((call, "had ended"), (latest, f"does not hold {render(call.given)}"))
        return Accused(message=f"a read {began}, and yet {what}", parts=parts)
    if latest.f != "add":
        parts = ((call, "holds more"), (latest, "holds less, and began later"))
        return Accused(message=f"a read {began}, and yet it holds less", parts=parts)
    element = render(latest.given)
    if call.f != "add":
        parts = ((call, f"holds {element}"), (latest, "began only then"))
        return Accused(message=f"a read held {element} before its addition began", parts=parts)
    assert shown is not None
    message = f"add {element} {began}, and yet a read holds {element} and not {render(call.given)}"
    between = (shown, f"holds {element}, not {render(call.given)}")
    return Accused(message=message, parts=((call, "had ended"), (latest, "began later"), between))


def _words(call: KeyedCall) -> str:
    return f"add {render(call.given)}" if call.f == "add" else "another"


def _some(elements: Sequence[str] | frozenset[str]) -> str:
    shown = sorted(elements)[:_SHOWN]
    more = len(elements) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
