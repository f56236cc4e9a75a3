"""`kraft-chaos list`: the scenarios."""

import argparse
import json
import shutil
import sys
import textwrap

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add
from chaos.scenario import SCENARIO_SETTINGS, Scenario

_BESIDE_S = 10  # creation, first write, final reads, removal
_WIDEST = 100


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "list",
        "the scenarios",
        run,
        about="The scenarios that `run` knows: the default length of each fault phase, and what it "
        "needs of the cluster.",
        examples="""\
            kraft-chaos list -v                       with descriptions
            kraft-chaos run partition-leader --help   one of them, and the flags""",
    )
    command.add_argument("-v", "--verbose", action="store_true", help="describe each in full")
    arguments.add_json(command, "the same")


def run(parsed: argparse.Namespace) -> int:
    """Every scenario in a few lines, or whole."""
    from chaos.run.packages import SCENARIOS as OF_PACKAGES
    from chaos.run.packages import offered
    from chaos.scenarios import SCENARIOS

    if parsed.json:
        sys.stdout.write(json.dumps([_row(each) for each in SCENARIOS.values()], indent=2) + "\n")
        return 0
    column = max(map(len, SCENARIOS)) + 2
    verbose: bool = parsed.verbose
    told = (in_full(each) if verbose else _short(each, column) for each in SCENARIOS.values())
    sys.stdout.write(("\n\n" if verbose else "\n").join(told))
    if of_packages := offered(OF_PACKAGES):
        sys.stdout.write(f"\n\nof installed packages: {', '.join(of_packages)}")
    sys.stdout.write(f"\n\na run takes about {_BESIDE_S} s longer than its faults\n")
    sys.stdout.write("  try: kraft-chaos run SCENARIO" + ("" if verbose else ", or list -v") + "\n")
    return 0


def in_full(scenario: Scenario) -> str:
    """What happens, why it is worth watching, and what it needs, for a terminal."""
    lines = [
        scenario.name,
        _wrapped(f"{scenario.summary}.", "  "),
        "",
        _wrapped(scenario.description, "  "),
        "",
        _wrapped(_takes(scenario), "  "),
    ]
    return "\n".join(lines)


def as_markdown() -> str:
    """A section for each scenario, for `docs/reference/scenarios.md`."""
    from chaos.scenarios import BROKER_SCENARIOS, CONTROLLER_SCENARIOS, MIXED_SCENARIOS

    families = (
        ("Quorums", CONTROLLER_SCENARIOS),
        ("One quorum of both programs", MIXED_SCENARIOS),
        ("Brokers", BROKER_SCENARIOS),
    )
    lines: list[str] = []
    for title, scenarios in families:
        lines += [f"## {title}", ""]
        for each in scenarios.values():
            lines += [f"### {each.name}", "", f"{_sentence(each.summary)}", ""]
            lines += [each.description, "", f"*{_sentence(_takes(each))}*", ""]
    return "\n".join(lines).rstrip() + "\n"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _row(scenario: Scenario) -> dict[str, object]:
    return {
        "name": scenario.name,
        "summary": scenario.summary,
        "description": scenario.description,
        "default_duration_s": scenario.default_duration_s,
        "needs": sorted(scenario.needs),
        "of_brokers": scenario.is_of_brokers,
        "takes": {
            "voters": list(scenario.takes.voters),
            "brokers": list(scenario.takes.brokers),
            "settings": {name: list(values) for name, values in scenario.takes.settings.items()},
        },
        "sides": [side.name for side in scenario.sides],
        "settings": {name: list(SCENARIO_SETTINGS[name].values) for name in _left_open(scenario)},
    }


def _left_open(scenario: Scenario) -> list[str]:
    """The scenario's own settings, without those of the target."""
    return [name for name, setting in SCENARIO_SETTINGS.items() if setting.fits(scenario)]


def _short(scenario: Scenario, column: int) -> str:
    summary = _wrapped(scenario.summary, " " * column)[column:]
    takes = _wrapped(_takes(scenario), " " * column)
    return f"{scenario.name:<{column}}{summary}\n{takes}"


def _takes(scenario: Scenario) -> str:
    needs = sorted(scenario.needs)
    what = f"; needs to {' and '.join(needs)}" if needs else "; needs no special power"
    brokers = f"; of brokers{_of_target(scenario)}" if scenario.is_of_brokers else ""
    names = ", ".join(side.name for side in scenario.sides)
    sides = f"; compare {names}" if len(scenario.sides) > 1 else ""
    settings = "".join(
        f"; --set {name}={' or '.join(SCENARIO_SETTINGS[name].values)}"
        for name in _left_open(scenario)
    )
    taken = f"; takes {scenario.takes}"
    return f"{scenario.default_duration_s:g} s by default{what}{brokers}{taken}{sides}{settings}"


def _of_target(scenario: Scenario) -> str:
    from chaos.run.planning import takes_kafka

    return " (--target kafka)" if takes_kafka(scenario) else ""


def _wrapped(text: str, indent: str) -> str:
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
