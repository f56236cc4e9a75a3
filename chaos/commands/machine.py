"""`kraft-chaos doctor`, `setup` and `list`: what this machine can do, and what there is to run."""

import json
import shutil
import sys
import textwrap

from chaos.cluster.targets.named import release_of
from chaos.progress import ConsoleProgress
from chaos.scenario import Scenario
from chaos.scenarios import STORIES

_BESIDE_S = 10  # creation, first write, final reads, removal
_COLUMN = max(map(len, STORIES)) + 2
_WIDEST = 100


def doctor() -> int:
    """0 if everything is there that everybody needs, 255 if something of it is missing."""
    from chaos.setup.doctor import examine

    needs = examine()
    for need in needs:
        seen = f"{need.seen} (optional)" if need.optional else need.seen
        sys.stdout.write(f"{need.found:<8} {need.name:<16} {seen}\n")
        if not need.ok and need.mend:
            sys.stdout.write(f"{'':<25} try: {need.mend}\n")
        if not need.ok and need.without:
            sys.stdout.write(f"{'':<25} without it: {need.without}\n")
    return 0 if all(need.ok or need.optional for need in needs) else 255


def setup(target: str) -> int:
    """Bring up what is missing, what a target needs as well. Raises SetupError."""
    from chaos.setup.install import prepare

    progress = ConsoleProgress()
    prepare(progress.tell, release_of(target))
    progress.end()
    return 0


def list_scenarios(*, as_json: bool, verbose: bool) -> int:
    """Every story in a few lines, or whole."""
    if as_json:
        sys.stdout.write(json.dumps([_row(each) for each in STORIES.values()], indent=2) + "\n")
        return 0
    stories = (whole_story(each) if verbose else _short(each) for each in STORIES.values())
    sys.stdout.write(("\n\n" if verbose else "\n").join(stories))
    sys.stdout.write(f"\n\na run takes about {_BESIDE_S} s more than the hurting\n")
    sys.stdout.write("  try: kraft-chaos run SCENARIO" + ("" if verbose else ", or list -v") + "\n")
    return 0


def whole_story(scenario: Scenario) -> str:
    """What happens, why it is worth watching, and what it takes, for a terminal."""
    lines = [
        scenario.name,
        _wrapped(f"{scenario.story}.", "  "),
        "",
        _wrapped(scenario.description, "  "),
        "",
        _wrapped(_takes(scenario), "  "),
    ]
    return "\n".join(lines)


def _row(scenario: Scenario) -> dict[str, object]:
    return {
        "name": scenario.name,
        "story": scenario.story,
        "description": scenario.description,
        "default_duration_s": scenario.default_duration_s,
        "needs": sorted(scenario.needs),
        "of_brokers": scenario.is_of_brokers,
        "sides": [side.name for side in scenario.sides],
    }


def _short(scenario: Scenario) -> str:
    story = _wrapped(scenario.story, " " * _COLUMN)[_COLUMN:]
    takes = _wrapped(_takes(scenario), " " * _COLUMN)
    return f"{scenario.name:<{_COLUMN}}{story}\n{takes}"


def _takes(scenario: Scenario) -> str:
    needs = sorted(scenario.needs)
    what = f"; needs to {' and '.join(needs)}" if needs else "; needs no special power"
    brokers = "; of brokers (--target kafka)" if scenario.is_of_brokers else ""
    names = ", ".join(side.name for side in scenario.sides)
    sides = f"; compare {names}" if len(scenario.sides) > 1 else ""
    return f"{scenario.default_duration_s:g} s by default{what}{brokers}{sides}"


def _wrapped(text: str, indent: str) -> str:
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
