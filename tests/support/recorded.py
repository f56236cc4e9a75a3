"""A history in memory, for tests of workloads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checkers.history.events import EventType
from checkers.history.tables import ANSWERED
from workloads.connection import MalformedResponse
from workloads.operation_history import SEND, Span


@dataclass(slots=True)
class Operation:
    process: int
    f: str
    key: str
    value: int | None
    node: int
    phase: str
    request: int | None = None
    sent: Span | None = None
    acks: int | None = None
    idempotent: bool = False
    outcome: EventType | None = None
    result: int | None = None
    error: str | None = None
    told: tuple[Span, ...] = ()
    voters: tuple[str, ...] | None = None

    @property
    def values(self) -> range:
        """The values of a send."""
        assert self.sent is not None, "a send"
        return range(self.sent.value, self.sent.value + self.sent.records)


@dataclass(slots=True)
class ListedHistory:
    """Implements `workloads.operation_history.LogHistory`; refuses what no history may hold."""

    operations: list[Operation] = field(default_factory=list)
    retired: set[int] = field(default_factory=set)
    malformed: list[MalformedResponse] = field(default_factory=list)
    _open: dict[int, Operation] = field(default_factory=dict)
    _processes: int = 0
    _requests: int = 0

    def new_process(self) -> int:
        self._processes += 1
        return self._processes - 1

    def new_request(self) -> int:
        self._requests += 1
        return self._requests - 1

    def invoke(
        self,
        process: int,
        f: str,
        key: str,
        value: int | None,
        node: int,
        phase: str,
        request: int | None = None,
    ) -> None:
        self._begin(Operation(process, f, key, value, node, phase, request))

    def invoke_send(
        self, process: int, span: Span, *, acks: int, idempotent: bool, node: int, phase: str
    ) -> None:
        operation = Operation(process, SEND, span.key, span.value, node, phase)
        operation.sent, operation.acks, operation.idempotent = span, acks, idempotent
        self._begin(operation)

    def _begin(self, operation: Operation) -> None:
        assert operation.process not in self._open, "one operation at a time"
        assert operation.process not in self.retired, "a process ends with its info"
        self.operations.append(operation)
        self._open[operation.process] = operation

    def complete(
        self,
        process: int,
        outcome: EventType,
        value: int | None,
        error: str | None,
        voters: Sequence[str] | None = None,
    ) -> None:
        operation = self._open.pop(process)
        is_kept = value in (None, operation.value) or operation.f in ANSWERED
        assert is_kept, f"the table has no place for what {operation.f} was answered"
        operation.outcome, operation.result, operation.error = outcome, value, error
        operation.voters = None if voters is None else tuple(voters)
        if outcome is EventType.INFO:
            self.retired.add(process)

    def complete_spans(
        self, process: int, outcome: EventType, spans: Sequence[Span], error: str | None
    ) -> None:
        self._open[process].told = tuple(spans)
        self.complete(process, outcome, None, error)

    def of(self, f: str, outcome: EventType | None = None) -> list[Operation]:
        """With any outcome, or with none yet, unless one is asked for."""
        return [each for each in self.operations if each.f == f and outcome in (None, each.outcome)]
