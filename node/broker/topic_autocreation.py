"""Topics that somebody asks about and that there are not: they are made, where that is allowed
(auto.create.topics.enable, KIP-361; `DefaultAutoTopicCreationManager`).

Whoever asks is told UNKNOWN_TOPIC_OR_PARTITION meanwhile, and asks again. What becomes of the
request nobody is told: who asks again has it made once more.
"""

from collections.abc import Callable, Iterable

from node.broker.controller_link import ControllerLink
from node.broker.coordinators.offsets_topic import OFFSETS_TOPIC
from node.config import BrokerSettings
from node.errors import ErrorCode
from node.wire.apis import Response
from node.wire.create_topics import CreateTopicsRequest, NewTopic
from node.wire.topic_metadata import MetadataRequest, MetadataResponse

# That were asked for and are not made yet: no more of them are asked for. Kafka has no limit.
_MAX_ON_THEIR_WAY = 1_000


class TopicAutocreation:
    """`make_offsets_topic`: that one is made as coordinators need it, not as others are."""

    def __init__(
        self,
        settings: BrokerSettings,
        link: ControllerLink,
        make_offsets_topic: Callable[[], None],
        *,
        is_allowed: bool,
    ) -> None:
        self._settings = settings
        self._link = link
        self._make_offsets_topic = make_offsets_topic
        self._is_allowed = is_allowed
        self._on_their_way: set[str] = set()

    def make_missing(self, request: MetadataRequest, told: MetadataResponse) -> None:
        """Those that were asked about by name, and are not there."""
        if not self._is_allowed or not request.may_create:
            return
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._make(each.name for each in told.topics if each.name and each.error is unknown)

    def _make(self, names: Iterable[str]) -> None:
        wanted = []
        for name in names:
            if name == OFFSETS_TOPIC:
                self._make_offsets_topic()
            elif name not in self._on_their_way and len(self._on_their_way) < _MAX_ON_THEIR_WAY:
                self._on_their_way.add(name)
                wanted.append(name)
        if not wanted:
            return
        topics = tuple(
            NewTopic(
                name=name,
                partitions=self._settings.partitions,
                replication=self._settings.replication,
            )
            for name in wanted
        )

        def created(response: Response | None, mono_ns: int) -> None:  # noqa: ARG001 (OnResponse)
            self._on_their_way.difference_update(wanted)

        self._link.send(CreateTopicsRequest(topics=topics), created)
