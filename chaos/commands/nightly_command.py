"""`kraft-chaos nightly` and `nights`: a night of runs until its budget ends, and those before."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, whole
from chaos.errors import OperatorError, UsageError
from chaos.scenario import SIM

if TYPE_CHECKING:
    from chaos.nightly.night import NightFiles
    from chaos.nightly.settings import NightSettings
    from spark_reports.nights import Comparison


def add_parser(commands: Commands) -> None:
    _add_nightly(commands)
    _add_nights(commands)


PAGE, SUMMARY, JUNIT = "morning.html", "summary.md", "junit.xml"
_MOST_RUNS = 10_000_000
_NOTIFY_S = 60.0
_NEEDED_BY_NO_NIGHT = ("Java", "Chromium (tests)")

_NIGHTLY_ABOUT = (
    "Runs until the budget ends: planted bugs that the judge must accuse, the stories of scenarios "
    "with sides, the last seven nights' failures, a matrix that has every pair of target, runtime, "
    "roles, scenario and settings, then fresh seeds. Each run is a row in OUT/ledger, in which "
    "`kraft-chaos nights` compares nights. Failing runs are kept whole, with their repro.sh. "
    "Without --runtime sim it needs containers, and refuses to begin where parts are missing. "
    "Defaults are read from the table [nightly] of kraft-chaos.toml. INT and TERM end the night in "
    "order; after any end --resume goes on, and no run is lost or counted twice. Exits with 1 if a "
    "promise was broken, with 255 if a run failed by itself or the night cannot be trusted, else "
    "with 0."
)

_NIGHTLY_EXAMPLES = """\
    kraft-chaos nightly --budget 2h --target node,kafka
    kraft-chaos nightly --budget 10m --runtime sim
    kraft-chaos nightly --budget 2h --dry-run
    kraft-chaos nightly --resume
    kraft-chaos nightly --budget 30m --junit junit.xml
    kraft-chaos nightly --budget 2h --notify './tell-the-team'"""


def _add_nightly(commands: Commands) -> None:
    command = add(
        commands,
        "nightly",
        "a night of runs until the budget ends, for a CI job",
        run_nightly,
        about=_NIGHTLY_ABOUT,
        examples=_NIGHTLY_EXAMPLES,
    )
    command.add_argument(
        "--budget", type=_budget, metavar="TIME", help="as 2h, 30m or 1h30m (default 2h)"
    )
    command.add_argument(
        "--target", metavar="TARGET[,TARGET...]", help="node, kafka, kafka:VERSION, mixed"
    )
    command.add_argument(
        "--runtime",
        choices=("docker", SIM),
        help="sim: virtual time alone, without containers; docker (default): both",
    )
    command.add_argument(
        "--runs",
        type=whole(1, _MOST_RUNS),
        metavar="N",
        help="end after so many runs, if the budget lasts (default: no limit)",
    )
    command.add_argument(
        "--scenarios", metavar="NAME[,NAME...]", help="these only, and the swarms' fresh seeds"
    )
    command.add_argument(
        "--canaries", type=whole(0, 100), metavar="N", help="planted bugs (default 4)"
    )
    command.add_argument(
        "--jobs", type=whole(1, 1024), metavar="N", help="processes (default: the processors)"
    )
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="default kraft-chaos.toml, if it is here"
    )
    command.add_argument(
        "--date", type=night_date, metavar="YYYY-MM-DD", help="of the night (default: today, UTC)"
    )
    command.add_argument("--dry-run", action="store_true", help="print the plan, and run nothing")
    command.add_argument(
        "--resume", action="store_true", help="go on with the newest night; takes --out alone"
    )
    command.add_argument(
        "--junit", type=Path, metavar="FILE", help="write JUnit XML, a test for each run"
    )
    command.add_argument(
        "--notify",
        metavar="CMD",
        help="run this in a shell when the night has ended, with the night as JSON on stdin; "
        "whether it fails changes nothing but a line on stderr",
    )
    arguments.add_json(command, "the rows of the night")
    arguments.add_out(command, "where the ledger and the nights are", to="runs/nightly")


def _budget(text: str) -> int:
    from chaos.nightly.settings import budget_s

    try:
        return budget_s(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def night_date(text: str) -> str:
    try:
        found = date.fromisoformat(text).isoformat()
    except ValueError:
        found = ""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) or found != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-11-28")
    return text


def run_nightly(parsed: argparse.Namespace) -> int:
    """The night's exit code."""
    from chaos.nightly.carry_out import Conductor, carry_out
    from chaos.nightly.night import LEDGER, begin, hold, last_night, new_night, trim
    from chaos.nightly.plan import commit_now
    from chaos.progress import ConsoleProgress
    from checkers.verdict import counted
    from spark_reports.ledger import read_nights

    out: Path = parsed.out
    if parsed.resume:
        night = last_night(out)
        if night.commit != commit_now():
            raise OperatorError(
                f"the night of {night.date} is of commit {night.commit}, and this is "
                f"{commit_now()}\n  try: kraft-chaos nightly --out {out}   (a new night)"
            )
    else:
        settings = _settings(parsed)
        night = new_night(
            out, parsed.date or f"{datetime.now(UTC):%Y-%m-%d}", commit_now(), settings
        )
    if parsed.dry_run:
        sys.stdout.write(_plan_text(night))
        return 0
    progress = ConsoleProgress()
    _preflight(night, progress.tell)
    if not parsed.resume:
        begin(night)
    progress.tell(f"night of {night.date} into {night.directory}")
    before = [each for each in read_nights(out / LEDGER) if each.date < night.date]
    known = [(row.scenario, row.fingerprint) for each in before for row in each.rows if row.is_red]
    with hold(night, progress.tell) as lock:
        night.clear()
        conductor = Conductor(night, progress, known, [lock])
        try:
            carry_out(conductor)
        finally:
            progress.end()
            night.publish()
    if removed := trim(out, night.settings.keep_nights):
        kept = counted(night.settings.keep_nights, "night")
        progress.tell(f"removed {counted(len(removed), 'green run')} from before the last {kept}")
    if conductor.is_stopping:
        progress.tell(f"stopped; to go on: kraft-chaos nightly --resume --out {out}")
    return _told(night, parsed, progress.tell)


def _settings(parsed: argparse.Namespace) -> "NightSettings":
    from chaos.nightly.settings import read_settings

    targets = None
    if parsed.target is not None:
        targets = tuple(map(_target, parsed.target.split(",")))
    scenarios = None
    if parsed.scenarios is not None:
        scenarios = tuple(parsed.scenarios.split(","))
    settings = read_settings(
        parsed.config,
        {
            "budget_s": parsed.budget,
            "targets": targets,
            "runtime": parsed.runtime,
            "runs": parsed.runs,
            "scenarios": scenarios,
            "canaries": parsed.canaries,
            "jobs": parsed.jobs,
            "notify": parsed.notify,
        },
    )
    if settings.runtime == SIM and settings.targets != ("node",):
        raise UsageError(
            f"only our own node can be simulated, not {', '.join(settings.targets)}\n"
            f"  try: --target node --runtime {SIM}"
        )
    return settings


def _target(text: str) -> str:
    try:
        return arguments.target(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--target: {error}") from None


def _preflight(night: "NightFiles", tell: Callable[[str], None]) -> None:
    """Make the images that the plan needs. A night that lacks a part of its machine would prove
    less than it says: it does not begin. Raises OperatorError, SetupError."""
    if night.settings.runtime == SIM:
        return
    from chaos.cluster.targets.named import is_mixed, release_of
    from chaos.commands.examination import examine
    from chaos.run.installation import prepare

    for target in dict.fromkeys(
        slot.choices.target for slot in night.slots if not slot.is_simulated
    ):
        prepare(tell, release_of(target), of_both=is_mixed(target))
    missing = [
        need
        for need in examine()
        if not (need.ok or need.optional or need.name in _NEEDED_BY_NO_NIGHT)
    ]
    if missing:
        told = "; ".join(f"{need.name}: {need.seen}" for need in missing)
        raise OperatorError(
            f"the night cannot begin: {told}\n  try: kraft-chaos doctor\n"
            f"  in virtual time: kraft-chaos nightly --runtime {SIM}"
        )


def _plan_text(night: "NightFiles") -> str:
    hours, seconds = divmod(night.settings.budget_s, 3600)
    lines = [slot.in_words() for slot in night.slots]
    lines.append(
        f"{len(night.slots):,} planned runs, then fresh seeds, within {hours} h {seconds // 60} min"
    )
    return "\n".join(lines) + "\n"


def known_findings() -> dict[str, str]:
    """By scenario, the name of the finding in Apache Kafka that it shows."""
    from chaos.labs.findings import FINDINGS

    return {scenario: each.name for each in FINDINGS.values() for scenario in each.scenarios}


def compared(out: Path, of_date: str) -> "Comparison":
    """A night of the ledger beside those before it. Raises OperatorError."""
    from chaos.nightly.night import LEDGER
    from spark_reports.ledger import read_nights
    from spark_reports.nights import compare_nights

    nights = read_nights(out / LEDGER)
    found = [each for each in nights if each.date == of_date]
    if not found:
        known = ", ".join(each.date for each in nights[-5:]) or "none"
        raise OperatorError(
            f"{out / LEDGER}: no night of {of_date} is in it; the newest are: {known}\n"
            f"  try: kraft-chaos nights --out {out}"
        )
    return compare_nights(found[0], [each for each in nights if each.date < of_date])


def write_page(out: Path, found: "Comparison", page: Path) -> None:
    """The morning's page. Raises OSError."""
    from chaos.nightly.night import LEDGER
    from checkers.history.store import replace_file
    from spark_reports.ledger import read_nights
    from spark_reports.morning import render_morning

    before = [each for each in read_nights(out / LEDGER) if each.date < found.night.date]
    page.parent.mkdir(parents=True, exist_ok=True)
    replace_file(page, render_morning(found, before, page, out).encode(), syncs=False)


def _told(night: "NightFiles", parsed: argparse.Namespace, tell: Callable[[str], None]) -> int:
    """Write what CI shows, print the night, and tell the team's own program."""
    from chaos.nightly.forms import annotations, as_markdown, as_message, as_text, write_junit
    from checkers.history.store import replace_file

    found = compared(night.out, night.date)
    write_page(night.out, found, night.directory / PAGE)
    summary = as_markdown(found)
    replace_file(night.directory / SUMMARY, summary.encode(), syncs=False)
    if into := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(into).open("a", encoding="utf-8") as file:
            file.write(summary)
    if parsed.junit is not None:
        write_junit(found, parsed.junit)
    if parsed.json:
        sys.stdout.write(json.dumps([row.as_json() for row in found.night.rows], indent=2) + "\n")
    else:
        lines = [as_text(found, known_findings()), f"page: {night.directory / PAGE}"]
        lines += annotations(found) if os.environ.get("GITHUB_ACTIONS") else []
        sys.stdout.write("\n".join(lines) + "\n")
    if command := parsed.notify or night.settings.notify:
        message = json.dumps(as_message(found, night.directory / PAGE))
        if why := notify(command, message):
            tell(f"--notify: {why}\n  the night is as told above: {command}")
    return found.verdict.exit_code


def notify(command: str, message: str, within_s: float = _NOTIFY_S) -> str:
    """Why the team's command did not take the message; "" if it did. What it prints goes to
    stderr. It gets a process group of its own, so that all of it ends when its time is up."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=sys.stderr,
        text=True,
        start_new_session=True,
    )
    try:
        process.communicate(message, timeout=within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"the command had not ended after {within_s:g} s"
    return f"the command ended with {process.returncode}" if process.returncode else ""


def _add_nights(commands: Commands) -> None:
    command = add(
        commands,
        "nights",
        "the nights of a ledger, and how one differs from those before it",
        run_nights,
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


def run_nights(parsed: argparse.Namespace) -> int:
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
