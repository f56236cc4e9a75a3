"""Parsing of every command line: help, errors, numbers, names, and flags shared by commands.

A command imports what it needs in its `run`: help loads no checker.
"""

import argparse
import difflib
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from chaos.bugs.catalogue import MUTATIONS
from chaos.cluster.targets.kafka_settings import JVM_OPTS, MOST, why_not_in_a_file
from chaos.errors import UNREADABLE
from chaos.run.runtimes import RUNTIMES
from chaos.scenario import SCENARIO_SETTINGS, SIM

if TYPE_CHECKING:
    from chaos.play.playground import ClusterRef


class Formatter(argparse.HelpFormatter):
    """Wraps lines to the terminal, not at hyphens; lines that are indented stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        del indent  # the top level has none
        return "\n".join(
            line if line.startswith(" ") else _wrapped(line, width) for line in text.splitlines()
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(text, width).splitlines()


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


class Parser(argparse.ArgumentParser):
    """Exits with 254 instead of argparse's 2, which here means `unknown`. For a misspelt word it
    names those that are most like it."""

    def error(self, message: str, tries: str = "") -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(UNREADABLE, f"error: {message}\n  try: {tries or f'{self.prog} --help'}\n")

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """For words that no argument takes."""
        known = [option for action in self._actions for option in action.option_strings]
        near = [each for word in words for each in nearest(word.partition("=")[0], known)[:1]]
        self.error(f"unrecognized arguments: {' '.join(words)}", " or ".join(near))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Called by argparse for every value."""
        choices = [str(each) for each in action.choices or ()]
        near = nearest(str(value), choices)
        if choices and value not in (action.choices or ()) and near:
            self.error(
                f"unknown {str(action.metavar or action.dest).lower()} {value!r}", " or ".join(near)
            )
        super()._check_value(action, value)


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The known words that are most like a misspelt one."""
    return difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
_Run: TypeAlias = Callable[[argparse.Namespace], int]


def add(
    commands: Commands,
    name: str,
    short: str,
    run: _Run,
    *,
    about: str,
    examples: str,
    own_help: bool = False,
) -> Parser:
    """A command: a line for the overview, a text and examples for its own help, and the function
    that runs it and returns its exit code."""
    command = commands.add_parser(
        name,
        help=short,
        description=about,
        epilog=f"examples:\n{textwrap.indent(textwrap.dedent(examples).strip(), '  ')}",
        formatter_class=Formatter,
        add_help=not own_help,
    )
    command.set_defaults(run=run, parser=command)
    return command


def listed(names: Iterable[str]) -> str:
    """Fault names, a line for each kind."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.rpartition("-")[0], []).append(name)
    return "\n".join(f"  {' '.join(of_kind)}" for of_kind in kinds.values())


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d+", text, re.ASCII) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number from {least} to {most}"
            )
        return int(text)

    return read


def number(least: float, most: float, unit: str) -> Callable[[str], float]:
    """A reader of numbers within bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {unit} from {least:g} to {most:g}")
        return number

    return read


_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[hms]))+|\d+(?:\.\d+)?", re.ASCII)
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def seconds(least: float, most: float) -> Callable[[str], float]:
    """A reader of times such as `500ms`, `10s`, `5m` and `1h30m`; a bare number is seconds."""

    def read(text: str) -> float:
        parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[hms]|)", text) if _SPAN.fullmatch(text) else []
        found = round(sum(float(number) * _UNITS_S[unit] for number, unit in parts), 3)
        if not parts or not least <= found <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a time from {least:g} s to {most:g} s, such as 10s or 5m"
            )
        return found

    return read


def target(text: str) -> str:
    from chaos.cluster.targets.named import KAFKA, UnknownTargetError, release_of
    from chaos.setup.own_build import why_no_jars

    kind, _, build = text.partition(":")
    if kind == KAFKA and (
        "/" in build or (build and Path(build).is_dir())
    ):  # by its absolute path: later runs may start elsewhere
        directory = Path(build).expanduser().resolve()
        if why := why_no_jars(directory):
            raise argparse.ArgumentTypeError(f"{text}: {why}")
        text = f"{KAFKA}:{directory}"
    try:
        release_of(text)
    except UnknownTargetError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def server_properties(text: str) -> list[tuple[str, str]]:
    """The settings of a file of Kafka's form, of which each is checked as one of --set is."""
    try:
        lines = Path(text).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None
    found, refused = [], []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line[0] in "#!":
            continue
        pair = _PROPERTY.fullmatch(line)
        if pair is None:
            raise argparse.ArgumentTypeError(f"{text}, line {number}: {line!r} is not name=value")
        found.append((pair[1], pair[2]))
        if why := why_not_in_a_file(pair[1]):
            refused.append(f"{pair[1]} ({why})")
    if refused:
        raise argparse.ArgumentTypeError(
            f"{text} has {', '.join(refused)}; take a copy without those lines"
        )
    return found


def jvm_options(text: str) -> tuple[str, str]:
    return JVM_OPTS, text


def targets(text: str) -> tuple[str, ...]:
    """One, or two different ones."""
    found = tuple(map(target, text.split(",")))
    if len(found) > 2 or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not one target, or two different ones")
    return found


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", text):
        raise argparse.ArgumentTypeError("small letters, digits and hyphens only")
    return text


# Flags shared by several commands.


LARGEST_SEED = 2**63 - 1  # the limit of a table's column
MOST_NODES = 7  # of a simulated cluster
_PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]\s*(.*)")
_PLAYGROUND = "play"


def add_nodes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--nodes",
        type=whole(1, MOST),
        default=3,
        metavar="N",
        help="controllers, 3 or 5, or brokers of Apache Kafka, 1 to 5 (default 3); our own has "
        "brokers by --set brokers=N",
    )


def add_out(
    command: argparse.ArgumentParser, what: str = "where run directories are made", to: str = "runs"
) -> None:
    command.add_argument(
        "--out", type=Path, default=Path(to), metavar="DIR", help=f"{what} (default {to})"
    )


def add_json(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--json", action="store_true", help=f"{what} as JSON on stdout")


def add_scenario_file(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--scenario-file",
        type=Path,
        metavar="FILE",
        help="scenarios of your own, in Python or TOML (docs/how-to/own-scenarios.md); the run "
        "records the file, and replay and shrink execute what it recorded",
    )


def add_seed(command: argparse.ArgumentParser, beyond: int) -> None:
    """The seed of the first run; later ones count up from it, by less than `beyond`."""
    command.add_argument(
        "--seed",
        type=whole(0, LARGEST_SEED - beyond),
        default=1,
        metavar="N",
        help="seed of the first run of each (default 1)",
    )


def add_mutation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--mutation",
        choices=MUTATIONS,
        default="",
        metavar="ID",
        help=f"plant a bug in every node: {', '.join(MUTATIONS)}",
    )


def add_minutes(command: argparse.ArgumentParser, what: str, default: float | None) -> None:
    command.add_argument(
        "--minutes",
        type=number(0.01, 10_000, "a number of minutes"),
        default=default,
        metavar="M",
        help=what,
    )


def add_master(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--master", metavar="URL", help=what)


def add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name",
        nargs="?",
        type=name,
        default=_PLAYGROUND,
        metavar="NAME",
        help=f"of the cluster (default {_PLAYGROUND})",
    )


def add_named(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--name", type=name, default=_PLAYGROUND, help=f"the cluster (default {_PLAYGROUND})"
    )
    add_runtime(command)


def add_target(
    command: argparse.ArgumentParser, default: str | None = "node", told: str = ""
) -> None:
    """`told`: the default in words, where it is not one target."""
    command.add_argument(
        "--target",
        type=target,
        default=default,
        metavar="TARGET",
        help="the target: node (our own), kafka or kafka:VERSION (Apache Kafka), kafka:DIR (the "
        "jars of a build of yours), kafka-image:NAME (an image of yours) "
        f"(default {told or default})",
    )


def add_settings(command: argparse.ArgumentParser, *, of_scenarios: bool = True) -> None:
    of_scenario = [
        f"{name}={' or '.join(setting.values)}" for name, setting in SCENARIO_SETTINGS.items()
    ]
    command.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a setting of the target, may be repeated: roles=combined (every broker is a "
        "controller as well), brokers=N, controllers=3, quorum=static, or dynamic (our own node "
        "lists its voters otherwise), elr=off, replication=N, min_isr=N, broker_min_isr=N "
        "(in the files of brokers alone), unclean=on, log_dirs=2, defaults=stock, or a key of "
        "Kafka's own configuration"
        + (f"; or a setting of the scenario, {', '.join(of_scenario)}" if of_scenarios else ""),
    )
    command.add_argument(
        "--jvm-opts",
        type=jvm_options,
        action="append",
        dest="settings",
        metavar="OPTIONS",
        help="options of Apache Kafka's JVMs, behind ours: --jvm-opts='-Xmx1g -XX:+UseZGC' (as "
        "--set jvm_opts=...)",
    )
    command.add_argument(
        "--server-properties",
        type=server_properties,
        action="extend",
        dest="settings",
        metavar="FILE",
        help="settings of Kafka's on top of ours, from a file; what the harness sets (listeners, "
        "node.id, log.dirs ...) is refused by name; each setting is recorded, as with --set",
    )


def add_world(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runtime",
        choices=(*RUNTIMES, SIM),
        default="",
        help="the runtime: containers, or virtual time from the seed, byte for byte the same each "
        "time (default: docker; without an engine `run` uses sim, but only at a terminal)",
    )


def add_runtime(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runtime", choices=RUNTIMES, default="docker", help="the runtime (default docker)"
    )


def ground_of(parsed: argparse.Namespace) -> "ClusterRef":
    """The cluster of the playground."""
    from chaos.play.playground import ClusterRef

    return ClusterRef(name=parsed.name, runtime=parsed.runtime)
