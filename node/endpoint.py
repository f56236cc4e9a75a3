"""Where a node can be reached."""

import re
from collections.abc import Sequence

from node import limits
from node.lazy_dataclass import dataclass

_LABEL = "[0-9A-Za-z_:%-]{1,63}"  # of a name; an IPv6 address is one, with its zone
_HOST = re.compile(rf"({_LABEL}\.)*{_LABEL}\.?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address, by the name of its listener."""

    name: str
    host: str
    port: int


def why_not_taken(endpoints: Sequence[Endpoint]) -> str | None:
    """What is wrong with addresses that somebody told us, in words; None if nothing is.

    They are kept in the log, and dialled by every node.
    """
    names = [at.name for at in endpoints]
    if len(names) > limits.MAX_ENDPOINTS:
        return f"{len(names)} endpoints; a node has {limits.MAX_ENDPOINTS} at most"
    if len(set(names)) < len(names):
        return "two endpoints of one listener"
    for at in endpoints:
        if len(at.name) > limits.MAX_HOST_CHARACTERS:
            return f"a listener's name of {len(at.name)} characters"
        if len(at.host) > limits.MAX_HOST_CHARACTERS or not _HOST.fullmatch(at.host):
            return f"{at.host[:64]!r} is neither a host name nor an address"
        if at.port == 0:
            return f"no port on {at.host}"
    return None
