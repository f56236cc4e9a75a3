"""Sound requests that speak of topics: what is there is described and changed, what is not is
created."""

from collections.abc import Mapping
from random import Random

from tests.differential.model import Known, Model
from tests.differential.sound_values import Sound, SoundOf, one_by_one
from tests.differential.topics import BROKERS, CHURNED, KEPT, MOVED, OFFSETS
from tests.differential.values import CONFIGS, no_id
from tests.fuzz.drawing import Draw, one_of

_MOST_PARTITIONS = 6


def _any_broker(rng: Random, values: Mapping[str, Draw], since: int = 0) -> Sound:
    return Sound(broker=rng.choice(BROKERS), values=values, since=since)


def _there(model: Model) -> tuple[str, ...]:
    return (*KEPT, *MOVED, *sorted(model.topics))


def _told(rng: Random, model: Model, _known: Known) -> Sound:
    names = {"MetadataRequestTopic.name": one_of(OFFSETS, *_there(model))}
    return _any_broker(rng, {**names, "topic_id": no_id})


def _told_by_id(rng: Random, model: Model, known: Known) -> Sound:
    return _any_broker(rng, {"topic_id": known.id_of(*_there(model))}, since=12)


def _cluster(rng: Random, _model: Model, _known: Known) -> Sound:
    return _any_broker(rng, {"endpoint_type": one_of(1)})


def _partitions(rng: Random, model: Model, _known: Known) -> Sound:
    return _any_broker(rng, {"TopicRequest.name": one_of(*_there(model))})


def _configs_described(rng: Random, model: Model, _known: Known) -> Sound:
    broker = rng.choice(BROKERS)
    kind, names = rng.choice(((2, _there(model)), (2, _there(model)), (4, ("", str(broker)))))
    values = {
        "resource_type": one_of(kind),
        "resource_name": one_of(*names),
        "resources": one_of(1),
        "configuration_keys[]": one_of(*(name for name, _ in CONFIGS)),
    }
    return Sound(broker=broker, values=values)


def _config(rng: Random) -> dict[str, Draw]:
    name, value = rng.choice(CONFIGS)
    return {
        "AlterableConfig.name": one_of(name),
        "CreatableTopicConfig.name": one_of(name),
        "value": one_of(value),
    }


def _configs_altered(rng: Random, model: Model, _known: Known) -> Sound | None:
    if not model.topics:
        return None
    values = {
        **_config(rng),
        "resource_type": one_of(2),
        "resource_name": one_of(*sorted(model.topics)),
        "resources": one_of(1),
        "configs": one_of(1),
        "config_operation": one_of(0, 0, 0, 1),
    }
    return _any_broker(rng, values)


def _new(rng: Random, model: Model) -> dict[str, Draw] | None:
    """A name that no topic has, nor one that metrics could not tell from it."""
    taken = {name.replace(".", "_") for name in model.topics}
    free = [name for name in CHURNED if name.replace(".", "_") not in taken]
    if not free:
        return None
    name = {"CreatableTopic.name": one_of(rng.choice(free)), "topics": one_of(1)}
    return {**name, **_config(rng), "CreatableTopic.configs": one_of(0, 0, 1)}


def _created(rng: Random, model: Model, _known: Known) -> Sound | None:
    new = _new(rng, model)
    if new is None:
        return None
    sizes = {"num_partitions": one_of(1, 2, 3), "replication_factor": one_of(1, 2, 3)}
    return _any_broker(rng, {**new, **sizes})


def _created_as_assigned(rng: Random, model: Model, _known: Known) -> Sound | None:
    new = _new(rng, model)
    if new is None:
        return None
    replicas = tuple(rng.sample(BROKERS, rng.randint(1, len(BROKERS))))
    assigned = {
        "num_partitions": one_of(-1),
        "replication_factor": one_of(-1),
        "assignments": one_of(1),
        "partition_index": one_of(0),
        "broker_ids": one_of(len(replicas)),
        "broker_ids[]": one_by_one(replicas),
    }
    return _any_broker(rng, {**new, **assigned})


def _deleted(rng: Random, model: Model, _known: Known) -> Sound | None:
    if not model.topics:
        return None
    name = one_of(rng.choice(sorted(model.topics)))
    by_name = {"DeleteTopicState.name": name, "DeleteTopicState.topic_id": no_id}
    return _any_broker(rng, {**by_name, **_ONE_DELETED, "topic_names[]": name})


def _deleted_by_id(rng: Random, model: Model, known: Known) -> Sound | None:
    if not model.topics:
        return None
    name = rng.choice(sorted(model.topics))
    by_id = {"DeleteTopicState.name": one_of(None), "DeleteTopicState.topic_id": known.id_of(name)}
    return _any_broker(rng, {**by_id, **_ONE_DELETED}, since=6)


_ONE_DELETED: Mapping[str, Draw] = {"topics": one_of(1), "topic_names": one_of(1)}


def _more_partitions(rng: Random, model: Model, _known: Known) -> Sound | None:
    small = sorted(name for name, count in model.topics.items() if count < _MOST_PARTITIONS)
    if not small:
        return None
    name = rng.choice(small)
    values = {
        "CreatePartitionsTopic.name": one_of(name),
        "topics": one_of(1),
        "count": one_of(model.topics[name] + 1),
        "assignments": one_of(None),
    }
    return _any_broker(rng, values)


def _elected(rng: Random, model: Model, _known: Known) -> Sound:
    name, index = rng.choice(sorted(model.moved))
    values = {
        "TopicPartitions.topic": one_of(name),
        "topic_partitions": one_of(1, None),
        "partitions[]": one_of(index),
        "election_type": one_of(0),
    }
    return _any_broker(rng, values)


def _moved(rng: Random, model: Model, _known: Known) -> Sound:
    """The leader stays, unless it has no replica any more: an election is needed afterwards."""
    name, index = rng.choice(sorted(model.moved))
    replicas = tuple(rng.sample(BROKERS, 2))
    values = {
        "ReassignableTopic.name": one_of(name),
        "topics": one_of(1),
        "partition_index": one_of(index),
        "replicas": one_of(len(replicas)),
        "replicas[]": one_by_one(replicas),
    }
    return _any_broker(rng, values)


def _nothing_special(rng: Random, _model: Model, _known: Known) -> Sound:
    return _any_broker(rng, {})


def _features(rng: Random, _model: Model, _known: Known) -> Sound:
    values = {
        "feature": one_of("eligible.leader.replicas.version"),
        "max_version_level": one_of(1),
        "upgrade_type": one_of(1),
        "feature_updates": one_of(1),
    }
    return _any_broker(rng, values)


OF_TOPICS: Mapping[str, SoundOf] = {
    "Metadata": _told,
    "Metadata by id": _told_by_id,
    "DescribeCluster": _cluster,
    "DescribeTopicPartitions": _partitions,
    "DescribeConfigs": _configs_described,
    "IncrementalAlterConfigs": _configs_altered,
    "CreateTopics": _created,
    "CreateTopics with assignments": _created_as_assigned,
    "DeleteTopics": _deleted,
    "DeleteTopics by id": _deleted_by_id,
    "CreatePartitions": _more_partitions,
    "ElectLeaders": _elected,
    "AlterPartitionReassignments": _moved,
    "ListPartitionReassignments": _nothing_special,
    "UpdateFeatures": _features,
}
