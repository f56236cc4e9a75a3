"""What nodes were asked, until they answer."""

from typing import NamedTuple


class Heard(NamedTuple):
    """By which step of this life it was there, and when by the node's clock."""

    request: object
    step: int
    at_ns: int
