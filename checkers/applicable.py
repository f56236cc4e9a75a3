"""To which runs a check applies: what it needs, not every target or workload gives.

A check that looked at nothing is unknown, which is right where its evidence was lost, and wrong
where there never was any. So who registers a check says what it is about.
"""

from collections.abc import Callable
from functools import wraps

from checkers.history.sealed_run import Run
from checkers.verdict import CheckResult

Check = Callable[[Run], CheckResult | None]


def of_traces(check: Check) -> Check:
    """Only of targets that trace what they do. Apache Kafka is judged by other evidence."""

    @wraps(check)
    def applied(run: Run) -> CheckResult | None:
        return None if traces_nothing(run) else check(run)

    return applied


def of_registers(check: Check) -> Check:
    """Only of what clients did to registers."""

    @wraps(check)
    def applied(run: Run) -> CheckResult | None:
        return check(run) if run.info.workload == "register" else None

    return applied


def of_logs(check: Check) -> Check:
    """Only of what clients did to logs."""

    @wraps(check)
    def applied(run: Run) -> CheckResult | None:
        return check(run) if run.info.workload == "append" else None

    return applied


def traces_nothing(run: Run) -> bool:
    return run.info.target.startswith("kafka")
