"""What logs may have dropped on purpose, where the harness asked for no deletion: by retention.

A log start above records that were promised is no excuse for their absence unless retention may
have moved it: their time was over, or there were too many of them. How long that takes is what the
run was set to, and else Kafka's default, 7 days.
"""

from checkers.history.sealed_run import RunInfo

_MILLISECOND = 1_000_000
_UNITS_NS = {
    "retention.ms": _MILLISECOND,
    "log.retention.ms": _MILLISECOND,
    "log.retention.minutes": 60_000 * _MILLISECOND,
    "log.retention.hours": 3_600_000 * _MILLISECOND,
}
_USUAL_NS = 168 * _UNITS_NS["log.retention.hours"]
# By these a log drops records however young they are.
_WHATEVER_THE_AGE = (
    "retention.bytes",
    "log.retention.bytes",
    "cleanup.policy",
    "log.cleanup.policy",
)


def may_have_dropped(info: RunInfo) -> bool:
    """Whether retention may have dropped a record of this run."""
    told = {**info.settings, **info.load.get("configs", {})}
    if any(name in told for name in _WHATEVER_THE_AGE):
        return True
    kept_ns = [int(told[name]) * unit for name, unit in _UNITS_NS.items() if name in told]
    if kept_ns and not info.finished:
        return True  # nobody wrote down how long it took
    return min(time for time in [*kept_ns, _USUAL_NS] if time >= 0) <= info.duration_ns
