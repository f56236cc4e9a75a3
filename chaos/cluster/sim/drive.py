"""The disk of a simulated machine, with what the harness does to it and keeps on it."""

import random
from collections.abc import Callable, Mapping

from chaos.cluster.evidence import FORGOTTEN
from chaos.cluster.interface import DiskTrouble, PowerCutMode
from chaos.cluster.sim.interim import FileSystem, SimDisk

LOG_DIRECTORY = "kraft"  # below it: other things lie beside, as in containers
CANARY = "canary"
_SYNCED = b"synced long ago\n"
_PAGES = 64  # of the canary: that a torn power cut keeps all of them does not happen
_SYNC_NS = (200_000, 4_000_000)  # a disk that is well
_SLOW_SYNC_NS = 40_000_000


class Drive:
    """`before` is called before every operation that changes the disk; it may raise."""

    def __init__(self, rng: random.Random, before: Callable[[], None]) -> None:
        self._rng = rng
        self._trouble: DiskTrouble | None = None
        self._slow = 0
        self._overwritten = b""
        self.files = FileSystem(before=before)
        self._outer = SimDisk(self.files, "")
        self._outer.make_directory(LOG_DIRECTORY)
        self._outer.replace(CANARY, _SYNCED * (_PAGES * 4096 // len(_SYNCED)))
        self.disk = SimDisk(self.files, LOG_DIRECTORY)

    @property
    def trouble(self) -> DiskTrouble | None:
        return self._trouble

    @property
    def troubled(self) -> int:
        """How many syncs went wrong since they began to."""
        return self._slow if self._trouble is DiskTrouble.SLOW else self.files.lies

    def go_wrong(self, trouble: DiskTrouble) -> None:
        """From now on, until the power is cut."""
        self._trouble = trouble
        self._slow = 0
        self.files.lies = 0
        self.files.lying = trouble is DiskTrouble.LYING

    def sync_ns(self) -> int:
        """How long the next sync takes."""
        if self._trouble is DiskTrouble.SLOW:
            self._slow += 1
            return _SLOW_SYNC_NS
        return self._rng.randrange(*_SYNC_NS)

    def overwrite_canary(self, token: str) -> bool:
        """Without a sync; whether the new bytes can be read."""
        text = f"{token}\n".encode()
        self._overwritten = text * (_PAGES * 4096 // len(text))
        file = self._outer.open(CANARY)
        file.truncate(0)
        file.append(self._overwritten)
        file.close()
        return self._outer.read_all(CANARY) == self._overwritten

    def canary(self) -> str:
        """What is left of the last overwriting: FORGOTTEN if any of it is gone."""
        return "new" if self._outer.read_all(CANARY) == self._overwritten else FORGOTTEN

    def cut_power(self, mode: PowerCutMode) -> None:
        """Forget what was not synced, as `mode` says; no trouble outlives it."""
        self._trouble = None
        self.files.lying = False
        self.files.power_cut(mode, self._rng)

    def log_directory(self) -> Mapping[str, bytes]:
        """The node's files, by their paths in its log directory."""
        prefix = f"{LOG_DIRECTORY}/"
        found = self.files.files()
        return {
            path.lstrip("/").removeprefix(prefix): content
            for path, content in found.items()
            if path.lstrip("/").startswith(prefix)
        }
