"""The files of a night: what is planned, what is done, and what the ledger gets.

OUT/ledger/night=DATE/part-*.parquet   what readers read
OUT/night-DATE/night.json              plan and settings
OUT/night-DATE/rows/KEY.json           a run that is done; written in one step
OUT/night-DATE/runs/KEY/               its directory, where it is kept
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.errors import OperatorError
from chaos.nightly.plan import Slot, slot_from, slots_of
from chaos.nightly.settings import NightSettings, settings_from
from checkers.history.store import replace_file
from checkers.verdict import Verdict
from spark_reports.ledger import LedgerRow, read_nights, row_from, write_part

LEDGER = "ledger"
_PLAN = "night.json"
_LOCK = ".lock"
_FORMAT = 1
_NIGHTS_BACK = 7  # of which the reds are run again
_DATE_LENGTH = len("2026-11-28")


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFiles:
    """One night in its directory. `name` tells several nights of one date apart."""

    out: Path
    date: str
    name: str
    commit: str
    settings: NightSettings
    slots: tuple[Slot, ...]

    @property
    def directory(self) -> Path:
        return self.out / f"night-{self.name}"

    @property
    def runs(self) -> Path:
        return self.directory / "runs"

    def land(self, row: LedgerRow) -> None:
        """Durable when it returns; a row of the same key is replaced."""
        content = json.dumps(row.as_json()).encode()
        replace_file(self.directory / "rows" / f"{row.key}.json", content)

    def rows(self) -> list[LedgerRow]:
        """All runs that are done, in the order in which they ended. Raises OperatorError where one
        is damaged: without it the night would tell of fewer runs than it made."""
        found = [self._row(path) for path in (self.directory / "rows").glob("*.json")]
        return sorted(found, key=lambda row: (row.night_s, row.key))

    def _row(self, path: Path) -> LedgerRow:
        try:
            return row_from(json.loads(path.read_bytes()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OperatorError(
                f"{path}: not the row of a run: {error}\n"
                f"  try: rm {path}; kraft-chaos nightly --resume --out {self.out}"
            ) from error

    def publish(self) -> Path:
        """Put all rows into the ledger, as one part, in place of an earlier one of this night."""
        return write_part(self.out / LEDGER, self.date, self.name, self.rows())

    def clear(self) -> None:
        """Remove the directories of runs that were under way when an earlier process died."""
        done = {path.stem for path in (self.directory / "rows").glob("*.json")}
        for home in self.runs.iterdir():
            if home.name not in done:
                shutil.rmtree(home, ignore_errors=True)


@contextmanager
def hold(night: NightFiles, tell: Callable[[str], None]) -> Iterator[int]:
    """Work on a night alone: wait until no other process of it is left. Gives a descriptor.

    A run in containers inherits it. One whose night was killed still judges and tidies up in its
    directory, where a resumed night would run the same slot.
    """
    descriptor = os.open(night.directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting: another process is at work on the night of {night.date}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def trim(out: Path, newest: int) -> list[Path]:
    """Remove the directories of runs that are not red, but for those of the `newest` dates; returns
    what was removed. The ledger keeps their rows. A night whose files are damaged is left alone.
    """
    removed = []
    dates = sorted({_date_of(path.parent) for path in out.glob(f"night-*/{_PLAN}")})
    old = set(dates[:-newest] if newest else dates)
    for plan in sorted(out.glob(f"night-*/{_PLAN}")):
        if _date_of(plan.parent) not in old:
            continue
        try:
            rows = _night_from(out, json.loads(plan.read_bytes())).rows()
        except (ValueError, KeyError, TypeError, OperatorError):
            continue
        for row in rows:
            home = plan.parent / "runs" / row.key
            if row.counts_as in (Verdict.VALID, Verdict.VOID) and home.is_dir():
                shutil.rmtree(home, ignore_errors=True)
                removed.append(home)
    return removed


def _date_of(directory: Path) -> str:
    """`night-2026-11-28-2` is the second one of its date."""
    return directory.name.removeprefix("night-")[:_DATE_LENGTH]


def new_night(out: Path, date: str, commit: str, settings: NightSettings) -> NightFiles:
    """Plan a night, without writing anything."""
    before = read_nights(out / LEDGER, newest=_NIGHTS_BACK)
    slots = slots_of(settings, date, [row for each in before for row in each.rows])
    number = 1
    while (out / f"night-{(name := date if number == 1 else f'{date}-{number}')}").exists():
        number += 1
    return NightFiles(
        out=out, date=date, name=name, commit=commit, settings=settings, slots=tuple(slots)
    )


def begin(night: NightFiles) -> None:
    """Write the plan down. Raises OSError."""
    night.runs.mkdir(parents=True)
    (night.directory / "rows").mkdir()
    content = {
        "format": _FORMAT,
        "date": night.date,
        "name": night.name,
        "commit": night.commit,
        "settings": night.settings.as_json(),
        "slots": [slot.as_json() for slot in night.slots],
    }
    replace_file(night.directory / _PLAN, json.dumps(content, indent=1).encode())


def last_night(out: Path) -> NightFiles:
    """The newest night that has begun. Raises OperatorError."""
    found = sorted(out.glob(f"night-*/{_PLAN}"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise OperatorError(
            f"{out}: no night has begun here\n  try: kraft-chaos nightly --budget 30m --out {out}"
        )
    try:
        return _night_from(out, json.loads(found[-1].read_bytes()))
    except (ValueError, KeyError, TypeError) as error:
        raise OperatorError(
            f"{found[-1]}: not a night's plan: {error}\n"
            f"  try: kraft-chaos nightly --budget 30m --out {out}"
        ) from error


def _night_from(out: Path, content: Mapping[str, Any]) -> NightFiles:
    if content["format"] != _FORMAT:
        raise ValueError(f"format {content['format']}, not {_FORMAT}")
    slots: Sequence[Mapping[str, Any]] = content["slots"]
    return NightFiles(
        out=out,
        date=content["date"],
        name=content["name"],
        commit=content["commit"],
        settings=settings_from(content["settings"]),
        slots=tuple(slot_from(each) for each in slots),
    )
