"""The seeds of campaigns: each has a line in `rows.jsonl`, most have no directory. Needs no Spark.

A campaign that was killed leaves a cut last line, and a damaged file has lines that are no rows:
what can be read is counted, and how many lines could not be.
"""

import json
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers.verdict import Verdict

ROWS = "rows.jsonl"
_BAD = (Verdict.INVALID, Verdict.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedSeed:
    """A seed that was not as it should be, and the command that runs it again."""

    seed: int
    verdict: Verdict
    sentence: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRows:
    """The rows of one campaign. A seed counts as its campaign counts it: an expected loss is good,
    and a missing one is invalid."""

    path: Path
    scenario: str
    mutation: str
    verdicts: Mapping[Verdict, int]
    red: tuple[RedSeed, ...]
    unreadable: int  # lines

    @property
    def seeds(self) -> int:
        return sum(self.verdicts.values())

    @property
    def verdict(self) -> Verdict:
        """Some seeds are void in every campaign; in a sound one the others are decided, and all can
        be read."""
        if self.verdicts.get(Verdict.INVALID):
            return Verdict.INVALID
        if self.unreadable or self.verdicts.get(Verdict.ERROR):
            return Verdict.ERROR
        is_decided = self.verdicts.get(Verdict.VALID) and not self.verdicts.get(Verdict.UNKNOWN)
        return Verdict.VALID if is_decided else Verdict.UNKNOWN


def read_rows(path: Path) -> CampaignRows:
    """Raises OSError."""
    verdicts: Counter[Verdict] = Counter()
    red: list[RedSeed] = []
    named: set[tuple[str, str]] = set()
    unreadable = 0
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
            counts_as = _counts_as(row)
            seed, command = int(row["seed"]), str(row["command"])
            sentence = str(row["sentence"])
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable += 1
            continue
        verdicts[counts_as] += 1
        named.add(_scenario_and_mutation(command))
        if counts_as in _BAD:
            red.append(RedSeed(seed=seed, verdict=counts_as, sentence=sentence, command=command))
    known = sorted(each for each in named if each[0])
    return CampaignRows(
        path=path,
        scenario=", ".join(dict.fromkeys(scenario for scenario, _ in known)),
        mutation=", ".join(dict.fromkeys(mutation for _, mutation in known if mutation)),
        verdicts=verdicts,
        red=tuple(sorted(red, key=lambda each: (-each.verdict.value, each.seed))),
        unreadable=unreadable,
    )


def _counts_as(row: Mapping[str, Any]) -> Verdict:
    """As `chaos.campaign.job.SeedRow.counts_as`; a test holds the two equal."""
    verdict = Verdict[row["verdict"].upper()]
    unlike = row["unlike"]
    if unlike is None:
        return verdict
    if not unlike:
        return Verdict.VALID
    return Verdict.INVALID if verdict is Verdict.VALID else verdict


def _scenario_and_mutation(command: str) -> tuple[str, str]:
    """`kraft-chaos run SCENARIO ... --mutation ID`; a replay names neither."""
    words = shlex.split(command)
    if words[1:2] != ["run"] or len(words) < 3:
        return "", ""
    at = words.index("--mutation") + 1 if "--mutation" in words[:-1] else 0
    return words[2], words[at] if at else ""
