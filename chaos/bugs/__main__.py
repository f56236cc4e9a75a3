"""`python -m chaos.bugs ID -- start -c FILE`: our node, with one bug planted in it."""

import sys

from chaos.bugs.broker_catalogue import BROKER_MUTATIONS, LEADER_MUTATIONS
from chaos.bugs.catalogue import MUTATIONS
from chaos.bugs.planted import planted_by
from node.server.cli import main

WRONG_USAGE = 254
_WRONG = {name: one.wrong for name, one in MUTATIONS.items()} | {
    name: one.wrong for name, one in {**BROKER_MUTATIONS, **LEADER_MUTATIONS}.items()
}


def run(arguments: list[str]) -> None:
    """Plant the bug, then run `kraft-node`, with its exit codes."""
    if len(arguments) < 2 or arguments[0] not in _WRONG or arguments[1] != "--":
        sys.stderr.write(
            "error: expected one mutation, then -- and the arguments of kraft-node\n"
            f"  known: {', '.join(_WRONG)}\n"
            "  try: python -m chaos.bugs Q-ZOMBIE -- start -c server.properties\n"
        )
        sys.exit(WRONG_USAGE)
    planted_by(arguments[0]).plant()
    sys.stderr.write(f"planted {arguments[0]}: {_WRONG[arguments[0]]}\n")
    main(arguments[2:])


if __name__ == "__main__":
    run(sys.argv[1:])
