"""A setting that a release lacks is refused by its name; what every release has passes."""

import pytest

from chaos.cluster.targets.kafka import QUICK, SMALL
from chaos.cluster.targets.kafka_releases import CAME, WENT, why_lacking
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.named import target_named
from chaos.releases import NEWEST
from chaos.scenarios import SCENARIOS

RELEASES = (
    *(f"4.0.{patch}" for patch in range(3)),
    *(f"4.1.{patch}" for patch in range(3)),
    *("4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1", "4.4.0"),
)


@pytest.mark.parametrize(("came", "names"), CAME.items())
def test_what_came_with_a_release_is_refused_before_it(came: str, names: tuple[str, ...]) -> None:
    for name in names:
        assert why_lacking(came, name) == ""
        for release in RELEASES[: RELEASES.index(came)]:
            with pytest.raises(SettingError, match=f"^{name}=1: .* {release} .* came with {came}$"):
                target_named(f"kafka:{release}", {name: "1"})


@pytest.mark.parametrize(("went", "names"), WENT.items())
def test_what_went_with_a_release_is_refused_from_then_on(
    went: str, names: tuple[str, ...]
) -> None:
    for name in names:
        assert why_lacking(RELEASES[RELEASES.index(went) - 1], name) == ""
        for release in RELEASES[RELEASES.index(went) :]:
            assert why_lacking(release, name).endswith(f"it went with {went}")


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_has_what_the_harness_and_its_scenarios_set(release: str) -> None:
    for name in (*SMALL, *QUICK):
        assert why_lacking(release, name) == ""
    for scenario in SCENARIOS.values():
        for side in scenario.sides:
            told = {**scenario.settings, **side.settings}
            own = [name for name in told if "." in name]
            assert not [name for name in own if why_lacking(side.release or NEWEST, name)]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("log.retention.chek.interval.ms", "no release .* near it are log.retention.check"),
        ("qqq.www", "no release of Apache Kafka has such a setting$"),
    ],
)
def test_what_no_release_ever_had_is_refused(name: str, why: str) -> None:
    with pytest.raises(SettingError, match=f"^{name}=1: {why}"):
        target_named("kafka", {name: "1"})


def test_a_listener_may_have_settings_of_its_own() -> None:
    assert why_lacking("4.3.1", "listener.name.ext.max.connections") == ""


def test_releases_are_compared_as_numbers() -> None:
    assert why_lacking("4.10.0", "cordoned.log.dirs") == ""
    assert why_lacking("4.10.0", "group.share.enable")
