"""Which topics the members of a group read, as they say it themselves."""

from node.broker.coordinators.group import Group

CONSUMERS = "consumer"  # the type of protocol by which members say it
_VERSION_BYTES, _COUNT_BYTES, _LENGTH_BYTES = 2, 4, 2


def topics_read(group: Group) -> set[str] | None:
    """By its members, as they say it for the protocol that they share; None: nobody understands
    what they say, and it may be any."""
    read: set[str] = set()
    for member in group.members.values():
        found = _subscription(member.metadata(group.protocol))
        if found is None:
            return None
        read |= found
    return read


def _subscription(data: bytes) -> set[str] | None:
    """The topics of a ConsumerProtocolSubscription, which stand first in each of its versions."""
    at = _VERSION_BYTES + _COUNT_BYTES
    count = int.from_bytes(data[_VERSION_BYTES:at], "big", signed=True)
    topics: set[str] = set()
    for _ in range(count):
        end = at + _LENGTH_BYTES + int.from_bytes(data[at : at + _LENGTH_BYTES], "big")
        if end > len(data) or at + _LENGTH_BYTES > len(data):
            return None
        try:
            topics.add(data[at + _LENGTH_BYTES : end].decode())
        except UnicodeDecodeError:
            return None
        at = end
    return topics if count >= 0 and at <= len(data) else None
