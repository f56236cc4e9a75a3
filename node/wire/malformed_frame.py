"""What a node hangs up on."""


class MalformedFrame(Exception):
    """Not a frame of this protocol, or of a version that is not served: hang up, as Kafka does."""
