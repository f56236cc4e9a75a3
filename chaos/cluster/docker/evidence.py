"""Whether a fault bit, decided from what was measured. Pure: a fault without effect is False."""

from collections.abc import Mapping
from dataclasses import dataclass

from chaos.cluster.docker.metrics import Passage
from chaos.cluster.interface import Evidence, Link, PowerCutMode

SIGKILLED = 137  # 128 + SIGKILL, as the engine reports it


@dataclass(frozen=True, slots=True, kw_only=True)
class CutMeasured:
    """Byte counts of one directed cut, from the cut on.

    `swallowed` is complete (read after the heal). `opposite` was read just before the heal, which
    itself closes connections and may lose what they had in flight.
    """

    link: Link
    swallowed: int  # of source's bytes on their way to target
    probe: Passage  # the part that was counted while marked probes were sent
    probe_answered: int  # bytes that came back to the probe: none may
    opposite_cut: bool
    opposite: Passage  # of target's bytes on their way to source, its marked probe included


def of_cut(seen: CutMeasured) -> Evidence:
    """A cut bit when it swallowed bytes in its own direction and in no other."""
    facts: dict[str, int | str | bool] = {
        "swallowed_bytes": seen.swallowed,
        "probe_swallowed_bytes": seen.probe.swallowed,
        "idle_but_for_the_probe": seen.swallowed <= seen.probe.swallowed,
        "opposite_cut": seen.opposite_cut,
        "opposite_passed_bytes": seen.opposite.sent,
        "opposite_swallowed_bytes": seen.opposite.swallowed,
    }
    if seen.swallowed <= 0:
        what = f"nothing was swallowed on {seen.link}"
    elif seen.probe_answered > 0:
        what = f"a marked probe along {seen.link} was answered"
    elif not seen.opposite_cut and seen.opposite.swallowed != 0:
        what = f"{seen.opposite.swallowed} bytes against {seen.link} were swallowed as well"
    elif not seen.opposite_cut and seen.opposite.sent == 0:
        what = f"nothing passed against {seen.link}: it cannot be told from a clean cut"
    else:
        return Evidence(
            bit=True, what=f"{seen.swallowed} bytes swallowed on {seen.link}", facts=facts
        )
    return Evidence(bit=False, what=what, facts=facts)


def of_slow_links(latency_ms: int, answers_ms: Mapping[Link, float]) -> Evidence:
    """Links were slow when every probe waited for its way there and its answer's way back."""
    facts: dict[str, int | str | bool] = {
        f"{link} answer_ms": round(answer) for link, answer in answers_ms.items()
    }
    if not answers_ms:
        return Evidence(bit=False, what="no two nodes run whose link could be probed", facts=facts)
    quickest = min(answers_ms.values())
    return Evidence(
        bit=quickest >= 2 * latency_ms,
        what=f"an answer between nodes took {quickest:.0f} ms at least",
        facts=facts,
    )


def of_kill(running_before: bool, running_after: bool, exit_code: int) -> Evidence:
    """A kill bit when a process that ran is gone by that signal."""
    bit = running_before and not running_after and exit_code == SIGKILLED
    what = "the process is gone by SIGKILL" if bit else "no running process was killed"
    facts = {"ran": running_before, "runs": running_after, "exit_code": exit_code}
    return Evidence(bit=bit, what=what, facts=facts)


def of_pause(states: str) -> Evidence:
    """A pause bit when the node has threads and every one of them stands still."""
    moving = sum(state in "RS" for state in states)
    bit = bool(states) and moving == 0
    what = f"{len(states)} threads stopped" if bit else f"{moving} of {len(states)} threads go on"
    return Evidence(bit=bit, what=what, facts={"threads": len(states), "moving": moving})


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCutMeasured:
    """What is known of a power cut; `canary` is empty until the disk was looked at again."""

    mode: PowerCutMode
    threads_stopped: int
    overwritten: bool  # the new bytes of the canary could be read before the cut
    exit_code: int
    canary: str = ""
    trouble: str = ""  # what syncs were made to be before the cut
    troubled: int = 0  # how many were


def of_power_cut(seen: PowerCutMeasured) -> Evidence:
    """A power cut bit when an unsynced overwriting was visible before it, and is forgotten."""
    facts: dict[str, int | str | bool] = {
        "mode": str(seen.mode),
        "threads_stopped": seen.threads_stopped,
        "canary_overwritten": seen.overwritten,
        "canary": seen.canary or "not looked at yet",
        "exit_code": seen.exit_code,
    }
    if seen.trouble:
        facts[f"{seen.trouble}_syncs"] = seen.troubled
    if not seen.canary:
        what = "the canary has not been looked at: start the node first"
    elif not seen.overwritten:
        what = "the canary was not overwritten before the cut"
    elif seen.canary != "old":
        what = "the unsynced overwriting of the canary survived: the disk forgot nothing"
    elif seen.exit_code != SIGKILLED:
        what = f"the process ended with exit code {seen.exit_code}, not by the cut"
    elif seen.trouble and not seen.troubled:
        what = f"no sync was {seen.trouble} before the cut"
    else:
        what = "the disk forgot an unsynced overwriting of the canary"
        if seen.trouble:
            what += f", after {seen.troubled} {seen.trouble} syncs"
        return Evidence(bit=True, what=what, facts=facts)
    return Evidence(bit=False, what=what, facts=facts)
