"""The image of a snapshot, of which nothing is seen before it is whole."""

from collections.abc import Sequence

from node.controller.image import Image
from node.raft.client import SnapshotPart
from node.records.config_entries import plain_entries
from node.records.metadata import decode_metadata


class ImageLoader:
    def __init__(self) -> None:
        self._loading = _empty()

    def load(self, part: SnapshotPart) -> Image | None:
        """The image, with the last part; what came before a first part counts no more."""
        if part.is_first:
            self._loading = _empty()
        self._replay(part.values)
        if not part.is_last:
            return None
        image, self._loading = self._loading, _empty()
        return image

    def _replay(self, values: Sequence[bytes | None]) -> None:
        image, at = self._loading, 0
        while at < len(values):
            at += image.configs.load(plain_entries(values, at))
            if at < len(values):
                image.replay(decode_metadata(values[at]))
                at += 1


def _empty() -> Image:
    image = Image()
    image.begin_loading()
    return image
