"""The errors of the codec: bytes that are no message, or too much of one, and messages that are no
bytes."""


class MalformedMessage(ValueError):
    """These bytes are not a message of this class."""


class TooManyElements(MalformedMessage):
    """It may be one, and has more than anybody is to read in one step."""


class UnencodableMessage(ValueError):
    """What is to be said cannot be said in this version, or is more than a frame may hold."""
