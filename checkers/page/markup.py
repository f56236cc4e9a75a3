"""HTML and SVG by construction: everything that is not `Markup` is escaped.

A foreign string can be placed in a page only as a child or an attribute of `tag`, so a scenario
called `<script>` stays a name.
"""

import html
import re

TEXT_LIMIT = 2_000  # characters of one foreign string; an error text may be a whole log

# Characters that change how a text reads: controls, bidirectional overrides, lone surrogates (which
# cannot even be encoded).
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_VOID_TAGS = frozenset({"meta", "br", "col"})

Child = str | int | None


class Markup(str):
    """Text that already is our own markup."""

    __slots__ = ()


def clipped(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text of at most `limit` characters, and how much it lost."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … ({len(text) - limit} more characters)"


def escaped(value: Child) -> Markup:
    """The markup that shows `value` as it is; invisible characters by their number."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup("")
    visible = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", clipped(str(value)))
    return Markup(html.escape(visible, quote=True))


def tag(element: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """An element; attributes that are None are left out, `class_` is class, `_` is a hyphen."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _VOID_TAGS:
        return Markup(f"<{element}{written}>")
    return Markup(f"<{element}{written}>{joined(*children)}</{element}>")


def joined(*parts: Child) -> Markup:
    return Markup("".join(map(escaped, parts)))


def _number(value: str | int | float) -> str | int:
    """Pixels to a tenth: more digits only make the page longer."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
