"""What the active controller has heard of brokers: when last, how far they are.

It is in no log, and each active controller begins anew: every unfenced broker then has a whole
session to be heard in (KAFKA-18138).
"""

from collections.abc import Mapping

from node.controller.image import Image
from node.ids import MS, NEVER_NS
from node.lazy_dataclass import dataclass


@dataclass(slots=True)
class _Session:
    heard_ns: int
    metadata_offset: int | None = None
    shutdown_offset: int | None = None


class BrokerSessions:
    """Of the brokers that are not fenced."""

    def __init__(self, image: Image, session_ms: int, now_ns: int) -> None:
        self._timeout_ns = session_ms * MS
        self._sessions = {
            each.broker_id: _Session(now_ns) for each in image.brokers.all() if not each.fenced
        }

    def is_live(self, broker: int, now_ns: int) -> bool:
        found = self._sessions.get(broker)
        return found is not None and now_ns <= found.heard_ns + self._timeout_ns

    def metadata_offsets(self) -> Mapping[int, int]:
        return {
            broker: session.metadata_offset
            for broker, session in self._sessions.items()
            if session.metadata_offset is not None
        }

    def shutdown_offset(self, broker: int) -> int | None:
        found = self._sessions.get(broker)
        return None if found is None else found.shutdown_offset

    # --- what changes them ---

    def heard(self, image: Image, broker: int, metadata_offset: int, now_ns: int) -> None:
        """A heartbeat of it, and what was decided of it is in `image`."""
        self.follow(image, now_ns)
        if broker in self._sessions:
            self._sessions[broker].heard_ns = now_ns
            self._sessions[broker].metadata_offset = metadata_offset

    def follow(self, image: Image, now_ns: int) -> None:
        """Whoever is fenced now, or gone, has no session; whoever is not any more, a new one."""
        unfenced = {each.broker_id for each in image.brokers.all() if not each.fenced}
        for broker in self._sessions.keys() - unfenced:
            del self._sessions[broker]
        for broker in sorted(unfenced - self._sessions.keys()):
            self._sessions[broker] = _Session(now_ns)

    def shuts_down_at(self, broker: int, offset: int) -> None:
        """The others have to get so far; it is set once (KAFKA-14292)."""
        found = self._sessions.get(broker)
        if found is not None and found.shutdown_offset is None:
            found.shutdown_offset = offset

    # --- what is due ---

    def expired(self, now_ns: int) -> int | None:
        """One broker that was not heard of for a session: one at a time, so that what its fencing
        does is known before the next is looked at."""
        silent = [
            (session.heard_ns, broker)
            for broker, session in self._sessions.items()
            if not self.is_live(broker, now_ns)
        ]
        return min(silent)[1] if silent else None

    def deadline_ns(self) -> int:
        if not self._sessions:
            return NEVER_NS
        heard = [session.heard_ns for session in self._sessions.values()]
        return min(heard) + self._timeout_ns + 1
