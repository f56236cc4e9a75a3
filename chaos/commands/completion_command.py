"""`kraft-chaos completion`: completes the words of a command line in a shell."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from chaos.commands.arguments import Commands, Parser, add
from chaos.nemesis.recorded import FAULTS

_SHELLS = ("bash", "zsh")
_ZSH = "autoload -Uz bashcompinit && bashcompinit\n"
# Where no word fits, names of files.
_SCRIPT = """\
_kraft_chaos() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
    case ${COMP_WORDS[1]}:$before in
%s
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _kraft_chaos kraft-chaos
"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "completion",
        "a script that completes words in bash or zsh",
        partial(run, commands.choices),
        about="Prints a script by which a shell completes commands, options, and the names of "
        "scenarios, faults and planted bugs. It is made from this version's commands.",
        examples="""\
            source <(kraft-chaos completion bash)
            kraft-chaos completion zsh > ~/.kraft-chaos.zsh""",
    )
    command.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=" or ".join(_SHELLS))


def run(commands: Mapping[str, Parser], parsed: argparse.Namespace) -> int:
    """0, always."""
    script = script_of(commands)
    sys.stdout.write(_ZSH + script if parsed.shell == "zsh" else script)
    return 0


def script_of(commands: Mapping[str, Parser]) -> str:
    """For bash; zsh reads it too, once it emulates bash's completion."""
    cases: list[str] = []
    for name, parser in commands.items():
        cases += _cases(name, parser)
    cases += _case("*:kraft-chaos", [*commands, "--help", "--version", "--traceback"])
    return _SCRIPT % "\n".join(cases)


def _cases(name: str, parser: Parser) -> Iterator[str]:
    """After an option that takes a value its choices, else options and what has no flag."""
    words: list[str] = []
    for action in parser._actions:
        choices = [str(each) for each in action.choices or ()]
        if not action.option_strings:
            words += choices or _names(name, action.dest)
            continue
        words += action.option_strings
        if action.nargs != 0:
            pattern = "|".join(f"{name}:{option}" for option in action.option_strings)
            yield from _case(pattern, choices or _names(name, action.dest))
    yield from _case(f"{name}:*", words)


def _case(pattern: str, words: Iterable[str]) -> Iterator[str]:
    yield f"    {pattern}) words={shlex.quote(' '.join(words))} ;;"


def _names(command: str, argument: str) -> list[str]:
    """Words that argparse does not know: they are looked up by the command itself."""
    from chaos.labs.findings import FINDINGS
    from chaos.scenarios import SCENARIOS

    match command, argument:
        case _, "scenario" | "scenarios":
            return list(SCENARIOS)
        case "inject", "fault":
            return list(FAULTS)
        case "finding", "name":
            return list(FINDINGS)
        case _:
            return []
