"""Whether lies are told about every check, of either target, and legal ones beside them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

from checkers.all_checks import CHECKS
from checkers.check import Check
from checkers.evidence.faults import Kind
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import RunInfo
from tests.lies.alteration import Alteration, Target
from tests.support.histories import run_info

LEAST = 2
_CHORES = (
    "deleting-topics",
    "deleting-records",
    "committing-offsets",
    "looking-up",
    "altering-configs",
    "transforming",
)


def uncovered(told: Sequence[Alteration]) -> Iterator[str]:
    """What is lacking, a sentence each."""
    lies = [each for each in told if each.is_lie]
    of_lies = Counter(check for each in lies for check in each.checks)
    of_legal = Counter(check for each in told if not each.is_lie for check in each.checks)
    seen = {(check, each.target) for each in lies for check in each.checks}
    known = list(dict.fromkeys(check.id for check in CHECKS))
    for strange in sorted((of_lies.keys() | of_legal.keys()) - set(known)):
        yield f"{strange}: there is no such check"
    for check in known:
        if of_lies[check] < LEAST:
            yield f"{check}: {of_lies[check]} lies, {LEAST} at least"
        if of_legal[check] < LEAST:
            yield f"{check}: {of_legal[check]} legal neighbours, {LEAST} at least"
        for target in sorted(targets_of(check), key=lambda each: each.value):
            if (check, target) not in seen:
                yield f"{check}: no lie of a run that is {target.value}"


def targets_of(check: str) -> set[Target]:
    """As what runs are judged by it, over plans of every kind."""
    return {target for each in CHECKS if each.id == check for target in _targets(each)}


def _targets(check: Check) -> set[Target]:
    infos = [info for info in _INFOS if check.applies(info)]
    return {Target.TRACED if Kind.TRACES in info.gives else Target.UNTRACED for info in infos}


def _infos() -> Iterator[RunInfo]:
    kinds = (HistoryKind.REGISTERS, HistoryKind.LOG)
    everything = tuple(Kind)
    less = tuple(kind for kind in everything if kind is not Kind.TRACES)
    recoveries: tuple[dict[str, str], ...] = ({}, {"recovery": "balanced"})
    for history, gives, settings in product(kinds, (everything, less), recoveries):
        traces = Kind.TRACES in gives
        yield run_info(
            history=history,
            gives=gives,
            target="node 1" if traces else "kafka 4.3.1",
            runtime="sim" if traces else "docker",
            roles={"1": "broker", "2": "broker", "3": "broker", "4": "controller"}
            if history is HistoryKind.LOG
            else {},
            load={"chores": _CHORES, "describers": 1, "transactional": True},
            to_show=("q.loaded",),
            settings=settings,
        )


_INFOS = tuple(_infos())
