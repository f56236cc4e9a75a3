"""P-HWM-DOWN: a leader's high watermark falls to the offset of a follower that it has not heard."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica
from node.ids import Offset


def the_slowest_of_all(self: Replica, now_ns: int) -> None:
    leading = self.leading
    assert leading is not None
    ends = [
        follower.end or Offset(0)
        for broker, follower in leading.followers.items()
        if self._is_counted_on(leading, broker, now_ns)
    ]
    if len(leading.isr.committed) >= self._min_isr:
        self.high_watermark = min(self.end, *ends) if ends else self.end


PLANTED = Planted(owner=Replica, decision="_advance", wrong=the_slowest_of_all)
