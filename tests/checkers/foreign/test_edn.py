"""The reader of EDN: what it takes, what it refuses, and on which line."""

import random
from decimal import Decimal

import pytest

from checkers.foreign.edn import forms, read_one
from checkers.foreign.foreign_values import EdnSet, MalformedError, Value, Word, render


def read(text: str, *, unwrap: bool = False) -> list[Value]:
    return [form for _line, form in forms(text, unwrap=unwrap)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ("true", True),
        ("false", False),
        ("42", 42),
        ("-7", -7),
        ("+7", 7),
        ("12345678901234567890N", 12345678901234567890),
        ("1.5", Decimal("1.5")),
        ("-1e3", Decimal(-1000)),
        ("2.50M", Word("2.5M")),
        ("3/4", Word("3/4")),
        (":read", Word(":read")),
        (":jepsen.etcd/lock", Word(":jepsen.etcd/lock")),
        ("symbol", Word("symbol")),
        ("nilly", Word("nilly")),
        (r'"a \"b\" \\ \n é"', 'a "b" \\ \n é'),
        ('"two\nlines"', "two\nlines"),
        (r"\a", Word(r"\a")),
        ("[1 (2 3) []]", (1, (2, 3), ())),
        ("#{2 1 3}", EdnSet(("1", "2", "3"))),
        ("{:a 1, :b [2]}", {":a": 1, ":b": (2,)}),
        ('{"a" nil, 3 4, [5] 6}', {'"a"': None, "3": 4, "[5]": 6}),
        ('#inst "1985-04-12"', "1985-04-12"),
        ("#jepsen.history.Op{:index 1}", {":index": 1}),
        ("[1 #_ 2 3 #_#_ 4 5]", (1, 3)),
        ("[1 ; two ]\n 3]", (1, 3)),
        ("#_ #foo {:gone 1} #bar #_ gone 7", 7),
        ("##Inf", Word("##Inf")),
    ],
)
def test_reads(text: str, value: Value) -> None:
    assert read(text) == [value]


_PIECES = (
    "nil",
    "7",
    "-1.5",
    ":a/b",
    ":a",
    "sym",
    "a'b",
    r"\a",
    r"\newline",
    "##Inf",
    '"s w"',
    "x#y",
)
_GLUE = (
    " ",
    ",",
    ", ",
    "\n",
    "\t, ",
    "\x1f",
    "\xa0",
    " ; [a\n",
    " #_ gone ",
    " #_#_ [1 2] gone ",
    " #t ",
)


@pytest.mark.parametrize("seed", range(300))
def test_words_in_a_row_are_what_each_is_by_itself(seed: int) -> None:
    draw = random.Random(seed)
    text, expected = "[", []
    for _ in range(draw.randrange(12)):
        piece = draw.choice(_PIECES)
        value = read_one(piece)
        if draw.random() < 0.2:
            piece, value = f"[{piece}]", (value,)
        text += draw.choice(_GLUE) + piece
        expected.append(value)
    text += draw.choice((" ", ",", "\n", "")) + "]"
    assert read(text) == [tuple(expected)], text
    bad = draw.choice(("12ab", "a~`b", ":", "1/0"))
    lines = text.count("\n") + 1
    with pytest.raises(MalformedError, match="a keyword, symbol or number") as caught:
        read(f"{text[:-1]}\n :fine {bad} {bad}]")
    assert caught.value.line == lines + 1, text


def test_hands_out_forms_with_their_lines() -> None:
    text = "; a comment\n{:a 1}\n\n{:a\n 2} 3\n"
    assert list(forms(text, unwrap=True)) == [(2, {":a": 1}), (4, {":a": 2}), (5, 3)]


@pytest.mark.parametrize("text", ["[1\n2 [3]]", "; begin\n(1 2 [3])", "#history [1 2 [3]] ; end\n"])
def test_unwraps_a_file_that_is_one_vector_or_list(text: str) -> None:
    assert read(text, unwrap=True) == [1, 2, (3,)]
    assert read(text) == [(1, 2, (3,))]


def test_unwraps_nothing_after_other_forms() -> None:
    assert read("1 [2]", unwrap=True) == [1, (2,)]
    assert read("#_ [1] [2 3]", unwrap=True) == [2, 3]


def test_hands_out_what_is_whole_before_it_meets_what_is_broken() -> None:
    reader = forms("{:a 1}\n{:b", unwrap=True)
    assert next(reader) == (1, {":a": 1})
    with pytest.raises(MalformedError, match="end of the file"):
        next(reader)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1\n{:a 1", 2, "expected '}' for this '{', found the end of the file"),
        ("{:a\n [1 2}", 2, r"expected '\]' for the '\[' of line 2, found '}'"),
        ("1\n2 )", 2, "that closes nothing"),
        ("{:a}", 1, "a key without a value"),
        ("\n{:a 1 :a 2}", 2, "one key twice"),
        ('1 "abc\ndef', 1, "a string that ends"),
        (r'"\q"', 1, r"escapes, found '\\q'"),
        ("[1] 2", 1, "end of the file after its vector"),
        ("[1 #_]", 1, "a form after a tag or #_"),
        ("1 #tag", 1, "a form after a tag or #_, found the end"),
        ("12ab", 1, "a keyword, symbol or number"),
        ("1\n" + "9" * 401, 2, "a keyword, symbol or number"),
        ("-" + "9" * 401, 1, "a keyword, symbol or number"),
        ("017", 1, "a keyword, symbol or number"),
        ("1/0", 1, "a keyword, symbol or number"),
        ("1e123456", 1, "a keyword, symbol or number"),
        ("0." + "1" * 4001, 1, "a keyword, symbol or number"),
        (":", 1, "a keyword, symbol or number"),
        ("a\n~@b", 2, "a keyword, symbol or number"),
        ("1\n#", 2, "expected EDN, found '#'"),
        ("[" * 100, 1, "at most 64 nested collections"),
    ],
)
def test_refuses_with_a_line(text: str, line: int, message: str) -> None:
    with pytest.raises(MalformedError, match=message) as caught:
        read(text, unwrap=True)
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["nil", '"1"', "1", "1.0", ":a", "[1 [nil]]", '{:a "b"}', "#{}"])
def test_renders_so_that_what_differs_reads_differently(text: str) -> None:
    (value,) = read(text)
    assert render(value) == text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1.00000000000000000001M", "1.00000000000000000002M", False),
        ("0.1234567890123456789", "0.12345678901234567", False),
        ("1e999", "2e999", False),
        ("1e999", "10e998", True),
        ("1.50", "1.5", True),
        ("1.50M", "1.5M", True),
        ("1.5M", "1.5", False),
        ("100.0", "1E2", True),
        ("-0.0", "0e7", True),
        ("1.0", "1", False),
        ("1N", "1", True),
        ("2/4", "1/2", True),
        ("4/2", "2", True),
        ("-3/6", "-1/2", True),
        ("1/3", "0.3333333333333333", False),
        ("123456789012345678901234567890.5", "123456789012345678901234567890.6", False),
        ("0.000000000000000000000000000001", "0.000000000000000000000000000002", False),
    ],
)
def test_numbers_are_as_exact_as_they_were_written(one: str, other: str, same: bool) -> None:
    first, second = read(f"{one} {other}")
    assert (render(first) == render(second)) is same


@pytest.mark.parametrize(
    "text", ["0.0", "1.5", "-20.0", "0.001", "1.0E+400", "-7.0E-30", "12.0E+99"]
)
def test_a_float_is_shown_as_it_is(text: str) -> None:
    (value,) = read(text)
    assert isinstance(value, Decimal)
    assert Decimal(render(value)) == Decimal(text)
    assert len(render(value)) < 25
