"""Whether a fault took effect, decided from measurements. Pure: without effect it is False."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.cluster.interface import DiskSickness, FaultEvidence, Link, PowerCutMode
from checkers.verdict import counted

FORGOTTEN = "old"  # what the agent reads from a canary that lost its overwriting
FAILED = 1  # the exit code of a node after a disk failure, or a broken invariant
SIGKILLED = 137  # 128 + SIGKILL, as the engine reports it
IN_ORDER = (0, 143)  # of a process that was told to end and did; a JVM tells of the SIGTERM


@dataclass(frozen=True, slots=True)
class Passage:
    """Bytes that a link took in and passed on, in one direction."""

    received: int = 0
    sent: int = 0

    @property
    def swallowed(self) -> int:
        return self.received - self.sent

    def __sub__(self, before: "Passage") -> "Passage":
        return Passage(self.received - before.received, self.sent - before.sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A marked request that was sent along a link, and what the proxy did with it.

    `passage` is what the link's proxy counted upstream while probes were sent: at least this one,
    and whatever connections happened to close then.
    """

    size: int  # bytes
    passage: Passage = field(default_factory=Passage)
    answered: int = 0  # bytes that came back

    @property
    def swallowed(self) -> bool:
        return self.passage.swallowed >= self.size

    @property
    def passed(self) -> bool:
        """Sent alone says little: a connection that closes adds all that it ever passed on."""
        return self.passage.sent >= self.size and not self.swallowed


@dataclass(frozen=True, slots=True, kw_only=True)
class CutMeasured:
    """What was found out about one directed cut just before it was healed; `opposite` is its way
    back, which is `opposite_cut` or open. A link has a probe for each of its proxies, and none
    where nothing could be sent.

    `gaps` and `opposite_stops` are what the proxy itself says: where bytes of this direction were
    not stopped, and where those of the opposite one were. `swallowed` is read after the heal.
    """

    link: Link
    swallowed: int  # of source's bytes on their way to destination, since the cut
    while_probing: int  # of those: probes, answers to probes, and what else was sent meanwhile
    gaps: tuple[str, ...]
    probes: tuple[Probe, ...]
    opposite_cut: bool
    opposite: Passage  # of destination's bytes on their way to source, since the cut
    opposite_stops: tuple[str, ...]
    opposite_probes: tuple[Probe, ...]


def of_cut(seen: CutMeasured) -> FaultEvidence:
    """A cut bit when it was seen to stop bytes of its direction, on both paths, and no others.

    Proved for the moment of the heal, by effect: a marked request was taken in and not passed on;
    where the opposite is open, one against it arrived, and its answer was stopped. That nothing
    undid the cut before is not proved, nor that the nodes had anything to say meanwhile. What the
    answers' path does in a clean cut no probe can tell, since no request gets that far: there the
    proxy's own word must do, and it is asked in every case.

    What was swallowed before the probe is told and not relied on. A connection is counted when it
    closes; toxiproxy leaves out all that it passed on if the last write failed, and all that it
    took in if the heal closed it at a bad moment. So the sum may be too large or too small.
    """
    facts: dict[str, int | str | bool] = {
        "swallowed_bytes": max(seen.swallowed, seen.while_probing),
        "probe_swallowed_bytes": seen.while_probing,
        "idle_but_for_the_probe": seen.swallowed <= seen.while_probing,
        "opposite_cut": seen.opposite_cut,
        "opposite_passed_bytes": seen.opposite.sent,
        "opposite_swallowed_bytes": seen.opposite.swallowed,
    }
    lacking = _lacking(seen) or ("" if seen.opposite_cut else _not_one_way(seen))
    if lacking:
        return FaultEvidence(bit=False, what=lacking, facts=facts)
    what = f"{facts['swallowed_bytes']} bytes swallowed on {seen.link}"
    return FaultEvidence(bit=True, what=what, facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutMeasured:
    """What was found out about a node's shut entrance just before it was opened."""

    swallowed: int  # bytes of clients, of connections that have closed since it was shut
    probe: Passage  # what was counted while a marked request was sent
    probe_bytes: int
    answered: int  # bytes that came back to it
    open_ways: tuple[str, ...]  # which the proxy itself does not say it stops


def of_shut_out(seen: ShutMeasured) -> FaultEvidence:
    """Clients were shut out when a marked request was taken in, not passed on and not answered."""
    facts = {
        "swallowed_bytes": max(seen.swallowed, seen.probe.swallowed),
        "probe_swallowed_bytes": seen.probe.swallowed,
        "probe_answered_bytes": seen.answered,
    }
    lacking = ""
    if seen.open_ways:
        lacking = f"the proxy did not stop {' and '.join(seen.open_ways)}"
    elif seen.answered:
        lacking = "a marked request was answered"
    elif seen.probe.swallowed < seen.probe_bytes:
        lacking = "a marked request was not swallowed"
    what = lacking or f"{facts['swallowed_bytes']} bytes of clients swallowed"
    return FaultEvidence(bit=not lacking, what=what, facts=facts)


def _lacking(seen: CutMeasured) -> str:
    """Why bytes from source to destination may have arrived; "" if none could."""
    if not all(probe.swallowed for probe in seen.probes):
        return f"a marked probe along {seen.link} was not swallowed"
    if any(probe.answered > 0 for probe in seen.probes):
        return f"a marked probe along {seen.link} was answered"
    if not seen.probes and seen.swallowed <= 0:
        return f"nothing was swallowed on {seen.link}"
    if not seen.opposite_cut and any(probe.answered > 0 for probe in seen.opposite_probes):
        return f"an answer passed along {seen.link}"
    if seen.gaps:
        return f"the proxy did not stop {' and '.join(seen.gaps)} along {seen.link}"
    return ""


def _not_one_way(seen: CutMeasured) -> str:
    """Why bytes from destination to source may have been stopped; "" if they passed."""
    if not all(probe.passed for probe in seen.opposite_probes):
        return (
            f"a marked probe against {seen.link} did not pass: it cannot be told from a clean cut"
        )
    if seen.opposite_stops:
        return f"the proxy stopped {' and '.join(seen.opposite_stops)} against {seen.link} as well"
    if not seen.opposite_probes and seen.opposite.sent <= 0:
        return f"nothing passed against {seen.link}: it cannot be told from a clean cut"
    return ""


def of_slow_links(latency_ms: int, answers_ms: Mapping[Link, float]) -> FaultEvidence:
    """Links were slow when every probe waited for its way there and its answer's way back."""
    facts: dict[str, int | str | bool] = {
        f"{link} answer_ms": round(answer) for link, answer in answers_ms.items()
    }
    if not answers_ms:
        return FaultEvidence(
            bit=False, what="no two running nodes had a link that could be probed", facts=facts
        )
    quickest = min(answers_ms.values())
    return FaultEvidence(
        bit=0 < 2 * latency_ms <= quickest,
        what=f"an answer between nodes took {quickest:.0f} ms at least",
        facts=facts,
    )


def of_flaky_links(resets: Mapping[Link, int]) -> FaultEvidence:
    """Links were flaky when a connection on one of them was reset for that reason.

    Which connections are made, and when something is said on them, is the nodes' affair.
    """
    total = sum(resets.values())
    facts: dict[str, int | str | bool] = {f"{link} resets": n for link, n in resets.items() if n}
    return FaultEvidence(
        bit=total > 0,
        what=f"{counted(total, 'connection was', 'connections were')} reset",
        facts=facts,
    )


def of_sick_disk(sickness: DiskSickness, syncs: int, exit_code: int) -> FaultEvidence:
    """A slow disk bit when a sync was slow; any other when the node died of it."""
    if sickness is DiskSickness.SLOW:
        facts: dict[str, int | str | bool] = {"slow_syncs": syncs}
        return FaultEvidence(
            bit=syncs > 0, what=f"{counted(syncs, 'sync was', 'syncs were')} slow", facts=facts
        )
    died = exit_code == FAILED
    what = "the node died of its disk" if died else "the node never met the trouble of its disk"
    return FaultEvidence(bit=died, what=what, facts={"exit_code": exit_code})


def of_clock(shown_ms: int, asked_ms: int) -> FaultEvidence:
    """A clock went wrong when, read back, it is as far off true time as it was asked to be."""
    return FaultEvidence(
        bit=shown_ms == asked_ms,
        what=f"its time of day is {shown_ms} ms off true time",
        facts={"offset_ms": shown_ms},
    )


def of_clock_rate(shown: float, asked: float) -> FaultEvidence:
    """A clock went at another rate when it was seen to, over some time."""
    return FaultEvidence(
        bit=abs(shown - asked) < 0.001 * asked,
        what=f"its clock goes {shown:.4g} times as fast as true time",
        facts={"rate_ppm": round(shown * 1e6)},
    )


def of_kill(running_before: bool, running_after: bool, exit_code: int) -> FaultEvidence:
    """A kill bit when a process that ran is gone by that signal.

    A node that was dead already, or ended by itself, was not killed. Not proved: that the signal
    was ours (the kernel, out of memory, sends the same), or that the node was busy.
    """
    bit = running_before and not running_after and exit_code == SIGKILLED
    if bit:
        what = "the process is gone by SIGKILL"
    elif not running_before:
        what = "no process ran that could be killed"
    elif running_after:
        what = "the process runs on"
    else:
        what = f"the process ended by itself, with exit code {exit_code}"
    facts = {"ran": running_before, "runs": running_after, "exit_code": exit_code}
    return FaultEvidence(bit=bit, what=what, facts=facts)


def of_wipe(before: str, after: str, *, emptied: bool) -> FaultEvidence:
    """A wipe bit when the old log directory was gone, and the new one has another directory id."""
    bit = emptied and bool(after) and after != before
    if bit:
        what = f"the disk is a new one, with directory id {after}"
    elif not emptied:
        what = "the old log directory is still on the disk"
    else:
        what = f"the disk has the directory id {after}, as before" if after else "no format"
    facts: dict[str, int | str | bool] = {
        "directory_id_before": before,
        "directory_id_after": after,
        "emptied": emptied,
    }
    return FaultEvidence(bit=bit, what=what, facts=facts)


def of_pause(states: str) -> FaultEvidence:
    """A pause bit when the node has threads and every one of them stands still.

    A thread in uninterruptible sleep (D) counts: it stops before it returns from the kernel, so it
    can do nothing that others see. True of the moment of looking; the nemesis looks again, through
    the node's status, before it resumes.
    """
    moving = sum(state in "RS" for state in states)
    if not states:
        what = "it has no process any more"
    elif moving:
        what = f"{moving} of {len(states)} threads go on"
    else:
        what = f"{counted(len(states), 'thread')} stopped"
    bit = bool(states) and moving == 0
    return FaultEvidence(bit=bit, what=what, facts={"threads": len(states), "moving": moving})


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCutMeasured:
    """What is known of a power cut; `canary` is empty until the disk was looked at again."""

    mode: PowerCutMode
    threads_stopped: int
    threads_moving: int  # may acknowledge an fsync that the cut undoes: an unsound cut
    overwritten: bool  # the new bytes of the canary could be read before the cut
    exit_code: int
    canary: str = ""
    trouble: str = ""  # what syncs were made to be before the cut
    troubled: int = 0  # how many were
    stopped: bool = False  # its process had ended in good order when the power failed
    synced: bool = False  # and then all of the disk was synced


def of_power_cut(seen: PowerCutMeasured) -> FaultEvidence:
    """A power cut bit when an unsynced overwriting was visible before it, and is forgotten.

    Proves that what this file system had not written at the cut is gone, and that no process could
    acknowledge anything during it. Neither an fsync nor a journal commit of other files saves the
    canary: it is overwritten in place, in blocks that data=ordered does not wait for. A `sync` of
    the whole machine between the overwriting and the cut does, and the run is void: its disk had
    nothing to forget. Not proved: that the node had written anything unsynced. Where the process
    had been stopped before, it must have ended by itself: what was killed says nothing of its disk.
    """
    facts: dict[str, int | str | bool] = {
        "mode": str(seen.mode),
        "threads_stopped": seen.threads_stopped,
        "threads_moving": seen.threads_moving,
        "canary_overwritten": seen.overwritten,
        "canary": seen.canary or "not looked at yet",
        "exit_code": seen.exit_code,
    }
    if seen.trouble:
        facts[f"{seen.trouble}_syncs"] = seen.troubled
    if seen.stopped:
        facts["synced"] = seen.synced
    if not seen.canary:
        what = "the canary has not been looked at: start the node first"
    elif not seen.stopped and seen.threads_moving:
        what = f"{counted(seen.threads_moving, 'thread')} ran on during the cut"
    elif not seen.stopped and not seen.threads_stopped:
        what = "it had no process any more when the power was to fail"
    elif not seen.overwritten:
        what = "the canary was not overwritten before the cut"
    elif seen.canary != FORGOTTEN:
        what = "the unsynced overwriting of the canary survived: the disk forgot nothing"
    elif seen.stopped and seen.exit_code not in IN_ORDER:
        what = f"the process ended with exit code {seen.exit_code}, not in good order"
    elif not seen.stopped and seen.exit_code != SIGKILLED:
        what = f"the process ended with exit code {seen.exit_code}, not by the cut"
    elif seen.trouble and not seen.troubled:
        what = f"no sync was {seen.trouble} before the cut"
    else:
        what = "the disk forgot an unsynced overwriting of the canary"
        if seen.stopped:
            what += ", made after the process had ended in good order"
        if seen.trouble:
            what += f", after {counted(seen.troubled, f'{seen.trouble} sync')}"
        return FaultEvidence(bit=True, what=what, facts=facts)
    return FaultEvidence(bit=False, what=what, facts=facts)
