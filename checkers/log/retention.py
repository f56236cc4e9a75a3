"""What logs may have dropped on purpose, where the harness asked for no deletion: by retention.

A log start above records that were promised is no excuse for their absence unless retention may
have moved it: their time was over, or there were too many of them. How long that takes is what the
run was set to, and else Kafka's default, 7 days.
"""

from checkers.history.sealed_run import RunInfo

_MILLISECOND = 1_000_000
# In Kafka the first of them that is said holds, and -1 is no limit.
_UNITS_NS = {
    "retention.ms": _MILLISECOND,
    "log.retention.ms": _MILLISECOND,
    "log.retention.minutes": 60_000 * _MILLISECOND,
    "log.retention.hours": 3_600_000 * _MILLISECOND,
}
_USUAL_NS = 168 * _UNITS_NS["log.retention.hours"]
_SIZES = ("retention.bytes", "log.retention.bytes")
_POLICIES = ("cleanup.policy", "log.cleanup.policy")


def may_have_dropped(info: RunInfo) -> bool:
    """Whether retention may have dropped a record of this run."""
    told = {**info.settings, **info.load.get("configs", {})}
    by_size = any(int(told.get(name, -1)) >= 0 for name in _SIZES)
    if by_size or any("compact" in told.get(name, "") for name in _POLICIES):
        return True  # however young it is
    said_ns = [int(told[name]) * unit for name, unit in _UNITS_NS.items() if name in told]
    kept_ns = said_ns[0] if said_ns else _USUAL_NS
    if kept_ns < 0:
        return False
    if said_ns and not info.finished:
        return True  # nobody wrote down how long it took
    return kept_ns <= info.duration_ns
