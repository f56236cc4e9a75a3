"""What the programs in Python have in common: `PROGRAM SERVERS NAME FEATURE`.

NAME is a topic of three partitions that was made for this try, and begins the names of whatever
else it makes. It ends with 0 where the feature works, with 3 where the client has none, and else
with what failed on its last line.
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

NOT_IN_CLIENT = 3
PATIENCE_S = 60.0
VALUES = tuple(f"value-{number}" for number in range(9))


class Failed(Exception):
    """The feature does not work."""


@dataclass(frozen=True, slots=True)
class Try:
    servers: str
    name: str

    @property
    def topic(self) -> str:
        return self.name

    @property
    def group(self) -> str:
        return f"{self.name}-group"


Feature = Callable[[Try], None]


def expect(found: object, wanted: object, what: str) -> None:
    """Raises Failed."""
    if found != wanted:
        raise Failed(f"{what}: {str(found)[:200]}, not {str(wanted)[:200]}")


def until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """What is asked again until it holds. Raises Failed."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"waited {patience_s:.0f} s in vain: {what}")
        time.sleep(0.05)  # between two looks


def run(features: Mapping[str, Feature]) -> None:
    """The whole program."""
    _, servers, name, feature = sys.argv
    found = features.get(feature)
    if found is None:
        sys.exit(NOT_IN_CLIENT)
    try:
        found(Try(servers, name))
    except Exception as error:  # noqa: BLE001 - whatever the library raises is the result
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
