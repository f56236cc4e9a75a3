"""A finding: its section of `docs/results/findings.md`, its script, its evidence in a run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.operator_errors import OperatorError
from chaos.setup.places import repository

_SCRIPTS = Path(__file__).with_name("scripts")
_SECTION = re.compile(r"^## (\d+)\. (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding, named as the first of its scenarios.

    `says` are regular expressions of log lines that show it, `files` globs below a node's data
    directory for files that show it; `moments` those of the audit that show it.
    """

    section: int  # of docs/results/findings.md
    scenarios: Sequence[str]
    says: Sequence[str] = ()
    files: Sequence[str] = ()
    moments: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.scenarios[0]

    @property
    def title(self) -> str:
        return self.prose().splitlines()[0]

    def prose(self) -> str:
        """Title and text of its section, as the page has them. Raises OperatorError."""
        page = repository() / "docs" / "results" / "findings.md"
        try:
            parts = _SECTION.split(page.read_text(encoding="utf-8"))
        except OSError as error:
            raise OperatorError(f"{page}: {error.strerror}\n  try: a whole checkout") from error
        for number, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if int(number) == self.section:
                own, _, _ = text.partition("\n## ")
                return f"{title}\n\n{own.strip()}"
        raise OperatorError(f"{page} has no section {self.section}\n  try: a whole checkout")

    def script(self) -> str:
        """A whole shell script that shows it."""
        parts = (_SCRIPTS / "beginning.sh", _SCRIPTS / f"{self.name}.sh")
        return "".join(part.read_text(encoding="utf-8") for part in parts)

    def printed(self) -> str:
        """What the script printed when it was last recorded."""
        return (_SCRIPTS / f"{self.name}.out").read_text(encoding="utf-8").strip()
