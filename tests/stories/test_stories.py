"""Runs the stories of this directory; `pytest --rewrite` writes down what really happens.

README.md maps the rules of KRaft to the stories that tell them.
"""

import re
from pathlib import Path

import pytest

from tests.support.story import format_story, parse_story, retell
from tests.support.story_interpreter import Interpreter

HERE = Path(__file__).parent
STORIES = sorted(HERE.glob("*.story"))


def tell(story: str) -> str:
    """The story, with what really comes of its commands."""
    return format_story(retell(parse_story(story), Interpreter().perform))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_text()
    told = tell(text)
    if pytestconfig.getoption("--rewrite"):
        path.write_text(told)
    else:
        assert text == told, f"{path.name} goes otherwise; see --rewrite"


def test_the_map_names_every_story() -> None:
    named = re.findall(r"\[`([\w-]+)`\]\(\1\.story\)", (HERE / "README.md").read_text())
    assert sorted(set(named)) == sorted(path.stem for path in STORIES)
