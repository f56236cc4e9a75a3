"""`kraft-chaos nights`: the nights of a ledger, and what one says beside those before it."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add
from chaos.commands.nightly_command import compared, known_findings, night_date, write_page
from chaos.errors import OperatorError

if TYPE_CHECKING:
    from spark_reports.nights import Comparison


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "nights",
        "the nights of a ledger, and how one differs from those before it",
        run,
        about="Without a date, a line for each night in OUT/ledger. With one, what of that night "
        "is new, still red or back, mended, flaky and not covered, beside all nights before it; "
        "with two, beside the first one alone. Exits as `kraft-chaos nightly` did.",
        examples="""\
            kraft-chaos nights
            kraft-chaos nights 2026-11-28
            kraft-chaos nights 2026-11-21 2026-11-28 --page week.html""",
    )
    command.add_argument(
        "dates", nargs="*", type=night_date, metavar="YYYY-MM-DD", help="one night, or two"
    )
    command.add_argument("--page", type=Path, metavar="FILE", help="write the morning's page too")
    arguments.add_out(command, "where the ledger is", to="runs/nightly")


def run(parsed: argparse.Namespace) -> int:
    from chaos.nightly.forms import as_text

    if len(parsed.dates) > 2:
        raise OperatorError("at most two nights can be compared\n  try: kraft-chaos nights --help")
    if not parsed.dates:
        return _list(parsed.out)
    found = _found(parsed.out, parsed.dates)
    if parsed.page is not None:
        write_page(parsed.out, found, parsed.page)
    sys.stdout.write(as_text(found, known_findings()) + "\n")
    return found.verdict.exit_code


def _found(out: Path, dates: list[str]) -> "Comparison":
    from spark_reports.nights import compare_nights

    first, last = min(dates), max(dates)
    found = compared(out, last)
    return found if len(dates) == 1 else compare_nights(found.night, [compared(out, first).night])


def _list(out: Path) -> int:
    from chaos.nightly.forms import headline
    from chaos.nightly.night import LEDGER
    from spark_reports.ledger import read_nights
    from spark_reports.nights import compare_nights

    nights = read_nights(out / LEDGER)
    if not nights:
        raise OperatorError(
            f"{out / LEDGER}: no night is in it\n"
            f"  try: kraft-chaos nightly --budget 10m --runtime sim --out {out}"
        )
    for place, night in enumerate(nights):
        line = headline(compare_nights(night, nights[:place]))
        sys.stdout.write(f"{night.date}  {line}\n")
    return 0
