"""What is laid out fast comes back as what `json` would have written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.sealed_run import laid_out

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(codec=None), max_size=5)  # lone surrogates among them
)
CONTENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec=None), max_size=3), inner, max_size=3)
        | st.dictionaries(st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(CONTENTS, st.booleans())
def test_the_same_values_come_back(content: object, sort_keys: bool) -> None:
    text = laid_out(content, sort_keys=sort_keys)
    assert repr(json.loads(text)) == repr(json.loads(json.dumps(content, sort_keys=sort_keys)))
    assert text.endswith(b"\n")


@pytest.mark.parametrize("content", ["a\udcffb", 2**70, float("nan"), float("-inf"), "NaN", "ä"])
def test_what_only_one_of_the_two_ways_takes_is_laid_out(content: object) -> None:
    whole = {"b": content, "a": [1]}
    assert repr(json.loads(laid_out(whole))) == repr(whole)
    plain = json.dumps(whole, indent=2, ensure_ascii="\udcff" in str(content)) + "\n"
    assert laid_out(whole).decode() in (plain, json.dumps(whole, indent=2) + "\n")
