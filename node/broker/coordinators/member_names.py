"""Names in groups: those that members are given, and whether all answers have room for those that
they bring.

Kafka takes longer ones in flexible versions, and can describe such a group in older ones to nobody.
"""

from random import Random
from uuid import UUID

from node import limits
from node.wire.join_group import JoinGroupRequest

_NUMBER_BYTES = len(f"-{UUID(int=0)}")


def new_member_id(request: JoinGroupRequest, random: Random) -> str:
    number = UUID(int=random.getrandbits(128), version=4)
    return f"{_prefix(request)}-{number}"


def have_room(request: JoinGroupRequest) -> bool:
    """In every version of every answer that tells of the group, and in its record. Who has an id is
    given no other one."""
    protocols = (each.name for each in request.protocols)
    names = (request.group, request.protocol_type, *protocols)
    fit = all(len(name.encode()) <= limits.MAX_STRING_BYTES for name in names)
    number = 0 if request.member else _NUMBER_BYTES
    return fit and len(_prefix(request).encode()) + number <= limits.MAX_STRING_BYTES


def _prefix(request: JoinGroupRequest) -> str:
    """The one that Kafka gives: a static member's, or the client's."""
    return request.instance or request.client_id
