"""Nothing is written that some version could not tell: every string of every record is measured."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from node import limits
from node.codec import write_whole
from node.codec.fields import MarkedField, marked_fields
from node.controller import writes
from node.controller.decision import Decision, DecisionContext
from node.errors import ErrorCode
from node.records.metadata import KINDS, MetadataRecord, strings
from node.wire.apis import WriteRequest
from node.wire.registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from tests.node.wire.sample_requests import REQUESTS
from tests.support.brokers import Brokers
from tests.support.worst_frames import PLAIN

LONGEST = "x" * limits.MAX_STRING_BYTES


def sample(kind: Any) -> Any:
    """With one element in each array, and nothing in it."""
    return kind(**{field.name: _value(field) for field in marked_fields(kind)})


def _value(field: MarkedField) -> Any:
    one = PLAIN[field.kafka_type] if field.struct is None else sample(field.struct)
    return (one,) if field.array else one


def with_text(record: Any, text: str) -> Iterator[Any]:
    """The record as often as it has strings, each time with the text in another."""
    for field in marked_fields(type(record)):
        if field.struct is not None:
            (inner,) = getattr(record, field.name)
            for changed in with_text(inner, text):
                yield replace(record, **{field.name: (changed,)})
        elif field.kafka_type == "string":
            yield replace(record, **{field.name: (text,) if field.array else text})


TEXTS = [(kind.__name__, at) for kind in KINDS for at, _ in enumerate(with_text(sample(kind), ""))]


def test_every_kind_of_record_that_has_strings_is_known() -> None:
    """By its bytes: whatever `with_text` puts in is found by `strings`."""
    for kind in KINDS:
        for record in with_text(sample(kind), "needle"):
            assert b"needle" in write_whole(record)
            assert [text for text in strings(record) if text] == ["needle"]
    assert len(TEXTS) > 10


@pytest.mark.parametrize(("name", "at"), TEXTS)
def test_a_record_with_a_longer_string_is_refused(
    name: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = next(each for each in KINDS if each.__name__ == name)

    def decides(text: str) -> ErrorCode:
        record: MetadataRecord = list(with_text(sample(kind), text))[at]

        def decide(_context: DecisionContext, _request: WriteRequest) -> Decision:
            return Decision(records=(record,), response=ControllerRegistrationResponse())

        monkeypatch.setattr(writes, "_decide", decide)
        request = next(each for each in REQUESTS if isinstance(each, ControllerRegistrationRequest))
        answer = writes.decide(Brokers().context(), request).response
        assert isinstance(answer, ControllerRegistrationResponse)
        return answer.error

    assert decides(LONGEST) == ErrorCode.NONE
    assert decides(LONGEST + "x") == ErrorCode.INVALID_REQUEST
    assert decides("ä" * (limits.MAX_STRING_BYTES // 2 + 1)) == ErrorCode.INVALID_REQUEST
