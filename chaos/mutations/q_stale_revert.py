"""Q-STALE-REVERT: a deposed controller keeps the effects of writes that were never committed
(KAFKA-20839)."""

from collections.abc import Iterable

from chaos.mutations.planted import Planted
from node.controller.controller import Controller
from node.controller.image import Image
from node.ids import Epoch, Now
from node.records.metadata import MetadataRecord

_as_it_should = Controller.on_leadership


def keep_the_claims_image(self: Controller, epoch: Epoch | None, now: Now) -> None:
    """When it leads again, its readers see values that are in no log."""
    ended = self._claim
    _as_it_should(self, epoch, now)
    if ended is not None:
        self.image = _replayed(ended.image.records())


def _replayed(records: Iterable[MetadataRecord]) -> Image:
    image = Image()
    for record in records:
        image.replay(record)
    return image


PLANTED = Planted(owner=Controller, decision="on_leadership", wrong=keep_the_claims_image)
