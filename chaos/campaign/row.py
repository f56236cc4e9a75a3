"""What is left of one seed's run: a line of `rows.jsonl`. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos.campaign.coverage import Cell, cell_from
from chaos.campaign.fingerprint import Fingerprint
from checkers.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRow:
    """`struck` counts the nodes that faults hit, `faults` the faults that bit. `directory` is where
    the run was kept; "" if it was not. `unlike`: what was not as expected of its side, "" where all
    was, None where nothing is expected."""

    seed: int
    verdict: Verdict
    fingerprint: Fingerprint | None = None
    sentence: str = ""
    virtual_s: float = 0.0
    real_s: float = 0.0
    operations: int = 0  # that succeeded
    faults: int = 0
    struck: Mapping[Cell, int] = field(default_factory=Counter)
    command: str = ""  # the one line that runs it again
    directory: str = ""
    unlike: str | None = None
    looked_at: Mapping[str, int] = field(default_factory=Counter)  # by check, how many things

    @property
    def counts_as(self) -> Verdict:
        """In the campaign: what was expected is good, and a good run that was not is wrong."""
        if self.unlike is None:
            return self.verdict
        if not self.unlike:
            return Verdict.VALID
        return Verdict.INVALID if self.verdict is Verdict.VALID else self.verdict

    def as_json(self) -> dict[str, Any]:
        found = self.fingerprint
        return {
            "seed": self.seed,
            "verdict": self.verdict.word,
            "check": found.check if found else "",
            "anomaly": found.anomaly if found else "",
            "role": found.role if found else "",
            "sentence": self.sentence,
            "virtual_s": round(self.virtual_s, 3),
            "real_s": round(self.real_s, 3),
            "operations": self.operations,
            "faults": self.faults,
            "struck": {str(cell): count for cell, count in sorted(self.struck.items())},
            "command": self.command,
            "directory": self.directory,
            "unlike": self.unlike,
            "looked_at": dict(sorted(self.looked_at.items())),
        }


def row_from(line: Mapping[str, Any]) -> SeedRow:
    """What `as_json` gave. Raises KeyError, ValueError."""
    fields = dict(line)
    check, anomaly, role = (fields.pop(name) for name in ("check", "anomaly", "role"))
    verdict = Verdict[fields.pop("verdict").upper()]
    struck = Counter({cell_from(text): count for text, count in fields.pop("struck").items()})
    fields["looked_at"] = Counter(fields["looked_at"])
    found = Fingerprint(check=check, anomaly=anomaly, role=role) if check else None
    return SeedRow(verdict=verdict, fingerprint=found, struck=struck, **fields)


def crashed(seed: int, what: str, where: str, command: str, real_s: float = 0.0) -> SeedRow:
    """The harness failed, or its process died: no verdict on the nodes, and never a good one."""
    return SeedRow(
        seed=seed,
        verdict=Verdict.ERROR,
        fingerprint=Fingerprint(check="harness", anomaly=what, role="-"),
        sentence=f"ERROR: {what}: {where}",
        real_s=real_s,
        command=command,
    )
