"""Many cuts as a matrix: file kind, moment, what the disk held, what the node made of it, n of m.

A kind of file that came to an outcome in some of the cuts only is the kernel's own timing: what
nobody synced may reach the disk before the power fails, and may not. What came about in all of them
is the program's. Between shorter and zeros the kernel decides always: the size of a file is
committed with the journal, whoever syncs, and its bytes are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.audit.copies import Status
from chaos.audit.next_start import WORST, NextStart
from chaos.audit.one_cut import ObservedCut, ObservedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    moment: str
    kind: str
    status: Status
    outcome: NextStart
    seen: int  # cuts with such a file
    of_outcome: int  # cuts with a file of this kind and outcome, whatever its status
    cuts: int  # at that moment, without void ones
    files: int  # in all those cuts

    @property
    def is_of_the_kernel(self) -> bool:
        """It came to this outcome in some cuts only."""
        return self.of_outcome < self.cuts


def rows_of(cuts: Sequence[ObservedCut]) -> list[Row]:
    """Differences only, in the order of moments; within one, the worst outcome first."""
    sound = [cut for cut in cuts if not cut.void]
    found: list[Row] = []
    for moment in dict.fromkeys(cut.moment for cut in sound):
        of_moment = [cut for cut in sound if cut.moment == moment]
        found += sorted(_rows(moment, of_moment), key=_rank)
    return found


def always_same(cuts: Sequence[ObservedCut]) -> list[str]:
    """Kinds of files of which no disk ever held anything else than they said."""
    files = [each for cut in cuts if not cut.void for each in cut.files]
    differing = {each.kind for each in files if each.file.differs}
    return sorted({each.kind for each in files} - differing)


def _rows(moment: str, cuts: Sequence[ObservedCut]) -> list[Row]:
    seen: dict[tuple[str, Status, NextStart], list[tuple[int, ObservedFile]]] = {}
    for number, cut in enumerate(cuts):
        for each in cut.differences:
            assert each.outcome is not None, "every difference has one"
            key = (each.kind, each.file.status, each.outcome)
            seen.setdefault(key, []).append((number, each))
    of_outcome: dict[tuple[str, NextStart], set[int]] = {}
    for (kind, _, outcome), found in seen.items():
        of_outcome.setdefault((kind, outcome), set()).update(number for number, _ in found)
    return [
        Row(
            moment=moment,
            kind=kind,
            status=status,
            outcome=outcome,
            seen=len({number for number, _ in found}),
            of_outcome=len(of_outcome[kind, outcome]),
            cuts=len(cuts),
            files=len(found),
        )
        for (kind, status, outcome), found in seen.items()
    ]


def _rank(row: Row) -> tuple[int, str, str]:
    return WORST.index(row.outcome), row.kind, row.status
