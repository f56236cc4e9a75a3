"""What no frame can carry is not written."""

from dataclasses import replace

import pytest

from node.wire import UnencodableMessage, encode_request
from node.wire.configs import AlterConfigsRequest
from node.wire.fetch import FetchRequest
from tests.node.wire.sample_requests import REQUESTS

FETCH = next(m for m in REQUESTS if isinstance(m, FetchRequest))
ALTER = next(m for m in REQUESTS if isinstance(m, AlterConfigsRequest))


def test_numbers_too_large() -> None:
    with pytest.raises(UnencodableMessage):
        encode_request(replace(FETCH, max_bytes=2**31), correlation_id=1, client_id="c")


def test_texts_too_long_for_the_old_encoding() -> None:
    long = replace(ALTER, resources=(replace(ALTER.resources[0], name="x" * 2**15),))
    with pytest.raises(UnencodableMessage):
        encode_request(long, correlation_id=1, client_id="c", version=0)
    assert encode_request(long, correlation_id=1, client_id="c", version=1)


def test_null_where_there_is_none() -> None:
    broken = replace(ALTER, resources=(replace(ALTER.resources[0], name=None),))  # type: ignore[arg-type]  # on purpose
    for version in (0, 1):
        with pytest.raises(UnencodableMessage):
            encode_request(broken, correlation_id=1, client_id="c", version=version)
