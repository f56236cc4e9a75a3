"""CreateTopics and DeleteTopics."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from uuid import UUID

from node import limits
from node.controller import config_definitions, resource_configs
from node.controller.config_definitions import TOPIC_DEFINITIONS
from node.controller.decision import Decision, DecisionContext, RefusedError
from node.controller.image import Image, Topic
from node.controller.image.configurations import TOPIC
from node.controller.image.topics import is_legal
from node.controller.partitions.creation import (
    Places,
    check_assignment,
    check_room,
    new_partitions,
    place,
    require_active,
    room_for_partitions,
)
from node.errors import ErrorCode
from node.ids import METADATA_TOPIC, ZERO_UUID
from node.records.metadata import (
    ConfigRecord,
    MetadataRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from node.wire.configs import ConfigChange, ConfigEntry, ResourceChange
from node.wire.topic_changes import (
    BY_DEFAULT,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeletionResult,
    NewTopic,
    TopicResult,
)

_SET = 0
_Entries = tuple[tuple[str, str], ...]  # a topic's configuration


def create(context: DecisionContext, request: CreateTopicsRequest) -> Decision:
    """A topic is created as a whole or not at all; a refused one does not affect others. A topic
    named twice is refused once."""
    image = context.image.copy()  # with the topics of this request so far
    room = room_for_partitions(image)
    records: list[MetadataRecord] = []
    results: list[TopicResult] = []
    requested = Counter(each.name for each in request.topics)
    named = {each.name: each for each in request.topics}  # in the order of the request

    @cache
    def effective(entries: _Entries) -> tuple[ConfigEntry, ...]:
        """Mostly the same for all topics."""
        return _effective(context, image, dict(entries))

    for topic in named.values():
        try:
            if requested[topic.name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            made, result = _create_one(context, image, topic, room, effective)
        except RefusedError as refused:
            results.append(
                TopicResult(name=topic.name, error=refused.error, message=refused.message)
            )
            continue
        image.replay(made[0])
        room -= result.partitions + limits.NEW_TOPIC_AS_PARTITIONS
        records += made
        results.append(result)
    response = CreateTopicsResponse(results=tuple(results))
    return Decision(records=records, response=response, only_validated=request.validate_only)


def delete(context: DecisionContext, request: DeleteTopicsRequest) -> Decision:
    """A topic named twice is refused, once, and stays (`ControllerApis.deleteTopics`)."""
    requested = Counter(request.topics)
    records: list[MetadataRecord] = []
    results: list[DeletionResult] = []
    seen: set[UUID] = set()
    for each, times in requested.items():
        try:
            if times > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic.")
            topic = _found(context.image, each)
            if topic.id in seen:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic.")
        except RefusedError as refused:
            results.append(
                DeletionResult(
                    name=each.name, id=each.id, error=refused.error, message=refused.message
                )
            )
            continue
        seen.add(topic.id)
        records.append(RemoveTopicRecord(topic_id=topic.id))
        results.append(DeletionResult(name=topic.name, id=topic.id))
    return Decision(records=records, response=DeleteTopicsResponse(results=tuple(results)))


def _found(image: Image, requested: DeletedTopic) -> Topic:
    by_id = requested.id != ZERO_UUID
    if by_id and requested.name is not None:
        why = "You may not specify both topic name and topic id."
        raise RefusedError(ErrorCode.INVALID_REQUEST, why)
    if requested.name is None and not by_id:
        why = "Neither topic name nor id were specified."
        raise RefusedError(ErrorCode.INVALID_REQUEST, why)
    if requested.name is None:
        found = image.topics.find(requested.id)
        error = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        found = image.topics.named(requested.name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if found is None:
        raise RefusedError(error)
    return found


# --- one topic ---


def _create_one(
    context: DecisionContext,
    image: Image,
    topic: NewTopic,
    room: int,
    effective: Callable[[_Entries], tuple[ConfigEntry, ...]],
) -> tuple[list[MetadataRecord], TopicResult]:
    """The topic's own record first. Raises RefusedError."""
    _check_name(image, topic.name)
    configs = _configs(image, topic)
    room -= limits.NEW_TOPIC_AS_PARTITIONS
    if topic.assignments:
        places = _assigned(image, topic, room)
    else:
        places = _placed(context, image, topic, room)
    id_ = _new_id(image, context.rng)
    keys = [(id_, index) for index in range(len(places))]
    partitions = new_partitions(image, keys, places)
    result = TopicResult(
        name=topic.name,
        id=id_,
        partitions=len(places),
        replication=len(places[0]),
        configs=effective(
            tuple((each.name, each.value) for each in configs if each.value is not None)
        ),
    )
    return [TopicRecord(name=topic.name, topic_id=id_), *configs, *partitions], result


def _check_name(image: Image, name: str) -> None:
    if not is_legal(name):
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name '{name}' is illegal")
    if name == METADATA_TOPIC:  # its partition's log would be the metadata log of every broker
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Creation of {name} is prohibited.")
    if image.topics.named(name) is not None:
        raise RefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    rival = image.topics.rival(name)
    if rival is not None:
        raise RefusedError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {rival}",
        )


def _effective(
    context: DecisionContext, image: Image, entries: Mapping[str, str]
) -> tuple[ConfigEntry, ...]:
    """All of its effective configuration, as this controller knows it (KIP-525)."""
    return tuple(
        config_definitions.of_topic(context.own, image, key, entries)
        for key in sorted(TOPIC_DEFINITIONS)
    )


def _configs(image: Image, topic: NewTopic) -> list[ConfigRecord]:
    changes = tuple(
        ConfigChange(name=each.name, operation=_SET, value=each.value) for each in topic.configs
    )
    change = ResourceChange(type=TOPIC, name=topic.name, changes=changes)
    records, result = resource_configs.alter(image, change, is_new=True)
    if result.error != ErrorCode.NONE:
        raise RefusedError(result.error, result.message or "")
    return records


def _placed(context: DecisionContext, image: Image, topic: NewTopic, room: int) -> Places:
    settings = context.settings
    replication, partitions = topic.replication, topic.partitions
    if replication != BY_DEFAULT and replication <= 0:
        raise RefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions != BY_DEFAULT and partitions <= 0:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    replication = settings.replication if replication == BY_DEFAULT else replication
    partitions = settings.partitions if partitions == BY_DEFAULT else partitions
    check_room(partitions, room)
    places = place(image.brokers.all(), partitions, replication, context.rng)
    require_active(image, places, ErrorCode.INVALID_REPLICATION_FACTOR)
    return places


def _assigned(image: Image, topic: NewTopic, room: int) -> Places:
    """The replicas that the client assigned."""
    assignments = topic.assignments
    if (topic.partitions, topic.replication) != (BY_DEFAULT, BY_DEFAULT):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but the number of partitions or the "
            "replication factor was not set to -1.",
        )
    check_room(len(assignments), room)
    places = {each.index: tuple(int(broker) for broker in each.brokers) for each in assignments}
    wrong = (
        (len(places) != len(assignments), "a partition is assigned more than once"),
        (sorted(places) != list(range(len(places))), "partitions are to be numbered from 0"),
    )
    for is_wrong, why in wrong:
        if is_wrong:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment: {why}"
            )
    for replicas in places.values():
        check_assignment(image, replicas, len(places[0]))
    ordered = [places[index] for index in range(len(places))]
    require_active(image, ordered, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    return ordered


def _new_id(image: Image, rng: random.Random) -> UUID:
    """A random one (RFC 4122) that does not begin with a dash as text, as Kafka's do not."""
    while True:
        found = UUID(int=rng.getrandbits(128), version=4)
        is_dashed = found.bytes[0] >> 2 == 62
        if not is_dashed and image.topics.find(found) is None:
            return found
