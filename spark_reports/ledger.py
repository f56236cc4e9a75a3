"""The ledger: one row a run, night after night, in `night=YYYY-MM-DD/part-*.parquet`.

Rows are immutable. A part is written under a hidden name and renamed, so a reader finds a part of a
night whole or not at all; the rows of a run that was made again have another key. Needs no Spark,
and is what Spark reads: `night` is a partition of the path.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.verdict import Verdict

LEDGER_VERSION = 1  # goes up when the meaning of a column changes
# Parts of a night whose runs are chosen because of a red one: their share of reds is no rate.
RED_BEFORE, REPEAT, TRIAGE = "red before", "repeat", "triage"
MADE_SMALL = "made small"  # of what is left of a red run

_TEXT, _LONG, _REAL = pa.string(), pa.int64(), pa.float64()
_CHECK = pa.struct([("check", _TEXT), ("verdict", _TEXT), ("looked_at", _LONG), ("count", _LONG)])
_EVENT = pa.struct([("t_ns", _LONG), ("what", _TEXT)])

SCHEMA = pa.schema(
    [
        *((name, _TEXT) for name in ("key", "began", "commit", "target", "version", "runtime")),
        *((name, _TEXT) for name in ("host", "part", "scenario", "side", "settings", "expected")),
        ("mutation", _TEXT),
        ("seed", _LONG),
        ("attempt", _LONG),
        *((name, _TEXT) for name in ("plan", "command", "verdict", "counts_as")),
        *((name, _TEXT) for name in ("fingerprint", "sentence")),
        ("witness", pa.list_(_EVENT)),
        ("checks", pa.list_(_CHECK)),
        ("statistics", pa.map_(_TEXT, _REAL)),
        ("struck", pa.map_(_TEXT, _LONG)),
        ("operations", _LONG),
        ("faults", _LONG),
        ("real_s", _REAL),
        ("virtual_s", _REAL),
        ("night_s", _REAL),
        ("strain", _REAL),
        ("directory", _TEXT),
        ("ledger_version", _LONG),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One run. `part` is the part of the night that it belongs to, `began` its wall-clock time in
    UTC; `night_s` says after how many seconds of the night it ended.

    `counts_as` is the verdict with what was expected taken into account: an expected loss and a
    found canary are valid, a loss that did not come is invalid. `directory` is relative to the
    ledger's parent; "" where nothing was kept, since the command makes the run again.
    """

    key: str
    night: str  # YYYY-MM-DD
    began: str
    part: str
    scenario: str
    seed: int
    verdict: Verdict
    counts_as: Verdict
    commit: str = ""
    target: str = ""
    version: str = ""
    runtime: str = ""
    host: str = ""
    side: str = ""
    settings: str = ""  # `a=b c=d`
    expected: str = ""
    mutation: str = ""
    attempt: int = 0
    plan: str = ""  # JSON
    command: str = ""
    fingerprint: str = ""
    sentence: str = ""
    witness: Sequence[Mapping[str, object]] = ()
    checks: Sequence[Mapping[str, object]] = ()
    statistics: Mapping[str, float] = field(default_factory=dict)
    struck: Mapping[str, int] = field(default_factory=dict)
    operations: int = 0
    faults: int = 0
    real_s: float = 0.0
    virtual_s: float = 0.0
    night_s: float = 0.0
    strain: float = 0.0  # on the machine: 1 is the bound of a starved one; 0: not measured
    directory: str = ""

    @property
    def subject(self) -> tuple[str, ...]:
        """What was tried, whatever the seed."""
        return self.scenario, self.side, self.target, self.runtime, self.settings, self.mutation

    @property
    def subject_words(self) -> str:
        side = "" if self.side in self.settings else self.side
        return ", ".join(filter(None, (self.scenario, side, self.settings, self.target)))

    @property
    def is_red(self) -> bool:
        return self.counts_as in (Verdict.INVALID, Verdict.ERROR)

    @property
    def is_canary(self) -> bool:
        return bool(self.mutation) and not self.side

    @property
    def is_small(self) -> bool:
        """What is left of a red run when all that it does not need is gone: not one more try."""
        return self.part == MADE_SMALL

    @property
    def is_drawn(self) -> bool:
        """Neither a planted bug nor chosen because of a red run, so that it counts for a rate."""
        return not self.is_canary and self.part not in (RED_BEFORE, REPEAT, TRIAGE, MADE_SMALL)

    @property
    def is_missed(self) -> bool:
        """A canary that no check named for it accused, also because it could not be run."""
        return self.is_canary and self.counts_as is not Verdict.VALID

    def as_json(self) -> dict[str, object]:
        words = {"verdict": self.verdict.word, "counts_as": self.counts_as.word}
        return {**asdict(self), **words}


def row_from(content: Mapping[str, object]) -> LedgerRow:
    """A row from its `as_json`, or from a row of the table and its night. Raises KeyError,
    TypeError, ValueError."""
    known = {each.name for each in fields(LedgerRow)}
    values = {name: value for name, value in content.items() if name in known}
    for name in ("verdict", "counts_as"):
        values[name] = Verdict[str(values[name]).upper()]
    for name in ("statistics", "struck"):
        values[name] = dict(values.get(name) or {})  # type: ignore[call-overload]
    return LedgerRow(**values)  # type: ignore[arg-type]


def write_part(ledger: Path, night: str, name: str, rows: Sequence[LedgerRow]) -> Path:
    """Write `rows` as one part of the night. A part of this name is replaced, in one step."""
    directory = ledger / f"night={night}"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"part-{name}.parquet"
    hidden = directory / f".{path.name}.{os.getpid()}"
    content = [{**row.as_json(), "ledger_version": LEDGER_VERSION} for row in rows]
    pq.write_table(pa.Table.from_pylist(content, schema=SCHEMA), hidden, compression="zstd")
    descriptor = os.open(hidden, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    hidden.replace(path)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """All rows of one night, each run once; `problems` names the parts that cannot be read."""

    date: str
    rows: tuple[LedgerRow, ...]
    problems: tuple[str, ...] = ()


def read_nights(ledger: Path, newest: int | None = None) -> list[Night]:
    """The nights in order of their dates; the `newest` so many, or all."""
    found = sorted(each for each in ledger.glob("night=*") if each.is_dir())
    return [_read_night(each) for each in found[-newest if newest else 0 :]]


def _read_night(directory: Path) -> Night:
    date = directory.name.removeprefix("night=")
    rows: dict[str, LedgerRow] = {}
    problems = []
    for part in sorted(directory.glob("part-*.parquet")):
        try:
            content = pq.ParquetFile(part).read().to_pylist()
            read = [row_from({**row, "night": date}) for row in content]
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            problems.append(f"{part}: cannot be read: {str(error).partition(chr(10))[0]}")
        else:
            rows |= {row.key: row for row in read}
    return Night(date=date, rows=tuple(rows.values()), problems=tuple(problems))


def red_rows(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """Of the nodes as they are: canaries apart."""
    return [row for row in rows if row.is_red and not row.is_canary]
