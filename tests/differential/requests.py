"""What both clusters are asked: requests, drawn by their number.

Most are sound after all that was asked before (`sound`), so that both do them; the others are at
the limits of what their fields may hold (`values`). Both clusters get the same request, although
some bytes of it may differ: what only one of them knows, the ids of its topics and of its members,
is put in by name.

One partition is named once in a request for records: Apache Kafka answers what is named twice in
different ways.
"""

from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from kio.serial import entity_reader

from node.wire.api import Api, kio_class
from node.wire.apis import BROKER_APIS
from node.wire.frames import read_request_header
from tests.differential.kinds import KINDS, Kind
from tests.differential.model import Known, Model
from tests.differential.sound import sound
from tests.differential.sound_values import Sound
from tests.differential.topics import CHURNED, KEPT
from tests.differential.values import COMMON
from tests.fuzz.drawing import Drawn, draw_request

_SOUND = 0.7  # the share of requests that go on from what was done before


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request for one of the clusters: `broker` gets it."""

    number: int
    kind: Kind
    broker: int
    drawn: Drawn

    @property
    def request(self) -> Any:
        """As kio reads it."""
        api, version = self.drawn.api, self.drawn.version
        request_class = kio_class(api.package, api.name, version, "request")
        _, at = read_request_header(self.drawn.frame, flexible=request_class.__flexible__)
        return entity_reader(request_class)(self.drawn.frame, at)[0]


def draw(seed: int, number: int, model: Model, known: Known) -> Asked:
    rng = Random(f"{seed}:{number}")
    (kind,) = rng.choices(KINDS, [each.weight for each in KINDS])
    found = sound(kind.name, rng, model, known) if rng.random() < _SOUND else None
    if found is None:
        found = Sound(broker=rng.choice((1, 1, 1, 1, 2, 3)), values={})
    ids = {
        "topic_id": known.id_of(*KEPT, *KEPT, "none"),
        "DeleteTopicState.topic_id": known.id_of(*CHURNED, "none"),
    }
    api = _api(kind.api)
    first = max(api.min_version, kind.since, found.since)
    likely = {**COMMON, **ids, **kind.values, **found.values}
    drawn = draw_request(
        rng,
        number + 1,
        likely,
        (replace(api, min_version=first),),
        extremes=(0.0,),
        clients=kind.clients,
    )
    return Asked(number=number, kind=kind, broker=found.broker, drawn=drawn)


@cache
def _api(name: str) -> Api:
    """In the versions that a release of Apache Kafka has: kio knows those alone."""
    api = next(api for api in BROKER_APIS if api.name == name)
    newest = max(
        version
        for version in range(api.min_version, api.max_version + 1)
        if _is_released(api, version)
    )
    return replace(api, max_version=newest)


def _is_released(api: Api, version: int) -> bool:
    request: type = kio_class(api.package, api.name, version, "request")
    return request.__module__.startswith("kio.")
