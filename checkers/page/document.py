"""The frame of every page: a document that needs no script and loads nothing."""

from collections.abc import Sequence

from checkers.page.markup import Child, Markup, tag
from checkers.page.style import STYLE

# Nothing may be loaded and no script may run, whatever a hostile string may contain.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document(title: str, body: Sequence[Child]) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *body), lang='en')}\n"


def section(title: str, *parts: Child) -> Markup:
    return tag("section", tag("h2", title), *parts)
