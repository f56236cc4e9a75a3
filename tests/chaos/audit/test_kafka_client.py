"""What the library's clients make of brokers that change, and what we make of that."""

import asyncio
from collections.abc import Mapping

import pytest
from kafka import TopicPartition
from kafka.errors import NoError, NotCoordinatorError

from chaos.labs.audit import kafka_client
from chaos.labs.audit.kafka_client import KafkaClient
from tests.support.fake_cluster import FakeCluster


class StuckAdmin:
    """As kafka-python's: it keeps the coordinator that it was told of first."""

    made = 0

    def __init__(self, **_: object) -> None:
        StuckAdmin.made += 1
        self._is_right = StuckAdmin.made > 1

    def alter_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, object]
    ) -> Mapping[TopicPartition, type[Exception]]:
        del group
        return dict.fromkeys(offsets, NoError if self._is_right else NotCoordinatorError)

    def close(self) -> None:
        pass


def test_a_group_whose_coordinator_moved_is_asked_of_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_client, "KafkaAdminClient", StuckAdmin)
    client = KafkaClient(FakeCluster())
    asyncio.run(client.commit_offset("readers", "orders", 5))
    assert StuckAdmin.made == 2
