"""The two errors of the codec: bytes that are no message, and messages that are no bytes."""


class MalformedMessage(ValueError):
    """These bytes are not a message of this class."""


class UnencodableMessage(ValueError):
    """What is to be said cannot be said in this version, or is more than a frame may hold."""
