"""Lines for an operator about what others do, few of each kind: nobody fills a disk with them."""

from collections.abc import Callable
from enum import StrEnum

from node.lazy_dataclass import dataclass

QUIET_NS = 10 * 10**9  # after a line, those of its kind are counted


class NoticeKind(StrEnum):
    """Which are counted together."""

    TOO_LARGE = "too large"
    GONE = "gone"
    SLOW = "slow"
    CUT = "cut"


@dataclass(slots=True)
class _Quiet:
    until_ns: int
    count: int = 0
    last: str = ""


class Notices:
    def __init__(self, tell: Callable[[str], None], clock: Callable[[], int]) -> None:
        """`clock`: monotonic, in ns."""
        self._tell = tell
        self._clock = clock
        self._quiet: dict[NoticeKind, _Quiet] = {}

    def add(self, kind: NoticeKind, line: str) -> None:
        """The first of a kind is told at once."""
        quiet = self._quiet.get(kind)
        if quiet is None:
            self._quiet[kind] = _Quiet(self._clock() + QUIET_NS)
            self._tell(line)
        else:
            quiet.count += 1
            quiet.last = line

    def look(self) -> None:
        """Tell what was counted for long enough, in a line of each kind."""
        now_ns = self._clock()
        for kind, quiet in list(self._quiet.items()):
            if now_ns < quiet.until_ns:
                continue
            if quiet.count:
                others = "" if quiet.count == 1 else f" (and {quiet.count - 1} like it before)"
                self._tell(quiet.last + others)
                self._quiet[kind] = _Quiet(now_ns + QUIET_NS)
            else:
                del self._quiet[kind]
