"""Times of batches are found as by reading one after the other."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from node.ids import Offset
from node.records.batch import BatchHeader
from node.storage.partition_log import PartitionLog
from node.storage.time_index import TimeIndex
from tests.support.batches import batch
from tests.support.power import new_disk
from tests.support.segments import by_size

TIMES = st.integers(-3, 12)


@given(
    times=st.lists(TIMES, max_size=20),
    steps=st.lists(st.tuples(st.integers(0, 22), TIMES, st.integers(0, 22)), max_size=12),
)
def test_a_segment_is_cut_and_goes_on(times: list[int], steps: list[tuple[int, int, int]]) -> None:
    index, model = TimeIndex(), list[int]()
    for count, (first, sought, end) in enumerate(steps):
        for time_ms in times[count % 5 :]:
            index.add(time_ms)
            model.append(time_ms)
        first, end = min(first, len(model)), min(end, len(model))
        wanted = next((at for at in range(first, len(model)) if model[at] >= sought), None)
        assert index.first_of(sought, first) == wanted
        assert index.latest(first, end) == max(model[first:end], default=None)
        index.truncate(end)
        del model[end:]


@given(
    times=st.lists(TIMES, max_size=12),
    start=st.integers(0, 24),
    limit=st.integers(0, 25),
    sought=TIMES,
    max_bytes=st.integers(0, 600),
    segment_bytes=st.sampled_from([1, 300, 1 << 20]),
)
def test_a_log_of_segments(
    times: list[int], start: int, limit: int, sought: int, max_bytes: int, segment_bytes: int
) -> None:
    """What ends at `limit`, which may lie within a batch, and is not deleted."""
    log = PartitionLog.create(new_disk(), "orders-3", UUID(int=77), by_size(segment_bytes))
    for time_ms in times:
        log.append(batch(log.next_offset, 1, 2, timestamp_ms=time_ms))
    log.raise_start(Offset(min(start, log.next_offset)))
    end = Offset(limit)
    told = [each for each in log.headers() if log.start < each.next_offset <= limit]
    wanted = next((each for each in told if each.max_timestamp_ms >= sought), None)
    assert log.first_at(sought, end) == wanted
    assert log.latest_ms(end) == max((each.max_timestamp_ms for each in told), default=None)
    _check_reads(log, told, end, max_bytes)


def _check_reads(log: PartitionLog, told: list[BatchHeader], limit: Offset, max_bytes: int) -> None:
    for header in told:
        offset = max(header.base_offset, log.start)
        data = log.read_below(offset, max_bytes, limit)
        unlimited = log.read(offset, max_bytes)
        ends = sum(each.size for each in told if each.base_offset >= header.base_offset)
        assert data == unlimited[:ends]
        assert len(data) == log.readable(offset, max_bytes, limit) >= header.size
    assert log.read_below(log.next_offset, max_bytes, limit) == b""
