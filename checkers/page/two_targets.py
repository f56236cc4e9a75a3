"""One side of a scenario on two targets: the verdicts, and the changes of each partition, beside
each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, zip_longest

import pyarrow.compute as pc

from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER
from checkers.page.document import section
from checkers.page.markup import Child, Markup
from checkers.page.page_tables import table
from checkers.page.partition_lanes import PartitionSpan, partition_lanes

Changes = Mapping[str, Sequence[str]]  # by partition: its states, one after the other
Aligned = tuple[str, str]  # the state on each target; "" if only the other one had it
_NOTHING = "-"


def partition_changes(evidence: Evidence) -> Changes:
    """For the partitions that clients used: leader, ISR and ELR after each change of one of these,
    until the last answer to a client: some nodes are stopped in good order afterwards."""
    end_ns = pc.max(evidence.tables["ops"]["t1"]).as_py() or 0
    told = {
        lane.key: [_in_words(span) for span in lane.spans if span.from_ns < end_ns]
        for lane in partition_lanes(evidence, end_ns)
    }
    return {key: [state for state, _ in groupby(found)] for key, found in sorted(told.items())}


def _in_words(span: PartitionSpan) -> str:
    leader = "no node" if span.leader == NO_LEADER else f"node {span.leader}"
    elr = f", ELR {sorted(span.elr)}" if span.elr else ""
    return f"{leader} leads, ISR {sorted(span.isr)}{elr}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTarget:
    """The results of all runs of a side on one target; the first run is shown."""

    target: str
    verdicts: Sequence[str]
    changes: Sequence[Changes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A side on both targets."""

    side: str
    one: OnTarget
    other: OnTarget

    @property
    def differs_in_verdict(self) -> bool:
        """Whether some run of one had a verdict that none of the other had."""
        return set(self.one.verdicts) != set(self.other.verdicts)

    @property
    def partitions(self) -> Sequence[str]:
        return sorted({key for on in (self.one, self.other) for each in on.changes for key in each})

    def rows(self, partition: str) -> Sequence[Aligned]:
        """The changes of the first run of each, aligned; no run is the same twice, so a run of the
        other one with the same changes is shown instead, if there is one."""
        first = list(self.one.changes[0].get(partition, ()))
        others = [list(each.get(partition, ())) for each in self.other.changes]
        return list(_aligned(first, first if first in others else others[0]))

    def differs_in(self, partition: str) -> bool:
        return any(one != other for one, other in self.rows(partition))


def _aligned(one: Sequence[str], other: Sequence[str]) -> Iterator[Aligned]:
    for _, low, high, low_other, high_other in SequenceMatcher(
        None, one, other, autojunk=False
    ).get_opcodes():
        yield from zip_longest(one[low:high], other[low_other:high_other], fillvalue="")


def as_lines(found: Beside) -> Iterator[str]:
    """For a terminal."""
    names = f"{found.one.target} and {found.other.target}"
    yield f"{found.side}, {names} beside each other"
    told = [f"{on.target} {', '.join(sorted(set(on.verdicts)))}" for on in (found.one, found.other)]
    yield f"  verdicts {'differ' if found.differs_in_verdict else 'agree'}: {'; '.join(told)}"
    for partition in found.partitions:
        rows = found.rows(partition)
        if not found.differs_in(partition):
            yield f"  {partition}: the same {counted(len(rows), 'state')} of leader, ISR and ELR"
            continue
        yield f"  {partition}: states of leader, ISR and ELR differ"
        width = max(len(one) for one, _ in rows)
        for one, other in rows:
            mark = " " if one == other else "!"
            yield f"  {mark} {one or _NOTHING:<{width}}  {other or _NOTHING}"


def beside_section(found: Beside) -> Markup:
    rows: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if found.differs_in_verdict else "",
            ["verdict", *(", ".join(on.verdicts) for on in (found.one, found.other))],
        )
    ]
    for partition in found.partitions:
        for number, (one, other) in enumerate(found.rows(partition)):
            name = partition if number == 0 else ""
            rows.append(("" if one == other else "bad", [name, one or _NOTHING, other or _NOTHING]))
    columns = [("", "fixed"), (found.one.target, "wide"), (found.other.target, "wide")]
    return section(
        f"{found.side}: {found.one.target} and {found.other.target}", table(columns, rows)
    )
