"""Parts of the harness may die in a run: no node is accused of the effects."""

from collections.abc import Mapping, Sequence

from checkers.verdict import EventValue

_TIMES = ("t_ns", "t1_ns")


def why_machinery(
    failed: Mapping[str, str | int], witness: Sequence[Mapping[str, EventValue]]
) -> str:
    """Why these events may come from a part of the harness that had failed by then; "" if none had,
    or if all of them came before.

    An event that did not end did not come before, and one without a time counts as if it had not.
    """
    if not failed:
        return ""
    since = int(failed["t_ns"])
    times = [event[name] for event in witness for name in _TIMES if name in event]
    known = [time for time in times if isinstance(time, int)]
    if known and len(known) == len(times) and max(known) < since:
        return ""
    return f"since {failed['part']} {failed['what']} after {since / 1e9:.1f} s"
