"""What every page must be: whole, and loading nothing."""

import re
from html.parser import HTMLParser

_VOID = frozenset({"meta", "br", "col", "img", "link", "input", "hr"})
_LOADING = frozenset({"src", "srcset", "data", "poster", "action", "background", "xlink:href"})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.loads: list[str] = []
        self.styles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        loading = _LOADING if tag == "a" else _LOADING | {"href"}
        self.loads += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name in loading and not (value or "").startswith("#")
        ]
        self.styles += [value or "" for name, value in attrs if name == "style"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)


def assert_self_contained(page: str) -> None:
    """Every element is closed; none of them, and no style, loads anything."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.loads == []
    for style in reader.styles:
        assert not re.search(r"@import|url\((?!#)", style)
    assert "Content-Security-Policy" in page
