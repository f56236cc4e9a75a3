"""The image of a snapshot, of which nothing is seen before it is whole."""

from node.controller.image import Image
from node.raft.client import SnapshotPart
from node.records.metadata import decode_metadata


class ImageLoader:
    def __init__(self) -> None:
        self._loading = _empty()

    def load(self, part: SnapshotPart) -> Image | None:
        """The image, with the last part; what came before a first part counts no more."""
        if part.is_first:
            self._loading = _empty()
        replay = self._loading.replay
        for value in part.values:
            replay(decode_metadata(value))
        if not part.is_last:
            return None
        image, self._loading = self._loading, _empty()
        return image


def _empty() -> Image:
    image = Image()
    image.begin_loading()
    return image
