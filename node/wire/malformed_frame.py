"""What a node hangs up on."""

from node.codec import TooManyElements


class MalformedFrame(Exception):
    """Not a frame of this protocol, or of a version that is not served: hang up, as Kafka does."""

    @property
    def is_too_large(self) -> bool:
        """It has more elements than is taken of it: whoever sent it may mean well."""
        return isinstance(self.__cause__, TooManyElements)
