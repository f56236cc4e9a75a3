"""Does a healed cluster go on? If not, is a node to blame, or the machine?"""

from collections.abc import Iterator, Mapping

from checkers.check import check, everywhere
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

# The figures of a machine that had time for its nodes, in the seconds in which nothing came about.
# A node's shortest time-out is its election's, of a second: if the harness' own timer was later
# than that, a node's may have been, and elections can fail for ever. On a well-used machine some
# process waits for a core most of the time; it is starved only if hardly a moment is left.
STARVED = {
    "longest_late_ms": 1000.0,
    "late_share": 0.1,
    "cpu_share": 0.95,
    "io_share": 0.6,
    "memory_share": 0.2,
}


@check("recovers-when-healed", applies=everywhere, source="SIM", rests_on=(Kind.FAULTS,))
def recovers_when_healed(evidence: Evidence) -> CheckResult:
    """Once everything is healed and all processes run, the cluster is whole and writes are
    acknowledged within a bounded time, unless the machine had no time for the nodes.

    Before that, undisturbed nodes elect a leader if they are a majority of a quorum, and one of
    them leads each partition if they have members of its ISR, or of its ELR if the ISR is empty.
    Figures show whether the machine had time: how late the harness' own timers were, and for how
    long processes waited for CPU, disk and memory. Nothing excuses a node that ends by itself
    whenever it is started. In a simulated run time is virtual, and no machine is slow. If no
    majority of the voters' disks is left, nothing may come about any more, which
    `stops-without-a-majority` judges. Needs: run.json.
    """
    info = evidence.info
    lost = evidence.lost_majority
    if info.stuck and lost is not None and not info.unasked_ends:
        message = f"{info.stuck}; nor may it be: {lost}, and no majority is left"
        return CheckResult(verdict=Verdict.VALID, message=message, looked_at=1)
    if info.stuck:
        return _stuck(info)
    if not info.finished:
        message = "the run broke off before the cluster could be whole again"
        return CheckResult(verdict=Verdict.UNKNOWN, message=message)
    message = "the cluster was whole again in time, and writes were acknowledged"
    return CheckResult(verdict=Verdict.VALID, message=message, looked_at=1)


def _stuck(info: RunInfo) -> CheckResult:
    doubt = "" if info.stuck_for_sure else why_in_doubt(info.pressure)
    if doubt:
        return CheckResult(
            verdict=Verdict.UNKNOWN,
            message=f"{info.stuck}; but {doubt}: it cannot be decided whether a node is to blame",
            looked_at=1,
        )
    told = "" if info.stuck_for_sure else f"; the machine had time for it: {_in_words(info)}"
    return CheckResult(
        verdict=Verdict.INVALID,
        message=f"{info.stuck}{told}",
        looked_at=1,
        count=1,
        witness=tuple(_said_last(info))[:WITNESS_LIMIT],
    )


def why_in_doubt(figures: Mapping[str, float]) -> str:
    """Why the machine may be to blame; "" if it was shown not to be."""
    if "longest_late_ms" not in figures:
        return "it was not measured whether the machine was starved"
    beyond = {name: figures.get(name, 0.0) for name, most in STARVED.items()}
    beyond = {name: found for name, found in beyond.items() if found > STARVED[name]}
    told = ", ".join(f"{_WORDS[name].format(found)}" for name, found in beyond.items())
    return f"the machine was starved ({told})" if told else ""


_WORDS = {
    "longest_late_ms": "a timer of the harness was {:,.0f} ms late",
    "late_share": "its timers were late for {:.0%} of the time",
    "cpu_share": "processes waited for a core for {:.0%} of it",
    "io_share": "for a disk for {:.0%}",
    "memory_share": "for memory for {:.0%}",
}


def _in_words(info: RunInfo) -> str:
    return ", ".join(
        _WORDS[name].format(info.pressure[name]) for name in STARVED if name in info.pressure
    )


def _said_last(info: RunInfo) -> Iterator[Mapping[str, EventValue]]:
    for node, lines in info.last_words.items():
        for line in lines or ("it said nothing",):
            yield {"what": f"node {node} said last: {line}", "node": int(node)}
