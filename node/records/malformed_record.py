"""What the writer of a record did wrong."""


class MalformedRecord(ValueError):
    """A record's key or value is not what its type says. Its batch's CRC held: a writer's fault."""
