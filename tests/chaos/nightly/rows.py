"""Rows of a ledger, by what a test says of them."""

from dataclasses import replace

from checkers.verdict import Verdict
from spark_reports.ledger import LedgerRow, Night

_ROW = LedgerRow(
    key="",
    night="",
    began="2026-11-28T03:00:00.000",
    part="matrix",
    scenario="power-off",
    seed=1,
    verdict=Verdict.VALID,
    counts_as=Verdict.VALID,
    target="node",
    runtime="sim",
    commit="0123456789abcdef",
    command="kraft-chaos run power-off --seed 1",
    sentence="VALID",
)
CANARY = replace(
    _ROW, key="canary", part="canary", scenario="kill-leader", mutation="Q-ZOMBIE", seed=3
)


def green(key: str, **changes: object) -> LedgerRow:
    return replace(_ROW, key=key, **changes)  # type: ignore[arg-type]


def red(key: str, fingerprint: str = "Q1: it broke", **changes: object) -> LedgerRow:
    said = {
        "verdict": Verdict.INVALID,
        "counts_as": Verdict.INVALID,
        "fingerprint": fingerprint,
        "sentence": f"INVALID: {fingerprint}",
    }
    return green(key, **{**said, **changes})


def void(key: str, **changes: object) -> LedgerRow:
    said = {"verdict": Verdict.VOID, "counts_as": Verdict.VOID, "sentence": "VOID: nothing bit"}
    return green(key, **{**said, **changes})


def night(date: str, *rows: LedgerRow) -> Night:
    """With a canary that was found."""
    dated = (replace(row, night=date) for row in (CANARY, *rows))
    return Night(date=date, rows=tuple(dated))
