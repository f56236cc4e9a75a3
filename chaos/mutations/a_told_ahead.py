"""A-TOLD-AHEAD: Fetch answers have the log end as the high watermark; consumers still get only
committed records."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.broker import fetch_requests
from node.errors import ErrorCode
from node.wire.partition_fetch import FetchedRecords

_as_it_should = fetch_requests._read


def as_if_all_had_it(found: fetch_requests._Found) -> FetchedRecords:
    told = _as_it_should(found)
    if told.error is not ErrorCode.NONE or found.held is None:
        return told
    return replace(told, high_watermark=found.held.replica.end)


PLANTED = Planted(owner=fetch_requests, decision="_read", wrong=as_if_all_had_it)
