"""What a run told, byte for byte: two that did the same told the same."""

from pathlib import Path


def told(run: Path) -> dict[str, bytes]:
    """What the nodes said, and what the clients saw."""
    paths = [*(run / "logs").rglob("*"), *run.glob("events-*")]
    return {str(path.relative_to(run)): path.read_bytes() for path in paths if path.is_file()}
