"""The stories can fail: each planted bug of the quorum changes the story of the rule it breaks."""

import pytest

from chaos.bugs.planted import planted_by
from tests.stories.test_stories import HERE, tell
from tests.support.story_command import StoryError


def goes_otherwise(story: str) -> bool:
    text = (HERE / f"{story}.story").read_text()
    try:
        return tell(text) != text
    except StoryError:  # what it tells next cannot even be asked for
        return True


@pytest.mark.parametrize(
    ("mutation", "story"),
    [
        ("Q-NO-FSYNC", "follower-appends"),
        ("Q-VOTE-LATE", "persist"),
        ("Q-VOTE-UNFLUSHED", "vote-durable"),
        ("Q-SAME-EPOCH", "start-resigned"),
        ("Q-HWM-EPOCH", "hwm-epoch-start"),
        ("Q-EARLY-ACTIVE", "controller-activation"),
        ("Q-STALE-REVERT", "controller-reversal"),
        ("Q-ZOMBIE", "check-quorum"),
        ("Q-DISRUPT", "quorum-pre-vote"),
        ("Q-LIVELOCK", "timer-election"),
        ("R-STALE-READ", "reads"),
    ],
)
def test_a_planted_bug_changes_the_story_of_its_rule(
    monkeypatch: pytest.MonkeyPatch, mutation: str, story: str
) -> None:
    planted = planted_by(mutation)
    monkeypatch.setattr(planted.owner, planted.decision, planted.wrong)
    assert goes_otherwise(story)
