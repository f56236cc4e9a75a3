"""The releases of Apache Kafka by the words of a command line."""

KAFKA = "kafka"
NEWEST = "4.3.1"


def setup_command(release: str) -> str:
    """What makes the image of a release."""
    return "kraft-chaos setup --target " + (KAFKA if release == NEWEST else f"{KAFKA}:{release}")
