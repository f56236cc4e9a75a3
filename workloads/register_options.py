"""What clients of registers do, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOptions:
    """`rate` limits all processes together, in requests a second; 0 lets them run.

    Of requests, `read_share` read and the others alter; `several_share` of both name up to
    `most_in_request` registers. Of alterations, `delete_share` delete and `wrong_share` must be
    refused. A write with an unknown outcome is sent again, on a fresh connection, in `retry_share`
    of cases, an acknowledged one in `repeat_share`. Of alterations, `wide_share` write values of
    several pages.
    """

    concurrency: int = 20
    rate: float = 0.0
    live_keys: int = 5
    operations_per_key: int = 400
    read_share: float = 0.5
    delete_share: float = 0.05
    wrong_share: float = 0.05
    wide_share: float = 0.02
    several_share: float = 0.05
    most_in_request: int = 4
    retry_share: float = 0.3
    repeat_share: float = 0.005
    timeout_s: float = 1.0
    most_operations: int = 0  # before the final reads; 0: until told to stop

    @property
    def interval_s(self) -> float:
        """The least time from one request of a process to its next."""
        return self.concurrency / self.rate if self.rate else 0.0

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With the user's overrides; no setting of a target matters to registers."""
        del settings
        return replace(self, concurrency=concurrency or self.concurrency, rate=rate or self.rate)
