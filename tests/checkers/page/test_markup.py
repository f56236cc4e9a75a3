"""Foreign strings in a page: they stay text, whatever they hold."""

import pytest

from checkers.page.document import TEXT_LIMIT, Markup, clipped, escaped, joined, tag

HOSTILE = [
    "<script>alert(1)</script>",
    "\" onload=\"alert('x')",
    "a & b &amp; c",
    "</style></svg><img src=x>",
    "]]> --> <!--",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_string_is_never_markup(text: str) -> None:
    for shown in (tag("td", text), tag("td", class_=text)):
        inside = shown.removeprefix("<td").removesuffix("></td>").removesuffix("</td>")
        assert "<" not in inside
        assert inside.count('"') in (0, 2)


def test_markup_of_ours_is_kept() -> None:
    assert tag("p", tag("b", "x"), " & ") == "<p><b>x</b> &amp; </p>"
    assert escaped(Markup("<br>")) == "<br>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a\\u0000b"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("abc\u202edef", "abc\\u202edef"),
        ("\ud800", "\\ud800"),
        ("two\nlines\tand é", "two\nlines\tand é"),
    ],
)
def test_what_would_not_be_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    assert escaped(text) == shown
    escaped(text).encode()


def test_a_whole_log_as_an_error_text_is_clipped() -> None:
    assert clipped("x" * 10) == "x" * 10
    assert len(escaped("x" * 1_000_000)) < TEXT_LIMIT + 50
    assert escaped("x" * (TEXT_LIMIT + 5)).endswith("(5 more characters)")


def test_attributes_that_are_none_are_left_out_and_numbers_are_short() -> None:
    assert tag("line", x1=1.0, y_2=2.25, class_=None) == '<line x1="1" y-2="2.2"></line>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_none_shows_nothing() -> None:
    assert joined(None, 0, "a") == "0a"
