"""The two errors of the codec: bytes that are no message, and messages that are no bytes."""


class MalformedFrame(Exception):
    """Not a frame of this protocol, or of a version that is not served: hang up, as Kafka does."""


class UnencodableMessage(Exception):
    """What is to be said cannot be said in this version, or is more than a frame may hold."""
