"""The judgement of a file."""

from dataclasses import dataclass

from checkers.foreign.entries import ClientId
from checkers.verdict import Verdict

NOTHING = "no operation succeeded, so there is nothing to judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An operation of the witness. `completed_line` is 0 if the file has no completion."""

    line: int
    completed_line: int
    process: ClientId
    key: str
    what: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judgement of a file. `context` are the lines that the witness needs beside itself.

    `seconds` is the time to decide, without the loading of `linearizability.warm`;
    `witness_seconds` is the additional time for finding the witness.
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
    """The fields of a judgement that are known before anything is decided."""

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
