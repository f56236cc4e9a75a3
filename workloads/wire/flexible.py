"""The types of Kafka's protocol, in its flexible encoding (KIP-482), written and read by hand."""

_LONGEST_VARINT = 28  # shift of the fifth byte: lengths have 32 bits


class MalformedResponseError(Exception):
    """An answer that violates the protocol; the outcome of its request is in doubt."""


def varint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def string(text: str) -> bytes:
    """A compact string."""
    data = text.encode()
    return varint(len(data) + 1) + data


def nullable_string(text: str | None) -> bytes:
    """A compact string, or null."""
    return b"\x00" if text is None else string(text)


def array(items: list[bytes]) -> bytes:
    """A compact array of encoded elements."""
    return varint(len(items) + 1) + b"".join(items)


class MessageReader:
    """A cursor over a flexible message; every read past the end is MalformedAnswerError."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def skip(self, size: int) -> int:
        start = self.position
        self.position = start + size
        if self.position > len(self.data):
            raise MalformedResponseError(f"ends after {len(self.data)} bytes")
        return start

    def int8(self) -> int:
        start = self.skip(1)
        return int.from_bytes(self.data[start : start + 1], "big", signed=True)

    def int16(self) -> int:
        start = self.skip(2)
        return int.from_bytes(self.data[start : start + 2], "big", signed=True)

    def int32(self) -> int:
        start = self.skip(4)
        return int.from_bytes(self.data[start : start + 4], "big", signed=True)

    def int64(self) -> int:
        start = self.skip(8)
        return int.from_bytes(self.data[start : start + 8], "big", signed=True)

    def varint(self) -> int:
        at = self.position
        if at < len(self.data) and (first := self.data[at]) < 0x80:
            self.position = at + 1  # one byte, as nearly always
            return first
        value = shift = 0
        while True:
            byte = self.data[self.skip(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > _LONGEST_VARINT:
                raise MalformedResponseError("a length of more than five bytes")

    def string(self) -> str | None:
        start = self.position
        end = start + (self.data[start] if start < len(self.data) else 0)
        if start < end <= len(self.data) and end - start < 0x80:
            self.position = end  # a size of one byte, as nearly always
            start += 1
        else:
            size = self.varint()
            if size == 0:
                return None
            start = self.skip(size - 1)
        try:
            return self.data[start : self.position].decode()
        except UnicodeDecodeError:
            raise MalformedResponseError("a string that is not UTF-8") from None

    def name(self) -> str:
        """A string that must be there."""
        text = self.string()
        if text is None:
            raise MalformedResponseError("a null where a name belongs")
        return text

    def data_block(self) -> bytes:
        """Compact bytes; null ones are empty."""
        size = self.varint()
        if size <= 1:
            return b""
        start = self.skip(size - 1)
        return self.data[start : self.position]

    def count(self) -> int:
        """How many elements follow; a null array has none."""
        return max(self.varint() - 1, 0)

    def expect_one(self) -> None:
        found = self.count()
        if found != 1:
            raise MalformedResponseError(f"{found} results for one question")

    def tags(self) -> None:
        """Skip tagged fields: KIP-482 lets any message carry unknown ones."""
        if self.data.startswith(b"\0", self.position):
            self.position += 1  # as nearly always
            return
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())

    def end(self) -> None:
        self.tags()
        if self.position != len(self.data):
            raise MalformedResponseError(f"{len(self.data) - self.position} bytes too many")
