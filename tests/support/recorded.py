"""A history in memory, for tests of workloads."""

from dataclasses import dataclass, field

from checkers.history.events import EventType


@dataclass(slots=True)
class Operation:
    process: int
    f: str
    key: str
    value: int | None
    node: int
    phase: str
    outcome: EventType | None = None
    result: int | None = None
    error: str | None = None


@dataclass(slots=True)
class ListedHistory:
    """Implements `workloads.history.History`; refuses what no history may hold."""

    operations: list[Operation] = field(default_factory=list)
    retired: set[int] = field(default_factory=set)
    _open: dict[int, Operation] = field(default_factory=dict)
    _processes: int = 0

    def new_process(self) -> int:
        self._processes += 1
        return self._processes - 1

    def invoke(
        self, process: int, f: str, key: str, value: int | None, node: int, phase: str
    ) -> None:
        assert process not in self._open, "one operation at a time"
        assert process not in self.retired, "a process ends with its info"
        operation = Operation(process, f, key, value, node, phase)
        self.operations.append(operation)
        self._open[process] = operation

    def complete(
        self, process: int, outcome: EventType, value: int | None, error: str | None
    ) -> None:
        operation = self._open.pop(process)
        operation.outcome, operation.result, operation.error = outcome, value, error
        if outcome is EventType.INFO:
            self.retired.add(process)

    def of(self, f: str, outcome: EventType) -> list[Operation]:
        return [each for each in self.operations if (each.f, each.outcome) == (f, outcome)]
