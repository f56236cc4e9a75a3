"""A directory id for a disk that has none."""

from uuid import UUID, uuid4

from node.ids import uuid_text


def new_directory_id() -> UUID:
    """As Kafka draws them: none whose text begins with a dash, which commands would take for an
    option."""
    while uuid_text(drawn := uuid4()).startswith("-"):
        pass
    return drawn
