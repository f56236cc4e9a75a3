"""Where a node can be reached."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address, by the name of its listener."""

    name: str
    host: str
    port: int
