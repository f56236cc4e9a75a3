"""The language of the stories: what it refuses, and that it keeps what it is given."""

import pytest

from tests.stories.test_stories import STORIES
from tests.support.story import format_story, parse_story
from tests.support.story_command import StoryError
from tests.support.story_interpreter import Interpreter


def perform(text: str) -> list[str]:
    interpreter = Interpreter()
    return [line for block in parse_story(text) for line in interpreter.perform(block.commands)]


def test_a_story_is_written_as_it_was_read() -> None:
    for path in STORIES:
        assert format_story(parse_story(path.read_text())) == path.read_text()


def test_an_outcome_needs_a_command() -> None:
    with pytest.raises(ValueError, match="line 2: nothing was asked for"):
        parse_story("# prose alone\n----\nn1 stop\n")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("dance n1", "dance is no command"),
        ("vote-request to=n1 epoch=1", "needs from="),
        ("vote-request from=n2 to=n1 epoch=1 wish=more", "has no use for wish="),
        ("vote-request from=n2 to=n1 epoch=one", "'one' is not a number"),
        ("vote-response from=n2 to=n1 granted", "n1 waits for no vote from n2"),
        ("wait 5", "'5' is not a time"),
        ("start n9", "n9 is not in a quorum of 3"),
        ("start 1", "'1' is not a node"),
        ("disk epoch=3", "disk needs a node"),
        ("hide everything", "nothing is called everything"),
        ("deliver n1 -> n2", "nothing is on its way from n1 to n2"),
        ("disconnect n2 -> n1", "n2 has no connection to n1"),
    ],
)
def test_a_command_that_means_nothing_is_named_with_its_line(command: str, why: str) -> None:
    with pytest.raises(StoryError, match=f"line 3: .*{why}"):
        perform(f"# prose\nquorum 3\n{command}\n")


def test_a_node_that_is_down_cannot_be_asked() -> None:
    with pytest.raises(StoryError, match="n1 is down"):
        perform("start n1\nkill n1\nvote-request from=n2 to=n1 epoch=1\n")


def test_the_same_story_always_goes_the_same_way() -> None:
    text = "start n1\nstart n2\nstart n3\nwait 5000ms\n"
    assert perform(text) == perform(text)
    assert any("leader" in line for line in perform(text))
