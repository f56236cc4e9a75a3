"""What is said of a file."""

from dataclasses import dataclass

from checkers.foreign.entries import ClientId
from checkers.verdict import Verdict

NOTHING = "no operation succeeded, so there is nothing to judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An operation of the witness. `completed_line` is 0 where the file has no completion."""

    line: int
    completed_line: int
    process: ClientId
    key: str
    what: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is said of a file. `context` are the lines that the witness needs beside itself.

    `seconds` is the time to decide, once what `linearizability.warm` loads is loaded;
    `witness_seconds` is what looking for the witness took beside it.
    """

    verdict: Verdict
    algorithm: str
    message: str
    operations: int
    keys: int
    seconds: float
    witness_seconds: float = 0.0
    witness: tuple[Shown, ...] = ()
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Of what is said, what is known before anything is decided."""

    algorithm: str
    operations: int
    keys: int

    def says(
        self,
        verdict: Verdict,
        message: str,
        seconds: float,
        witness: tuple[Shown, ...] = (),
        context: tuple[str, ...] = (),
    ) -> Judged:
        return Judged(
            verdict=verdict,
            algorithm=self.algorithm,
            message=message,
            operations=self.operations,
            keys=self.keys,
            seconds=seconds,
            witness=witness,
            context=context,
        )
