"""A-CUT-SHORT: now and then a description of configs is sent without its last byte, which says that
no tagged fields follow (KIP-482)."""

from typing import Any
from zlib import crc32

from chaos.mutations.planted import Planted
from node.codec import write_whole
from node.wire import frames

ONE_IN = 100
DESCRIPTION = "DescribeConfigsResponse"


def cut_short(entity: Any) -> bytes:
    """Which ones follows from their bytes: a seed gives the same again."""
    whole = write_whole(entity)
    unlucky = type(entity).__name__ == DESCRIPTION and crc32(whole) % ONE_IN == 0
    return whole[:-1] if unlucky else whole


PLANTED = Planted(owner=frames, decision="write_whole", wrong=cut_short)
