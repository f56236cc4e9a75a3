"""A-GROWN-UNWRITTEN: a controller acknowledges partitions that it has not written, as it has no
broker for them yet (any success that stands for 'later')."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller import writes
from node.controller.decision import Decision, Situation
from node.wire.apis import WriteRequest
from node.wire.create_partitions import CreatePartitionsRequest

_as_it_should = writes._decide


def later(situation: Situation, request: WriteRequest) -> Decision:
    decision = _as_it_should(situation, request)
    if isinstance(request, CreatePartitionsRequest):
        return replace(decision, records=())
    return decision


PLANTED = Planted(owner=writes, decision="_decide", wrong=later)
