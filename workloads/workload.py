"""What a run asks of its clients, whatever they do."""

from typing import Protocol

from workloads.tally import Tally


class Workload(Protocol):
    """`run` until told to stop, then `read_all` once the cluster is healed, then `close`."""

    @property
    def tally(self) -> Tally: ...

    @property
    def acknowledged_writes(self) -> int: ...

    @property
    def is_over(self) -> bool:
        """Whether all that it may issue was issued."""

    @property
    def leader(self) -> int | None:
        """Whom the processes follow now; None where they follow nobody or many."""

    async def run(self) -> None:
        """All processes, until `stop`."""

    def stop(self) -> None:
        """Let every process finish its operation; `run` returns within one time-out."""

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Everything once more, by fresh clients. What could not be read, by name."""

    async def close(self) -> None: ...
