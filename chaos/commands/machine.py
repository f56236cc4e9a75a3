"""`kraft-chaos doctor`, `setup` and `list`: what this machine can do, and what there is to run."""

import json
import sys

from chaos.progress import ConsoleProgress
from chaos.scenarios import CATALOGUE


def doctor() -> int:
    """0 if everything is there, 255 if something is missing."""
    from chaos.setup.doctor import examine

    needs = examine()
    for need in needs:
        sys.stdout.write(f"{need.found:<8} {need.name:<16} {need.seen}\n")
        if not need.ok and need.mend:
            sys.stdout.write(f"{'':<25} try: {need.mend}\n")
        if not need.ok and need.without:
            sys.stdout.write(f"{'':<25} without it: {need.without}\n")
    return 0 if all(need.ok for need in needs) else 255


def setup() -> int:
    """Bring up what is missing. Raises SetupError."""
    from chaos.setup.install import prepare

    progress = ConsoleProgress()
    prepare(progress.tell)
    progress.end()
    return 0


def list_scenarios(*, as_json: bool) -> int:
    if as_json:
        rows = [
            {
                "name": scenario.name,
                "story": scenario.story,
                "default_duration_s": scenario.default_duration_s,
                "needs": sorted(scenario.needs),
            }
            for scenario in CATALOGUE.values()
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    for scenario in CATALOGUE.values():
        sys.stdout.write(
            f"{scenario.name:<18} {scenario.story} ({scenario.default_duration_s:g} s of it)\n"
        )
    return 0
