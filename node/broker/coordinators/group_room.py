"""How much room what clients say of groups takes of a broker's memory.

Kafka knows no such limit. What nobody has needed for long is forgotten (`expiry`); whoever is known
already may go on when there is no room left for others.
"""

from node import limits


class GroupRoom:
    """Of all groups that one broker coordinates. Sizes are bytes, about."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, str], int] = {}
        self._total = 0

    def hold(self, kind: str, group: str, size: int) -> None:
        """What that group takes now, of members or of offsets; 0: it is forgotten."""
        key = (kind, group)
        self._total += size - self._sizes.get(key, 0)
        if size:
            self._sizes[key] = size
        else:
            self._sizes.pop(key, None)

    def has(self, size: int) -> bool:
        """Is there room for so much more?"""
        return self._total + size <= limits.MAX_GROUPS_BYTES
