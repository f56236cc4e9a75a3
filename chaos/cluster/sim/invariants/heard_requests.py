"""Requests that nodes received and have not answered."""

from typing import NamedTuple


class Heard(NamedTuple):
    """The step of this life in which it arrived, and the time by the node's clock."""

    request: object
    step: int
    at_ns: int
