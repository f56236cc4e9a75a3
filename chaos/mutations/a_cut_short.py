"""A-CUT-SHORT: now and then a DescribeConfigs answer lacks its last byte, which says that no tagged
fields follow (KIP-482)."""

from typing import Any
from zlib import crc32

from chaos.mutations.planted import Planted
from node.wire import frames
from node.wire.api import Api
from node.wire.configs import DESCRIBE_CONFIGS
from node.wire.headers import RequestHeader

ONE_IN = 100
_HEADER_BYTES = 5  # of the answer: its correlation id, and that no tagged fields follow

_packed = frames.packed_response


def cut_short(api: Api, header: RequestHeader, response: Any) -> bytes:
    """Chosen by the answers' bytes, so that a seed gives the same again."""
    whole = _packed(api, header, response) or frames.written_response(api, header, response)
    unlucky = api is DESCRIBE_CONFIGS and crc32(whole[_HEADER_BYTES:]) % ONE_IN == 0
    return whole[:-1] if unlucky else whole


PLANTED = Planted(owner=frames, decision="packed_response", wrong=cut_short)
