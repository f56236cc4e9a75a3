r"""A strict reader of EDN, Clojure's data notation, as far as histories use it.

Maps, vectors, lists, sets, keywords, symbols, strings, characters, integers (also `7N`), floats
(also `1.5M`), ratios, nil, true, false; `;` comments and `#_` discards are skipped. The tag of a
tagged literal (`#inst "..."`, `#jepsen.history.Op{...}`) is skipped and the form kept. Numbers are
exact: those of more digits than any history has are refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.foreign.foreign_values import (
    ABSENT,
    EdnSet,
    MalformedError,
    Value,
    Word,
    big_decimal_of,
    excerpt,
    float_of,
    ratio_of,
    render,
)

DEEPEST = 64  # nested collections; real histories have five

_TOKEN = re.compile(
    r"""(?:[\s,]++|;[^\n]*+)*+
    (?: ("[^"\\]*+(?:\\.[^"\\]*+)*+")       # 1 string
      | ([\[({]|\#\{)                       # 2 begin
      | ([\])}])                            # 3 end
      | (\#_)                               # 4 discard
      | (\#[A-Za-z][^\s,()\[\]{}";\#]*+)    # 5 tag
      | (\\[^\s][^\s,()\[\]{}";]*+ | (?:\#\#)?[^\s,()\[\]{}";\#\\][^\s,()\[\]{}";]*+)  # 6 atom
      | (\Z) )                              # 7 the end of the text
    """,
    re.VERBOSE | re.DOTALL,
)
_STRING, _BEGIN, _END, _DISCARD, _TAG, _ATOM, _EOF = range(1, 8)

# Most of a history is words between brackets: those that follow each other are taken in one step.
_ATOMS = re.compile(r"(?:[\s,]*+[^\s,()\[\]{}\";\#\\]++(?![\#\\]))++")

_SKIPPED = re.compile(r"(?:[\s,]++|;[^\n]*+)*+")
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,399})N?")
_NUMBER = re.compile(r"[+-]?[0-9]")  # what begins so is one, or nothing
_WORD = re.compile(r":?[\w.*+!\-?$%&=<>/|:'#@]+|\\\S.*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
_SPECIAL: dict[str, Value] = {
    "nil": None,
    "true": True,
    "false": False,
    "##Inf": Word("##Inf"),
    "##-Inf": Word("##-Inf"),
    "##NaN": Word("##NaN"),
}
_CLOSED_BY = {"[": "]", "(": ")", "{": "}", "#{": "}"}


@dataclass(slots=True)
class _Open:
    """A collection being read; `awaited` are the tags and discards that wait for its next form."""

    begin: str
    at: int
    items: list[Value] = field(default_factory=list)
    awaited: list[int] = field(default_factory=list)

    def wants_next(self) -> bool:
        """Whether the form that has just ended stays: not if a discard waited for it."""
        while self.awaited and self.awaited[-1] == _TAG:
            self.awaited.pop()
        if self.awaited:
            self.awaited.pop()
            return False
        return True


def forms(text: str, *, unwrap: bool) -> Iterator[tuple[int, Value]]:
    """Top-level forms, each with the line where it begins, as they are read.

    With `unwrap`, a text that is one vector or list gives its elements instead. Raises
    MalformedError.
    """
    stack = [_Open(begin="", at=0)]
    top = stack[0]
    yielded_at = 1  # depth of the stack at which a form that ends is handed out
    first = unwrap
    atoms = dict(_SPECIAL)
    line, counted, at = 1, 0, 0
    while True:
        if len(stack) > yielded_at and not top.awaited and (run := _ATOMS.match(text, at)):
            for word in run[0].replace(",", " ").split():
                if word not in atoms:
                    _learn(atoms, word, text, at)
                top.items.append(atoms[word])
            at = run.end()
        token = _TOKEN.match(text, at)
        if token is None:
            raise _no_token(text, at)
        kind = token.lastindex
        assert kind is not None
        start, at = token.span(kind)
        value: Value
        if kind == _ATOM:
            word = token[_ATOM]
            if word not in atoms:
                _learn(atoms, word, text, start)
            value = atoms[word]
        elif kind == _STRING:
            value = _string(token[_STRING], text, start)
        elif kind == _BEGIN:
            outermost = first and len(stack) == 1 and _DISCARD not in top.awaited
            if outermost and token[_BEGIN] in "[(":
                yielded_at = 2
            top = _Open(begin=token[_BEGIN], at=start)
            stack.append(top)
            if len(stack) > DEEPEST:
                raise _error(text, start, f"at most {DEEPEST} nested collections", "more")
            continue
        elif kind == _END:
            _require_match(top, token[_END], text, start)
            if len(stack) == yielded_at:
                _require_end(text, at)
                return
            value = _collection(top, text)
            start = top.at
            stack.pop()
            top = stack[-1]
        elif kind == _EOF:
            _require_closed(top, text)
            return
        else:
            top.awaited.append(kind)
            continue
        if top.awaited and not top.wants_next():
            continue
        if len(stack) == yielded_at:
            first = False
            line += text.count("\n", counted, start)
            counted = start
            yield line, value
        else:
            top.items.append(value)


def read_one(text: str) -> Value:
    """The only form of `text`. Raises ValueError."""
    try:
        ((_line, value),) = forms(text, unwrap=False)
    except MalformedError as error:
        raise ValueError(str(error)) from error
    return value


def _error(text: str, at: int, expected: str, found: str) -> MalformedError:
    return MalformedError(text.count("\n", 0, at) + 1, expected, found)


def _no_token(text: str, at: int) -> MalformedError:
    skipped = _SKIPPED.match(text, at)
    assert skipped is not None
    at = skipped.end()
    if text[at] == '"':
        return _error(text, at, "a string that ends", excerpt(text[at:]))
    return _error(text, at, "EDN", excerpt(text[at:]))


def _require_match(top: _Open, end: str, text: str, at: int) -> None:
    if top.awaited:
        raise _error(text, at, "a form after a tag or #_", f"'{end}'")
    if not top.begin:
        raise _error(text, at, "a form", f"'{end}' that closes nothing")
    if _CLOSED_BY[top.begin] != end:
        where = text.count("\n", 0, top.at) + 1
        closer = _CLOSED_BY[top.begin]
        raise _error(
            text, at, f"'{closer}' for the '{top.begin}' of line {where}", excerpt(text[at:])
        )


def _require_end(text: str, at: int) -> None:
    token = _TOKEN.match(text, at)
    if token is None or token.lastindex != _EOF:
        raise _error(text, at, "the end of the file after its vector", excerpt(text[at:].strip()))


def _require_closed(top: _Open, text: str) -> None:
    if top.begin:
        closer = _CLOSED_BY[top.begin]
        raise _error(
            text, top.at, f"'{closer}' for this '{top.begin}'", "the end of the file (truncated?)"
        )
    if top.awaited:
        raise _error(text, len(text), "a form after a tag or #_", "the end of the file")


def _collection(closed: _Open, text: str) -> Value:
    items = closed.items
    if closed.begin in "[(":
        return tuple(items)
    if closed.begin == "#{":
        return EdnSet(tuple(sorted(map(render, items))))
    if len(items) % 2:
        raise _error(text, closed.at, "a map of keys and values", "a key without a value")
    keys = [key.text if type(key) is Word else render(key) for key in items[::2]]
    result = dict(zip(keys, items[1::2], strict=True))
    if len(result) * 2 != len(items):
        raise _error(text, closed.at, "a map of different keys", "one key twice")
    return result


def _string(quoted: str, text: str, at: int) -> str:
    inside = quoted[1:-1]
    if "\\" not in inside:
        return inside

    def unescape(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code not in _ESCAPED:
            raise _error(text, at, "a string with EDN's escapes", f"'\\{code}'")
        return _ESCAPED[code]

    return _ESCAPE.sub(unescape, inside)


def _learn(atoms: dict[str, Value], word: str, text: str, at: int) -> None:
    """Adds a word that is the next at `at`, or comes after other words. Raises MalformedError."""
    value = _atom(word)
    if value is ABSENT:
        among = re.compile(r"[^\s,()\[\]{}\";]+").finditer(text, at)
        start = next(each.start() for each in among if each[0] == word)
        raise _error(text, start, "a keyword, symbol or number of EDN", excerpt(word))
    atoms[word] = value


def _atom(word: str) -> Value:
    """A keyword, symbol or number; ABSENT for what is none of them."""
    if _INTEGER.fullmatch(word):
        return int(word.removesuffix("N"))
    for number_of in (float_of, ratio_of, big_decimal_of):
        number = number_of(word)
        if number is not None:
            return number
    if not _WORD.fullmatch(word) or _NUMBER.match(word) or word in (":", "\\"):
        return ABSENT
    return Word(word)
