"""toxiproxy's byte counters: what a link took in and what it passed on.

A connection is added when it closes, so the counters are complete once a cut is healed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chaos.cluster.fault_evidence import Passage

SAMPLE = re.compile(r"^toxiproxy_proxy_(received|sent)_bytes_total\{([^}]*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


class Stream(StrEnum):
    """Which way the bytes of a connection go, seen from the side that opened it."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


@dataclass(frozen=True, slots=True)
class Counters:
    """Bytes by proxy name and stream, since the server started."""

    passages: Mapping[tuple[str, Stream], Passage] = field(default_factory=dict)

    def of(self, proxy: str, stream: Stream) -> Passage:
        return self.passages.get((proxy, stream), Passage())

    def as_json(self) -> str:
        return json.dumps(
            [[proxy, stream, p.received, p.sent] for (proxy, stream), p in self.passages.items()]
        )

    @classmethod
    def from_json(cls, text: str) -> "Counters":
        rows = json.loads(text)
        return cls({(name, Stream(stream)): Passage(*both) for name, stream, *both in rows})


def parse(text: str) -> Counters:
    """Read Prometheus' text form; other metrics are skipped."""
    sums: dict[tuple[str, Stream], list[int]] = {}
    for what, labels, value in SAMPLE.findall(text):
        by_name = dict(LABEL.findall(labels))
        both = sums.setdefault((by_name["proxy"], Stream(by_name["direction"])), [0, 0])
        both[what == "sent"] += int(float(value))
    return Counters({key: Passage(*both) for key, both in sums.items()})
