"""ConfigRecords of a snapshot, read by the thousand: what they say, without a record for each.

A node that starts waits for as many as there are keys of all its resources (KIP-630).
"""

from collections.abc import Iterator, Sequence

from node.records.schemas import ConfigRecord

# Frame version, type and version, a byte each (`node.records.metadata`).
_FRAME = bytes((1, ConfigRecord.__record_type__, ConfigRecord.__version__))
_TYPE = len(_FRAME)  # where that of the resource stands, and behind it its name
_NAME = _TYPE + 1
_NO_TAGS = b"\0"

PlainEntry = tuple[int, str, str, str]  # type and name of a resource, key, value


def plain_entries(values: Sequence[bytes | None], start: int) -> Iterator[PlainEntry]:
    """Of the values from `start` on, up to the first that is not a ConfigRecord of short ASCII
    strings. That one is for `decode_metadata`, which takes three times as long, and knows what is
    wrong with it if anything is.

    In ASCII a character is a byte, and so is each length, which is one more than it says.
    """
    for at in range(start, len(values)):
        value = values[at]
        if value is None or not value.startswith(_FRAME) or not value.isascii():
            return
        text = value.decode()
        try:
            name_end = _NAME + value[_NAME]
            key_end = name_end + value[name_end]
            end = key_end + value[key_end]
        except IndexError:
            return
        if not value[_NAME] or not value[name_end] or not value[key_end]:
            return  # null
        if value[end:] != _NO_TAGS:
            return
        kind, name, key = value[_TYPE], text[_NAME + 1 : name_end], text[name_end + 1 : key_end]
        yield kind, name, key, text[key_end + 1 : end]
