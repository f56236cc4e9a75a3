"""What failed, told so that runs that fail alike say the same. Pure."""

import re
from dataclasses import dataclass

from chaos.campaign.standing import Standing
from checkers.history.sealed_run import Run
from checkers.verdict import CheckResult, Judgement, Verdict

_LONGEST = 90
_KEY = re.compile(r"\br-\d+\b")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_LIST = re.compile(r"N(?:, N)+")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fingerprint:
    """`role` is that of the node of the witness's last event, at that event."""

    check: str
    anomaly: str
    role: str = "-"

    def __str__(self) -> str:
        role = "" if self.role == "-" else f" ({self.role})"
        return f"{self.check}: {self.anomaly}{role}"


def fingerprint(judgement: Judgement, run: Run | None) -> Fingerprint | None:
    """Of the first row that has the run's own verdict; None of a valid run."""
    if judgement.verdict is Verdict.VALID:
        return None
    blamed = [row for row in judgement.results if row.verdict is judgement.verdict]
    if not blamed:
        return Fingerprint(check="-", anomaly=anomaly(judgement.sentence))
    role = _role(blamed[0], run) if run is not None else "-"
    return Fingerprint(check=blamed[0].check, anomaly=anomaly(blamed[0].message), role=role)


def unlike_expected(unlike: str) -> Fingerprint:
    """Of a run in which nothing was wrong, where something was to be."""
    return Fingerprint(check="expected", anomaly=anomaly(unlike))


def anomaly(message: str) -> str:
    """The first clause of a message, without what differs from run to run."""
    clause = re.split(r"[;(]", message, maxsplit=1)[0].strip()
    plain = _NUMBER.sub("N", _KEY.sub("KEY", clause))
    return _LIST.sub("N", plain)[:_LONGEST]


def _role(row: CheckResult, run: Run) -> str:
    for event in reversed(row.witness):
        node, at = event.get("node"), event.get("t_ns")
        if isinstance(node, int) and node > 0 and isinstance(at, int):
            return Standing(run).role(node, at + 1).value  # the event itself among what it did
    return "-"
