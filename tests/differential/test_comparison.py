"""What counts as a difference between two answers, and that both clusters are asked the same."""

from uuid import UUID

from kio.schema.delete_topics.v6.response import DeletableTopicResult
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17.response import PartitionData
from kio.schema.types import TopicName

from node.wire.broker_frames import decode_request
from tests.differential.comparison import Difference, differences, normal, refuses
from tests.differential.requests import CHURNED, KEPT, KINDS, Known, draw

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


def test_both_are_asked_the_same_but_for_ids_and_each_request_can_be_read() -> None:
    kafka, ours = Known(), Known()
    for at, name in enumerate((*KEPT, *CHURNED)):
        kafka.topics[name], ours.topics[name] = UUID(int=100 + at), UUID(int=200 + at)
    seen = set()
    for number in range(COUNT):
        one, other = draw(1, number, kafka), draw(1, number, ours)
        names = [{id_: name for name, id_ in known.topics.items()} for known in (kafka, ours)]
        assert normal(one.request, names[0]) == normal(other.request, names[1])
        decode_request(one.drawn.frame)
        seen.add(one.kind.name)
    assert seen == {kind.name for kind in KINDS}
