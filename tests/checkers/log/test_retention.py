"""Whether retention may have dropped a record, at every limit of what a run may say of it."""

import pytest

from checkers.history.sealed_run import RunInfo
from checkers.log.retention import may_have_dropped

SECOND = 1_000_000_000
WEEK = 168 * 3600 * SECOND


def info(
    duration_ns: int,
    settings: dict[str, str] | None = None,
    configs: dict[str, str] | None = None,
    *,
    finished: bool = True,
) -> RunInfo:
    return RunInfo(
        run_id="run",
        scenario="s",
        seed=1,
        target="kafka 4.3.1",
        runtime="docker",
        nodes=3,
        duration_s=1.0,
        started_utc="",
        started_mono_ns=0,
        duration_ns=duration_ns,
        finished=finished,
        settings=settings or {},
        load={"configs": configs or {}},
    )


def test_where_nothing_is_said_records_stay_for_a_week() -> None:
    assert not may_have_dropped(info(WEEK - 1))
    assert may_have_dropped(info(WEEK))
    assert not may_have_dropped(info(0, finished=False))


@pytest.mark.parametrize(
    ("name", "value", "kept_ns"),
    [
        ("log.retention.ms", "5000", 5 * SECOND),
        ("log.retention.minutes", "1", 60 * SECOND),
        ("log.retention.hours", "1", 3600 * SECOND),
        ("retention.ms", "0", 0),
    ],
)
def test_a_time_that_is_over_is_an_excuse(name: str, value: str, kept_ns: int) -> None:
    settings = {name: value}
    for said in (settings, None), (None, settings):
        assert may_have_dropped(info(kept_ns, *said))
        assert not may_have_dropped(info(kept_ns - 1, *said))
        assert may_have_dropped(info(0, *said, finished=False)), "nobody knows how long it took"


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        {"log.retention.ms": "-1"},
        {"log.retention.hours": "-1"},
        {"retention.ms": "-1", "log.retention.ms": "5"},  # that of the topic holds
        {"log.retention.hours": "1", "log.retention.ms": "-1"},  # the finest unit holds
    ],
)
def test_no_limit_of_time_is_none(said: dict[str, str], finished: bool) -> None:
    assert not may_have_dropped(info(2 * WEEK, said, finished=finished))
    assert not may_have_dropped(info(2 * WEEK, {}, said, finished=finished))


def test_the_limit_that_holds_is_the_one_that_counts() -> None:
    said = {"retention.ms": "5000", "log.retention.ms": "-1", "log.retention.hours": "0"}
    assert may_have_dropped(info(5 * SECOND, said))
    assert not may_have_dropped(info(5 * SECOND - 1, said))


@pytest.mark.parametrize(
    ("name", "value", "drops"),
    [
        ("log.retention.bytes", "1", True),
        ("retention.bytes", "0", True),
        ("retention.bytes", "-1", False),
        ("log.retention.bytes", "-1", False),
        ("cleanup.policy", "compact", True),
        ("log.cleanup.policy", "compact,delete", True),
        ("cleanup.policy", "delete", False),
    ],
)
def test_other_retention_goes_by_no_time(name: str, value: str, drops: bool) -> None:
    assert may_have_dropped(info(1, {}, {name: value})) is drops
    assert may_have_dropped(info(1, {name: value, "retention.ms": "-1"})) is drops
