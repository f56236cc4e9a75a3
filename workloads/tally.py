"""What clients count of their own operations, apart from the recorded history."""

from dataclasses import asdict, dataclass

from checkers.history.events import EventType


@dataclass(slots=True)
class Tally:
    """Counted where an operation is carried out; the judge compares it with the sealed history."""

    invoked: int = 0
    ok: int = 0
    fail: int = 0
    info: int = 0

    def invoke(self) -> None:
        self.invoked += 1

    def complete(self, outcome: EventType) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)

    def as_json(self) -> dict[str, int]:
        return asdict(self)
