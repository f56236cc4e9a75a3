"""What the harness has put beside the nodes may die in a run: nobody is accused of that."""

from collections.abc import Mapping, Sequence

from checkers.verdict import EventValue

_TIMES = ("t_ns", "t1_ns")


def why_machinery(
    failed: Mapping[str, str | int], witness: Sequence[Mapping[str, EventValue]]
) -> str:
    """Why what these events show may have come of a part of the harness that had failed by then;
    "" where none had, or where all of them are from before.

    An event that did not end is not from before, and of events without any time nobody knows.
    """
    if not failed:
        return ""
    since = int(failed["t_ns"])
    times = [event[name] for event in witness for name in _TIMES if name in event]
    known = [time for time in times if isinstance(time, int)]
    if known and len(known) == len(times) and max(known) < since:
        return ""
    return f"since {failed['part']} {failed['what']} after {since / 1e9:.1f} s"
