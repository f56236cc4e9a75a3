"""Processes of containers that end although nobody asked them to are remembered when they ran."""

from collections.abc import Iterator

import pytest

from chaos.cluster.docker.clusters import PoweredDockerCluster
from chaos.cluster.interface import NodeStatus
from tests.container.clusters import ONE, TWO, cluster_of_stand_ins, run

TO_FAIL = 'touch "$(dirname "$(find / -name meta.properties)")/fails"'  # see `StandIn`


@pytest.fixture(scope="module")
def cluster() -> Iterator[PoweredDockerCluster]:
    with cluster_of_stand_ins("unasked") as made:
        yield made


def test_only_who_was_not_asked_to_end_is_told_also_when_it_was_started_again(
    cluster: PoweredDockerCluster,
) -> None:
    assert run(cluster.unasked_ends()) == []
    container = cluster._life.container(ONE)
    container.kill()
    container.wait()
    assert run(cluster.status(ONE)) is NodeStatus.OFF
    run(cluster.start(ONE))
    run(cluster.kill(ONE))
    run(cluster.start(ONE))
    run(cluster.stop(TWO))
    run(cluster.start(TWO))
    run(cluster.power_off([ONE, TWO]))
    run(cluster.start(ONE))
    run(cluster.start(TWO))
    (end,) = run(cluster.unasked_ends())
    assert (end.node, end.exit_code) == (ONE, 137)


def test_who_fails_as_it_is_told_to_stop_is_told(cluster: PoweredDockerCluster) -> None:
    before = run(cluster.unasked_ends())
    container = cluster._life.container(TWO)
    made, _ = container.exec_run(
        ["sh", "-c", 'touch "$(dirname "$(find / -name meta.properties)")/fails"']
    )
    assert made == 0
    assert run(cluster.stop(TWO)), "it was not killed"
    (failed,) = [end for end in run(cluster.unasked_ends()) if end not in before]
    assert (failed.node, failed.exit_code, failed.told_to_stop) == (TWO, 1, True)
    assert "a table is missing a leg" in failed.words
