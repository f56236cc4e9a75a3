"""Values by which a request is done by both clusters, after all that was done before.

By kind of request; where there is nothing that could be done, it is one at the limits.
"""

from collections.abc import Mapping
from random import Random

from tests.differential.batches import of_producer, plain
from tests.differential.model import Known, Model
from tests.differential.sound_groups import OF_GROUPS
from tests.differential.sound_topics import OF_TOPICS
from tests.differential.sound_values import Sound, SoundOf
from tests.differential.topics import KEPT
from tests.fuzz.drawing import Draw, one_of

_LED = tuple(
    (name, index, replicas[0])
    for name, partitions in KEPT.items()
    for index, replicas in enumerate(partitions)
)
_LED_ALONE = tuple(each for each in _LED if each[0] == "one")


def sound(kind: str, rng: Random, model: Model, known: Known) -> Sound | None:
    """None: nothing of that kind can be done now."""
    return _OF_KINDS[kind](rng, model, known)


def _at_leader(
    rng: Random, known: Known, led: tuple[tuple[str, int, int], ...] = _LED
) -> tuple[str, int, dict[str, Draw], int]:
    """A partition, the values that name it, and its leader."""
    name, index, leader = rng.choice(led)
    values = {
        "topic": one_of(name),
        "topic_id": known.id_of(name),
        "index": one_of(index),
        "partition": one_of(index),
        "partition_index": one_of(index),
        "current_leader_epoch": one_of(0, -1),
        **{f"{each}.name": one_of(name) for each in _NAMING},
        "FetchTopic.topic": one_of(name),
    }
    return name, index, values, leader


_NAMING = ("TopicProduceData", "ListOffsetsTopic", "DeleteRecordsTopic")


def _produced(rng: Random, _model: Model, known: Known) -> Sound:
    _, _, values, leader = _at_leader(rng, known)
    return Sound(broker=leader, values={**values, "records": plain, "acks": one_of(-1)})


def _produced_in_order(rng: Random, model: Model, known: Known) -> Sound:
    name, index, values, leader = _at_leader(rng, known)
    sequence = model.sequences.get((name, index), 0)
    records = {"records": of_producer(sequence), "acks": one_of(-1)}
    return Sound(broker=leader, values={**values, **records})


def _produced_alone(rng: Random, _model: Model, known: Known) -> Sound:
    """The only replica has it at once, so that acks do not matter."""
    _, _, values, leader = _at_leader(rng, known, _LED_ALONE)
    return Sound(broker=leader, values={**values, "records": plain})


def _fetched(rng: Random, model: Model, known: Known) -> Sound:
    name, index, values, leader = _at_leader(rng, known)
    sought = {
        "fetch_offset": one_of(model.offset_in(rng, (name, index))),
        "last_fetched_epoch": one_of(0, -1),
        "session_id": one_of(0),
        "session_epoch": one_of(-1),
        "max_bytes": one_of(1 << 20, 1, 0),
        "partition_max_bytes": one_of(1 << 20, 1, 0),
    }
    return Sound(broker=leader, values={**values, **sought})


def _listed(rng: Random, _model: Model, known: Known) -> Sound:
    _, _, values, leader = _at_leader(rng, known)
    times = {"timestamp": one_of(-1, -2, 0, 1000, 1_700_000_001_000)}
    return Sound(broker=leader, values={**values, **times})


def _latest_listed(rng: Random, _model: Model, known: Known) -> Sound:
    _, _, values, leader = _at_leader(rng, known)
    return Sound(broker=leader, values=values, since=7)


def _deleted(rng: Random, model: Model, known: Known) -> Sound:
    name, index, values, leader = _at_leader(rng, known)
    start, end = (each.get((name, index), 0) for each in (model.starts, model.ends))
    return Sound(broker=leader, values={**values, "offset": one_of(start, min(start + 1, end))})


def _epoch_sought(rng: Random, _model: Model, known: Known) -> Sound:
    _, _, values, leader = _at_leader(rng, known)
    return Sound(broker=leader, values={**values, "leader_epoch": one_of(0)})


def _id_given(rng: Random, _model: Model, _known: Known) -> Sound:
    values = {
        "transactional_id": one_of(None),
        "transaction_timeout": one_of(1000),
        "producer_id": one_of(-1),
        "producer_epoch": one_of(-1),
    }
    return Sound(broker=rng.choice((1, 2, 3)), values=values)


_OF_KINDS: Mapping[str, SoundOf] = {
    "Produce": _produced,
    "Produce of a producer": _produced_in_order,
    "Produce to one replica": _produced_alone,
    "Produce unanswered": _produced_alone,
    "Fetch": _fetched,
    "ListOffsets": _listed,
    "ListOffsets of the latest time": _latest_listed,
    "DeleteRecords": _deleted,
    "OffsetForLeaderEpoch": _epoch_sought,
    "InitProducerId": _id_given,
    **OF_GROUPS,
    **OF_TOPICS,
}
