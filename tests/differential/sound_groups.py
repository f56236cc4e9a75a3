"""Sound requests to the coordinator of groups: consumers that are alone in their group, so that
nobody waits for others, and commits for groups that nobody joins."""

from collections.abc import Mapping
from random import Random

from tests.differential.model import Known, Model
from tests.differential.sound_values import Sound, SoundOf
from tests.differential.topics import KEPT, OFFSETS_LED_BY
from tests.fuzz.drawing import Draw, one_of

JOINED, COMMITTED = ("j", "k", "l"), ("g", "h")
# Longer than any run: nobody is left out because one of the two clusters is slower.
_SESSION_MS, _REBALANCE_MS = 1_800_000, 1_700_000


def _found(rng: Random, _model: Model, _known: Known) -> Sound:
    names = one_of(*JOINED, *COMMITTED)
    values = {
        "key": names,
        "coordinator_keys[]": names,
        "coordinator_keys": one_of(1, 2),
        "key_type": one_of(0),
    }
    return Sound(broker=rng.choice((1, 2, 3)), values=values)


def _joined(rng: Random, _model: Model, known: Known) -> Sound:
    group = rng.choice(JOINED)
    values = {
        "group_id": one_of(group),
        "member_id": one_of(known.members.get(group, "")),
        "session_timeout": one_of(_SESSION_MS),
        "rebalance_timeout": one_of(_REBALANCE_MS),
        "protocol_type": one_of("consumer"),
        "protocols": one_of(1),
        "JoinGroupRequestProtocol.name": one_of("range"),
        "metadata": one_of(b"m", b"n"),
    }
    return Sound(broker=OFFSETS_LED_BY, values=values)


def _as_member(
    rng: Random, model: Model, known: Known, *, with_share: bool = False
) -> dict[str, Draw] | None:
    """Of the newest generation of a group; None: nobody is in any."""
    groups = [
        group
        for group, member in model.members.items()
        if member.generation is not None and (member.has_share or not with_share)
    ]
    if not groups:
        return None
    group = rng.choice(groups)
    generation = one_of(model.members[group].generation)
    return {
        "group_id": one_of(group),
        "member_id": one_of(known.members[group]),
        "generation_id": generation,
        "generation_id_or_member_epoch": generation,
        "protocol_type": one_of("consumer"),
        "protocol_name": one_of("range"),
    }


def _synced(rng: Random, model: Model, known: Known) -> Sound | None:
    values = _as_member(rng, model, known)
    if values is None:
        return None
    shares = {"assignments": one_of(1), "assignment": one_of(b"share")}
    return Sound(broker=OFFSETS_LED_BY, values={**values, **shares})


def _heard_of(rng: Random, model: Model, known: Known) -> Sound | None:
    values = _as_member(rng, model, known)
    return None if values is None else Sound(broker=OFFSETS_LED_BY, values=values)


def _left(rng: Random, model: Model, known: Known) -> Sound | None:
    """Also who has an id alone."""
    if not model.members:
        return None
    group = rng.choice(sorted(model.members))
    values = {
        "group_id": one_of(group),
        "member_id": one_of(known.members[group]),
        "members": one_of(1),
    }
    return Sound(broker=OFFSETS_LED_BY, values=values)


def _offsets(rng: Random) -> dict[str, Draw]:
    name = rng.choice(sorted(KEPT))
    index = one_of(rng.randrange(len(KEPT[name])))
    return {
        "OffsetCommitRequestTopic.name": one_of(name),
        "OffsetFetchRequestTopic.name": one_of(name),
        "OffsetFetchRequestTopics.name": one_of(name),
        "partition_index": index,
        "partition_indexes[]": index,
    }


def _commits(rng: Random, model: Model, known: Known) -> Sound:
    member = _as_member(rng, model, known, with_share=True) if rng.random() < 0.5 else None
    alone = {
        "group_id": one_of(*COMMITTED),
        "member_id": one_of(""),
        "generation_id": one_of(-1),
        "generation_id_or_member_epoch": one_of(-1),
    }
    metadata = {"committed_metadata": one_of(None, "m", "m" * 4096)}
    return Sound(broker=OFFSETS_LED_BY, values={**(member or alone), **_offsets(rng), **metadata})


def _offsets_fetched(rng: Random, _model: Model, _known: Known) -> Sound:
    values = {**_offsets(rng), "group_id": one_of(*COMMITTED, *JOINED), "groups": one_of(1)}
    return Sound(broker=OFFSETS_LED_BY, values=values)


def _described(rng: Random, model: Model, _known: Known) -> Sound | None:
    there = sorted(model.committed.union(model.members))
    if not there:
        return None
    values = {"groups": one_of(1), "groups[]": one_of(rng.choice(there))}
    return Sound(broker=OFFSETS_LED_BY, values=values)


def _listed(_rng: Random, _model: Model, _known: Known) -> Sound:
    none = {"states_filter": one_of(0), "types_filter": one_of(0)}
    return Sound(broker=OFFSETS_LED_BY, values=none)


OF_GROUPS: Mapping[str, SoundOf] = {
    "FindCoordinator": _found,
    "JoinGroup": _joined,
    "SyncGroup": _synced,
    "Heartbeat": _heard_of,
    "LeaveGroup": _left,
    "OffsetCommit": _commits,
    "OffsetFetch": _offsets_fetched,
    "DescribeGroups": _described,
    "ListGroups": _listed,
}
