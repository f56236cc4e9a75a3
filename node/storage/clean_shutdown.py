"""`.kafka_cleanshutdown`: that the logs of a broker are whole, and in which epoch it shut down
(KIP-966, "Detection of an unclean shutdown").

It vouches for bytes, so it is written when they are durable, and is durable itself before the
process ends. It is removed, durably, before anything is written again: a process that is then
killed vouches for nothing.
"""

import json

from node.ids import NO_BROKER_EPOCH
from node.storage.disk import Disk

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def save_clean_shutdown(disk: Disk, broker_epoch: int) -> None:
    """All logs were flushed before this call."""
    text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.replace(CLEAN_SHUTDOWN, text.encode())


def take_clean_shutdown(disk: Disk) -> int:
    """The broker epoch in which the last process shut down cleanly, which nobody can ask for
    again; -1 if it did not, or what it left behind cannot be read."""
    if not disk.exists(CLEAN_SHUTDOWN):
        return NO_BROKER_EPOCH
    text = disk.read_all(CLEAN_SHUTDOWN)
    disk.remove(CLEAN_SHUTDOWN)
    try:
        match json.loads(text):
            case {"version": 0, "brokerEpoch": int(epoch)}:
                return epoch
    except ValueError:
        pass
    return NO_BROKER_EPOCH
