"""A reader of Fressian, the binary notation of Datomic, as far as Jepsen's files use it.

A value is a code of one byte and its data. Small integers, short strings, short lists and values
met before are in the code alone (`org.fressian.impl.Codes`, `Ranges`). Cached values are remembered
in the order met and referred to by their index later; so are the tags of structs, which are a name
and a number of values. The tags of clojure.data.fressian and of jepsen.store.fressian are known
here; any other is kept under its name. https://github.com/Datomic/fressian/wiki
"""

import struct
from collections.abc import Callable, Iterator

from checkers.foreign.edn import read_one
from checkers.foreign.foreign_values import EdnSet, Value, Word, render

DEEPEST = 120  # nested collections and structs; a test has more of them than a history

_CACHED, _CACHED_STRUCT = 0x80, 0xA0
_FOOTER = b"\xcf\xcf\xcf\xcf"
_BYTES, _BYTES_CHUNK, _BYTES_PACKED = 0xD9, 0xD8, 0xD0
_STRING, _STRING_CHUNK, _STRING_PACKED = 0xE3, 0xE2, 0xDA
_LIST, _LIST_PACKED, _OPEN_LIST, _END = 0xEC, 0xE4, 0xEE, 0xFD
_INT = 0xF8
_CONSTANTS: dict[int, Value] = {0xF5: True, 0xF6: False, 0xF7: None}
_FLOATS = {0xFB: 0.0, 0xFC: 1.0}
# First code, code of zero, and bytes that follow, for integers that begin in their code.
_PACKED = ((0x40, 0x50, 1), (0x60, 0x68, 2), (0x70, 0x72, 3), (0x74, 0x76, 4), (0x78, 0x7A, 5))
_WIDEST = (0x7C, 0x7E, 6)
# Structs that have codes of their own, and their numbers of values.
_STRUCTS = {
    0xB0: ("long[]", 2),
    0xB1: ("double[]", 2),
    0xB2: ("boolean[]", 2),
    0xB3: ("int[]", 2),
    0xB4: ("float[]", 2),
    0xB5: ("Object[]", 2),
    0xC0: ("map", 1),
    0xC1: ("set", 1),
    0xC3: ("uuid", 1),
    0xC4: ("regex", 1),
    0xC5: ("uri", 1),
    0xC6: ("bigint", 1),
    0xC7: ("bigdec", 2),
    0xC8: ("inst", 1),
    0xC9: ("sym", 2),
    0xCA: ("key", 2),
}
_MOST_PLACES = 10_000
_OPERATION = "jepsen.history.Op"
_FIELDS = (":index", ":time", ":type", ":process", ":f", ":value")


class FressianError(Exception):
    """Bytes that are no Fressian. The message says what was found, and where."""


class FressianReader:
    """Reads one value after the other; what one value caches serves later ones."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._depth = 0
        self._cache: list[Value] = []
        self._structs: list[tuple[str, int]] = []

    def values(self) -> Iterator[Value]:
        """All values. Raises FressianError."""
        while self._at < len(self._data):
            if self._data.startswith(_FOOTER, self._at):
                # and the length and checksum, which the block's own have covered already
                self._take(12)
                self._forget()
                continue
            yield self._value()

    def _value(self) -> Value:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FressianError(f"more than {DEEPEST} values in each other, at byte {self._at}")
        value = self._of(self._code())
        self._depth -= 1
        return value

    def _of(self, code: int) -> Value:
        if code < 0x80 or code in (0xFF, _INT):
            return self._integer(code)
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _FLOATS:
            return _float(_FLOATS[code])
        if _CACHED <= code < _CACHED_STRUCT:
            return self._remembered(code - _CACHED)
        if _CACHED_STRUCT <= code < 0xB0:
            return self._struct(*self._known_struct(code - _CACHED_STRUCT))
        if code in _STRUCTS:
            return self._struct(*_STRUCTS[code])
        if _BYTES_PACKED <= code <= _BYTES:
            return Word(f'#bytes "{self._chunks(code, _BYTES_PACKED, _BYTES_CHUNK, _BYTES).hex()}"')
        if _STRING_PACKED <= code <= _STRING:
            return _text(self._chunks(code, _STRING_PACKED, _STRING_CHUNK, _STRING))
        if _LIST_PACKED <= code <= _LIST:
            count = self._count() if code == _LIST else code - _LIST_PACKED
            return tuple(self._value() for _ in range(count))
        match code:
            case 0xCC:
                return self._remembered(self._count())
            case 0xCD:
                place = len(self._cache)
                self._cache.append(None)
                self._cache[place] = self._value()
                return self._cache[place]
            case 0xED | 0xEE:
                return tuple(self._listed(code == _OPEN_LIST))
            case 0xEF:
                tag = self._value()
                named = (tag if isinstance(tag, str) else render(tag), self._count())
                self._structs.append(named)
                return self._struct(*named)
            case 0xF0:
                return self._struct(*self._known_struct(self._count()))
            case 0xF9:
                return _float(struct.unpack(">f", self._take(4))[0])
            case 0xFA:
                return _float(struct.unpack(">d", self._take(8))[0])
            case 0xFE:
                self._forget()
                return self._value()
        raise FressianError(f"the code 0x{code:02x} at byte {self._at - 1}, which stands for none")

    def _struct(self, tag: str, count: int) -> Value:
        if tag.endswith("[]"):
            return tuple(self._value() for _ in range(self._count()))
        if tag in ("bigint", "bigdec"):
            number = int.from_bytes(self._raw_bytes(), "big", signed=True)
            return number if tag == "bigint" else _decimal(number, self._value())
        parts = [self._value() for _ in range(count)]
        if tag == _OPERATION and count == len(_FIELDS) + 1:
            more = parts.pop()
            fields = dict(zip(_FIELDS, parts, strict=True))
            return fields | more if isinstance(more, dict) else fields
        try:
            return _TAGGED[tag](*parts) if tag in _TAGGED else {":tag": tag, ":of": tuple(parts)}
        except (TypeError, ValueError) as error:
            raise FressianError(f"a {tag} that is none, before byte {self._at}") from error

    def _listed(self, open_ended: bool) -> Iterator[Value]:
        while not (open_ended and self._at == len(self._data)):
            if self._data[self._at : self._at + 1] == bytes([_END]):
                self._at += 1
                return
            yield self._value()

    def _integer(self, code: int) -> int:
        if code == _INT:
            return int.from_bytes(self._take(8), "big", signed=True)
        if code == 0xFF or code < 0x40:
            return -1 if code == 0xFF else code
        for first, zero, more in (_WIDEST, *reversed(_PACKED)):
            if code >= first:
                return ((code - zero) << 8 * more) | int.from_bytes(self._take(more), "big")
        raise AssertionError(code)

    def _chunks(self, code: int, packed: int, chunk: int, last: int) -> bytes:
        """Bytes in one piece, or in chunks of which the last has another code."""
        found = []
        while code == chunk:
            found.append(self._take(self._count()))
            code = self._code()
        if not packed <= code <= last:
            raise FressianError(f"a chunk without an end, before byte {self._at}")
        found.append(self._take(self._count() if code == last else code - packed))
        return b"".join(found)

    def _raw_bytes(self) -> bytes:
        code = self._code()
        if not _BYTES_PACKED <= code <= _BYTES:
            raise FressianError(f"a number without bytes, at byte {self._at - 1}")
        return self._chunks(code, _BYTES_PACKED, _BYTES_CHUNK, _BYTES)

    def _count(self) -> int:
        value = self._value()
        if type(value) is not int or not 0 <= value <= len(self._data):
            raise FressianError(f"a count that cannot be, before byte {self._at}")
        return value

    def _remembered(self, place: int) -> Value:
        if place >= len(self._cache):
            raise FressianError(f"a name of value {place}, of which there is none")
        return self._cache[place]

    def _known_struct(self, place: int) -> tuple[str, int]:
        if place >= len(self._structs):
            raise FressianError(f"a name of tag {place}, of which there is none")
        return self._structs[place]

    def _forget(self) -> None:
        self._cache.clear()
        self._structs.clear()

    def _code(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise FressianError("a value that is cut off")
        self._at += count
        return taken


def _text(data: bytes) -> str:
    """Pairs of surrogates are written as two characters of three bytes each."""
    try:
        text = data.decode("utf-8", "surrogatepass")
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    except UnicodeDecodeError as error:
        raise FressianError("a string that is no UTF-8") from error


def _float(number: float) -> Value:
    """As EDN has it, whatever that makes of it."""
    names = {"inf": "##Inf", "-inf": "##-Inf", "nan": "##NaN"}
    text = repr(number)
    return read_one(names.get(text, text))


def _decimal(unscaled: int, scale: Value) -> Value:
    if type(scale) is not int or abs(scale) > _MOST_PLACES:
        raise FressianError("a decimal number of too many places")
    return read_one(f"{unscaled}e{-scale}M")


def _map(items: Value) -> Value:
    found = _items(items)
    keys = [key.text if isinstance(key, Word) else render(key) for key in found[::2]]
    return dict(zip(keys, found[1::2], strict=True))


def _set(items: Value) -> Value:
    return EdnSet(tuple(sorted(map(render, _items(items)))))


def _items(items: Value) -> tuple[Value, ...]:
    """A set without elements is written as nil."""
    if items is None:
        return ()
    if not isinstance(items, tuple):
        raise TypeError(items)
    return items


def _named(prefix: str) -> Callable[[Value, Value], Value]:
    def made(space: Value, name: Value) -> Value:
        if not isinstance(name, str):
            raise TypeError(name)
        return Word(f"{prefix}{space}/{name}" if isinstance(space, str) else f"{prefix}{name}")

    return made


def _character(code: Value) -> Value:
    if type(code) is not int:
        raise TypeError(code)
    return read_one(f"\\{chr(code)}") if chr(code).isprintable() and code != 32 else Word("\\space")


_TAGGED: dict[str, Callable[..., Value]] = {
    "map": _map,
    "set": _set,
    "persistent-hash-set": _set,
    "persistent-sorted-set": _set,
    "key": _named(":"),
    "sym": _named(""),
    "char": _character,
    "ratio": lambda numerator, denominator: read_one(f"{numerator}/{denominator}"),
    "record": lambda _name, fields: fields,
    "map-entry": lambda key, value: (key, value),
    "vec": lambda items: _items(items),
    "atom": lambda value: value,
    "byte": lambda number: number,
    "multiset": lambda counts: counts,
}
