"""What only the active controller has: what is decided and not yet committed, and what it heard."""

from node.config import BrokerSettings
from node.controller.image import Image
from node.controller.periodic_elections import PeriodicElections
from node.controller.sessions import BrokerSessions
from node.ids import Epoch
from node.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class Claim:
    """`image` is ahead of the committed one by what was decided since; it is thrown away with the
    claim (KAFKA-20839: keep nothing, revert nothing)."""

    epoch: Epoch
    image: Image
    sessions: BrokerSessions
    elections: PeriodicElections

    def deadline_ns(self) -> int:
        return min(self.sessions.deadline_ns(), self.elections.deadline_ns())


def claim_of(epoch: Epoch, committed: Image, settings: BrokerSettings, now_ns: int) -> Claim:
    """One that begins."""
    image = committed.copy()
    return Claim(
        epoch=epoch,
        image=image,
        sessions=BrokerSessions(image, settings.session_ms, now_ns),
        elections=PeriodicElections(settings, now_ns),
    )
