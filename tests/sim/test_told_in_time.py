"""Who waits at a broker is told in the step in which it can be.

A broker looks only at those whose partitions have moved; here all are looked at, after every step.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.launch import launch
from chaos.planning import Choices, plan_of
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM
from node.broker.broker import Broker
from node.ids import Now


@pytest.mark.parametrize(
    ("scenario", "seed"),
    [("isr-shrink-storm", 1), ("swarm-brokers", 1), ("swarm-brokers", 2)],
)
def test_nobody_who_waits_is_overlooked(
    scenario: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlooked: list[str] = []
    waited = 0
    poll = Broker.poll

    def poll_and_look(self: Broker, now: Now) -> None:
        nonlocal waited
        poll(self, now)
        overlooked.extend(_fetches_overlooked(self))
        overlooked.extend(_produce_overlooked(self))
        waited += bool(self._fetched._waiting) + bool(self._produced._waiting)

    monkeypatch.setattr(Broker, "poll", poll_and_look)
    plan = plan_of(Choices(scenario=scenario, seed=seed, duration_s=2.0, runtime=SIM))
    launch(plan, tmp_path, ConsoleProgress(quiet=True), page=False)
    assert waited > 100
    assert overlooked == []


def _fetches_overlooked(broker: Broker) -> Iterator[str]:
    fetches = broker._fetched
    for _, waiting in fetches._waiting.all():
        if not waiting.keys.isdisjoint(broker.replicas.moved):
            assert broker.deadline_ns() == 0, "the next step is to come at once"
        elif fetches._is_enough(waiting.request, fetches._look(waiting.request)):
            yield str(waiting.request)


def _produce_overlooked(broker: Broker) -> Iterator[str]:
    for _, waiting in broker._produced._waiting.all():
        for each in waiting.appended:
            if each.held is None:
                continue
            replica = each.held.replica
            leads = replica.leading is not None and replica.leader_epoch == each.leader_epoch
            if not leads or replica.acknowledgement(each.end) is not None:
                yield str(each)
