"""The partitions of a scenario of brokers, drawn."""

from collections.abc import Sequence

from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.page.document import section
from checkers.page.fault_windows import FaultWindow
from checkers.page.markup import Markup, tag
from checkers.page.partition_drawing import partition_drawing
from checkers.page.partition_lanes import PARTITIONS_LIMIT, partition_lanes

_TITLE = "Partitions"
_CAPTION = (
    "A row per replica: whether it led, was in the ISR, or could still be elected (ELR). Numbers "
    "over the rows: the ISR, and behind + the ELR. Below: every acknowledged record at its "
    "offset and time, red if it is gone at the end, and the high watermark in answers to "
    "consumers."
)


def partitions_section(
    evidence: Evidence, faults: Sequence[FaultWindow], end_ns: int
) -> Markup | None:
    """None if clients used no partitions."""
    try:
        lanes = partition_lanes(evidence, end_ns)
    except Exception as error:  # noqa: BLE001 - evidence that no check can read has a page too
        why = f"They cannot be drawn: {type(error).__name__}: {error}"
        return section(_TITLE, tag("p", why, class_="soft"))
    if not lanes:
        return None
    drawings = [
        tag("div", partition_drawing(lane, faults, end_ns), class_="scroll") for lane in lanes
    ]
    used = len(evidence.tables["spans"]["key"].unique())
    more = used - len(lanes)
    left_out = (
        f" {counted(more, 'more partition is', 'more partitions are')} not drawn."
        if more > 0
        else ""
    )
    assert len(lanes) <= PARTITIONS_LIMIT
    return section(_TITLE, tag("figure", *drawings, tag("figcaption", _CAPTION + left_out)))
