"""The releases of Apache Kafka by their names on a command line."""

KAFKA = "kafka"
NEWEST = "4.3.1"


def setup_command(release: str, target: str = KAFKA) -> str:
    """The command that makes the image of a release, alone or together with our node."""
    return "kraft-chaos setup --target " + (target if release == NEWEST else f"{target}:{release}")
