"""In what two judged runs differ: what was run, what each failed by, its checks, its numbers."""

from collections.abc import Mapping
from typing import Any

from chaos.campaign.coverage import fingerprint
from checkers.history.sealed_run import RunInfo
from checkers.verdict import Judgement

_WHAT = ("scenario", "side", "seed", "target", "runtime", "nodes", "duration_s", "mutation")
_TOLD_FROM = 1.2  # the ratio of two numbers

# What differs: by its part, then its name, the value in each run.
Differences = dict[str, dict[str, tuple[Any, Any]]]


def differences(
    info: RunInfo, judgement: Judgement, other_info: RunInfo, other_judgement: Judgement
) -> Differences:
    """Parts without a difference are left out."""
    parts = {
        "verdict": (_outcome(judgement), _outcome(other_judgement)),
        "run": (_what(info), _what(other_info)),
        "made of": (dict(info.made_of), dict(other_info.made_of)),
        "checks": (_checks(judgement), _checks(other_judgement)),
    }
    found: Differences = {part: _unlike(one, other) for part, (one, other) in parts.items()}
    found["numbers"] = {
        name: values
        for name, values in _unlike(judgement.statistics, other_judgement.statistics).items()
        if _is_far(*values)
    }
    return {part: unlike for part, unlike in found.items() if unlike}


def _outcome(judgement: Judgement) -> dict[str, str]:
    failed = fingerprint(judgement, None)
    return {"verdict": judgement.verdict.word, "fails by": str(failed) if failed else ""}


def _what(info: RunInfo) -> dict[str, Any]:
    told = {name: getattr(info, name) for name in _WHAT}
    told["target"] = info.target.partition(" (")[0]  # images are told apart
    return {**told, **{f"setting {name}": value for name, value in info.settings.items()}}


def _checks(judgement: Judgement) -> dict[str, str]:
    return {row.check: row.verdict.word for row in judgement.results}


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*one, *other))
    pairs = {name: (one.get(name), other.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _is_far(one: Any, other: Any) -> bool:
    numbers = [each for each in (one, other) if isinstance(each, int | float)]
    if len(numbers) < 2:
        return True
    low, high = sorted(map(abs, numbers))
    return high >= _TOLD_FROM * low


def in_words(value: Any) -> str:
    """One of the values that differ, for people."""
    if isinstance(value, float):
        return f"{value:,.6g}"
    return "-" if value is None or value == "" else str(value)
