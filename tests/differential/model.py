"""What both clusters have done so far, as their answers tell, and what each of them named itself.

So requests can go on from those before: they speak of topics that are there, of members that have
joined, and of the sequence that a producer has come to. What only one of the two has done is in no
model: each request is drawn from what both have.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.records.batch import read_header
from tests.differential.topics import CHURNED, MOVED, NO_NODE
from tests.fuzz.drawing import Draw

Place = tuple[str, int]  # a topic's name, and a partition
PRODUCER = 9  # whose sequences are kept in order
SILENCE = "silence"  # where the next request is answered: as it should be with acks=0


@dataclass
class Known:
    """What one cluster has named itself: topics, and the one member of each group."""

    topics: dict[str, UUID] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)  # how many each topic has
    members: dict[str, str] = field(default_factory=dict)  # by group

    def id_of(self, *names: str) -> Draw:
        """Of one of these topics; NOBODY's, where there is none of that name."""
        return lambda rng: self.topics.get(rng.choice(names), NO_NODE)

    @property
    def names(self) -> dict[UUID | str, str]:
        """What stands for ids when answers are compared."""
        of_topics: dict[UUID | str, str] = {topic: name for name, topic in self.topics.items()}
        return of_topics | {member: f"the member of {at}" for at, member in self.members.items()}


@dataclass
class Member:
    """The one of a group. `generation` None: it was given an id, and has not joined yet."""

    generation: int | None = None
    has_share: bool = False


@dataclass
class Model:
    topics: dict[str, int] = field(default_factory=dict)  # CHURNED ones, and their partitions
    starts: dict[Place, int] = field(default_factory=dict)  # of logs, as far as is known
    ends: dict[Place, int] = field(default_factory=dict)
    sequences: dict[Place, int] = field(default_factory=dict)  # the next one of PRODUCER
    members: dict[str, Member] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)  # groups
    # Of MOVED: the replicas of each, the preferred leader first.
    moved: dict[Place, tuple[int, ...]] = field(
        default_factory=lambda: {
            (name, index): replicas
            for name, partitions in MOVED.items()
            for index, replicas in enumerate(partitions)
        }
    )

    def offset_in(self, rng: Random, at: Place) -> int:
        """Of a record, or where the log ends."""
        return rng.randint(self.starts.get(at, 0), self.ends.get(at, 0))

    def see_topics(self, sides: Sequence[Known]) -> None:
        """Those that both have, with as many partitions."""
        first, second = (side.partitions for side in sides)
        self.topics = {
            name: count
            for name, count in first.items()
            if name in CHURNED and second.get(name) == count
        }

    def learn(self, request: Any, api: str, sides: Sequence[Known], answers: Sequence[Any]) -> None:
        """What both have done of a request, of which each side's is the same but for ids."""
        match api:
            case "Produce":
                self._produced(request, sides[0], answers)
            case "DeleteRecords":
                self._deleted(answers)
            case "OffsetCommit":
                if all(map(_is_done, answers)):
                    self.committed.add(request.group_id)
            case "JoinGroup":
                self._joined(request, sides, answers)
            case "SyncGroup":
                if all(map(_is_done, answers)):
                    self.members[request.group_id].has_share = True
            case "LeaveGroup":
                self._left(request, sides, answers)
            case "AlterPartitionReassignments":
                self._reassigned(request, answers)

    def _produced(self, request: Any, side: Known, answers: Sequence[Any]) -> None:
        (topic,) = request.topic_data
        (partition,) = topic.partition_data
        if not all(map(_is_appended, answers)):
            return
        name = topic.name if hasattr(topic, "name") else side.names[topic.topic_id]
        header, at = read_header(partition.records), (name, partition.index)
        if answers[0] == SILENCE:
            base = self.ends.get(at, 0)
        else:
            base = answers[0].responses[0].partition_responses[0].base_offset
        self.ends[at] = max(self.ends.get(at, 0), base + header.last_offset_delta + 1)
        if header.producer_id == PRODUCER:
            self.sequences[at] = header.base_sequence + header.last_offset_delta + 1

    def _deleted(self, answers: Sequence[Any]) -> None:
        for topic in answers[0].topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.NONE:
                    self.starts[topic.name, each.partition_index] = each.low_watermark

    def _joined(self, request: Any, sides: Sequence[Known], answers: Sequence[Any]) -> None:
        """Who has no id is given one first, in newer versions."""
        errors = {each.error_code for each in answers}
        if errors not in ({ErrorCode.NONE}, {ErrorCode.MEMBER_ID_REQUIRED}):
            return
        has_joined = errors == {ErrorCode.NONE}
        generation = answers[0].generation_id if has_joined else None
        before = self.members.get(request.group_id)
        has_share = before is not None and before.has_share and before.generation == generation
        self.members[request.group_id] = Member(generation=generation, has_share=has_share)
        for side, answer in zip(sides, answers, strict=True):
            side.members[request.group_id] = answer.member_id

    def _left(self, request: Any, sides: Sequence[Known], answers: Sequence[Any]) -> None:
        if all(map(_is_done, answers)) and all(
            each.error_code == ErrorCode.NONE for each in getattr(answers[0], "members", ())
        ):
            self.members.pop(request.group_id, None)
            for side in sides:
                side.members.pop(request.group_id, None)

    def _reassigned(self, request: Any, answers: Sequence[Any]) -> None:
        results = [reassigned(answer) for answer in answers]
        for topic in request.topics:
            for each in topic.partitions:
                at = (topic.name, each.partition_index)
                if at in self.moved and each.replicas and all(at in done for done in results):
                    self.moved[at] = tuple(each.replicas)


def reassigned(answer: Any) -> set[Place]:
    """The partitions of which it was not refused."""
    return {
        (topic.name, each.partition_index)
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code == ErrorCode.NONE
    }


def _is_done(answer: Any) -> bool:
    codes = [getattr(answer, "error_code", ErrorCode.NONE)]
    for topic in getattr(answer, "topics", ()):
        codes += [each.error_code for each in topic.partitions]
    return not any(codes)


def _is_appended(answer: Any) -> bool:
    if answer == SILENCE:
        return True
    (topic,) = answer.responses
    (partition,) = topic.partition_responses
    return not partition.error_code
