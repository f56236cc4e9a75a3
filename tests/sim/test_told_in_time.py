"""Who waits at a broker is told in the step in which it can be, and what is due is done then.

A broker looks only at those whose partitions have moved, and at what else is due only when it can
be; here all is looked at, after every step.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.run.planning import Choices, plan_of
from chaos.scenario import SIM
from node.broker.broker import Broker
from node.ids import Now
from node.wire.alter_partition import AlterPartitionRequest


@pytest.mark.parametrize(
    ("scenario", "seed", "settings"),
    [
        ("isr-shrink-storm", 1, {}),
        ("isr-shrink-storm", 2, {"roles": "combined"}),
        ("last-replica-standing", 1, {}),
        ("heartbeat-cut", 1, {}),
        ("swarm-brokers", 1, {}),
        ("swarm-brokers", 2, {}),
    ],
)
def test_nobody_who_waits_is_overlooked(
    scenario: str,
    seed: int,
    settings: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    overlooked: list[str] = []
    waited = 0
    poll = Broker.poll

    def poll_and_look(self: Broker, now: Now) -> None:
        nonlocal waited
        poll(self, now)
        overlooked.extend(_fetches_overlooked(self))
        overlooked.extend(_produce_overlooked(self))
        overlooked.extend(_chores_overlooked(self, now))
        waited += bool(self._fetched._waiting) + bool(self._produced._waiting)

    monkeypatch.setattr(Broker, "poll", poll_and_look)
    chosen = Choices(scenario=scenario, seed=seed, duration_s=2.0, runtime=SIM, settings=settings)
    plan = plan_of(chosen)
    launch(plan, tmp_path, ConsoleProgress(quiet=True), page=False)
    assert waited > 100
    assert overlooked == []


def _fetches_overlooked(broker: Broker) -> Iterator[str]:
    fetches = broker._fetched
    if broker.replicas.moved:
        assert broker.deadline_ns() == 0, "the next step is to come at once"
        return
    for _, asked in fetches._waiting.all():
        session = asked.session
        entries = () if session is None else session.entries.values()
        in_session = [entry.asked for entry in entries]
        found = fetches._look(asked, in_session or asked.request.partitions)
        if found and fetches._is_enough(replace(asked, sizes={}), found):
            yield str(asked.request)


def _chores_overlooked(broker: Broker, now: Now) -> Iterator[str]:
    known_ns, link = broker._chores_ns, broker._link
    if known_ns is not None and broker._earliest_chore_ns() < known_ns:
        yield f"at {now.mono_ns}: something is due before {known_ns}"
    life, told = broker.lifecycle, broker._life._told
    if told is None or told[1:] != (life.epoch, life.is_fenced):
        yield f"at {now.mono_ns}: {told} is told of its life, and that has changed"
    if link._at is not None and now.mono_ns >= link._paused_until_ns:
        for each in link._waiting:
            waits_for_version = link._is_asked and isinstance(each.request, AlterPartitionRequest)
            if not waits_for_version:
                yield f"at {now.mono_ns}: {each.request} is not sent"
    if broker.follower.applied != broker._followed and broker._may_follow():
        yield f"at {now.mono_ns}: replicas were not told of {broker.follower.applied}"


def _produce_overlooked(broker: Broker) -> Iterator[str]:
    for _, waiting in broker._produced._waiting.all():
        for each in waiting.appended:
            if each.held is None:
                continue
            replica = each.held.replica
            leads = replica.leading is not None and replica.leader_epoch == each.leader_epoch
            if not leads or replica.acknowledgement(each.end) is not None:
                yield str(each)
