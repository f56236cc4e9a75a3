"""What counts as a difference between two answers, and that both clusters are asked the same."""

from datetime import timedelta
from uuid import UUID

import pytest
from kio.schema.delete_topics.v6.response import DeletableTopicResult
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17.response import PartitionData
from kio.schema.join_group.v9.request import JoinGroupRequest
from kio.schema.join_group.v9.response import JoinGroupResponse
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i32Timedelta

from node.wire.broker_frames import decode_request
from tests.differential.comparison import Difference, differences, normal, refuses
from tests.differential.kinds import KINDS
from tests.differential.model import Known, Member, Model
from tests.differential.requests import draw
from tests.differential.topics import CHURNED, KEPT, MOVED

KAFKAS, OURS = UUID(int=1), UUID(int=2)
COUNT = 2000


def result(id_: UUID, error: ErrorCode, message: str | None) -> DeletableTopicResult:
    name = TopicName("a")
    return DeletableTopicResult(name=name, topic_id=id_, error_code=error, error_message=message)


def test_ids_are_compared_by_the_topics_that_have_them_and_messages_not_at_all() -> None:
    kafka = normal(result(KAFKAS, ErrorCode.none, "gone"), {KAFKAS: "a"})
    assert kafka == normal(result(OURS, ErrorCode.none, None), {OURS: "a"})
    assert kafka != normal(result(OURS, ErrorCode.none, None), {OURS: "b"})


def test_of_a_refusal_the_error_code_is_told_alone() -> None:
    kafka = normal(result(KAFKAS, ErrorCode.none, None), {KAFKAS: "a"})
    ours = normal(result(OURS, ErrorCode.invalid_request, None), {})
    assert list(differences({"[a 0]": kafka}, {"[a 0]": ours})) == [
        Difference(path="error_code", kafka="none", node="invalid_request")
    ]


def test_what_is_refused_anywhere_in_an_answer_is_not_done() -> None:
    for error in (ErrorCode.none, ErrorCode.invalid_request):
        assert refuses((result(OURS, error, None),)) is (error is not ErrorCode.none)


def test_an_element_that_only_one_of_them_has_is_a_difference() -> None:
    assert [each.node for each in differences({"[a 0]": {"x": 1}}, {})] == [None]


def test_records_are_compared_to_the_byte() -> None:
    def fetched(records: bytes) -> PartitionData:
        return PartitionData(
            partition_index=0,  # type: ignore[arg-type]
            error_code=ErrorCode.none,
            high_watermark=1,  # type: ignore[arg-type]
            aborted_transactions=None,
            records=records,  # type: ignore[arg-type]
        )

    found = list(differences(normal(fetched(b"a"), {}), normal(fetched(b"b"), {})))
    assert [each.path for each in found] == ["records"]


def both() -> tuple[Known, Known]:
    """Who know the same, by other ids."""
    sides = Known(), Known()
    for side, first in zip(sides, (100, 200), strict=True):
        for at, name in enumerate((*KEPT, *MOVED, *CHURNED)):
            side.topics[name] = UUID(int=first + at)
        side.members = {"j": f"j-{first}", "k": f"k-{first}"}
    return sides


MODELS = (
    Model(),
    Model(
        topics={"a": 1, "b": 6},
        ends={("one", 0): 3},
        members={"j": Member(generation=1, has_share=True), "k": Member()},
        committed={"g"},
    ),
)


@pytest.mark.parametrize("model", MODELS, ids=["at first", "later"])
def test_both_are_asked_the_same_but_for_ids_and_each_request_can_be_read(model: Model) -> None:
    sides, seen = both(), set()
    for number in range(COUNT):
        asked = [draw(1, number, model, side) for side in sides]
        one, other = (
            normal(each.request, side.names) for each, side in zip(asked, sides, strict=True)
        )
        assert one == other
        decode_request(asked[0].drawn.frame)
        seen.add(asked[0].kind.name)
    assert seen == {kind.name for kind in KINDS}


def test_a_member_is_known_by_what_both_call_it_once_it_has_an_id() -> None:
    model, sides = Model(), (Known(), Known())
    request = JoinGroupRequest(
        group_id=GroupId("j"),
        session_timeout=i32Timedelta.parse(timedelta(seconds=6)),
        rebalance_timeout=i32Timedelta.parse(timedelta(seconds=6)),
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=(),
        reason=None,
    )
    for error, generation, expected in (
        (ErrorCode.member_id_required, -1, Member()),
        (ErrorCode.none, 1, Member(generation=1)),
    ):
        answers = [joined(name, error, generation) for name in ("x", "y")]
        model.learn(request, "JoinGroup", sides, answers)
        assert model.members == {"j": expected}
        assert [side.members["j"] for side in sides] == ["x", "y"]
    one, other = (normal(answer, side.names) for answer, side in zip(answers, sides, strict=True))
    assert one == other


def joined(member: str, error: ErrorCode, generation: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        throttle_time=i32Timedelta.parse(timedelta(0)),
        error_code=error,
        generation_id=i32(generation),
        protocol_type="consumer",
        protocol_name="range",
        leader=member,
        skip_assignment=False,
        member_id=member,
        members=(),
    )
