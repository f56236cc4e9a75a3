"""The moments, in the order in which a cluster lives through them."""

from chaos.audit import node_moments
from chaos.audit.moment import Moment, Way

_LEAST_SEGMENT = 1024  # bytes, of our own node's metadata log

_ALL = (
    Moment(
        name="first-start",
        summary="a node answers for the first time; nobody synced what the format wrote",
        ways={
            "node": Way(reach=node_moments.first_start, settings={"synced_format": "off"}),
        },
    ),
    Moment(
        name="record-acknowledged",
        summary="records were acknowledged, the last one just now",
        ways={"node": Way(reach=node_moments.record_acknowledged)},
    ),
    Moment(
        name="segment-rolled",
        summary="a log has gone on in new segments",
        ways={
            "node": Way(reach=node_moments.segment_rolled, segment_bytes=_LEAST_SEGMENT),
        },
    ),
    Moment(
        name="leader-elected",
        summary="who led was killed, another was elected, and a record acknowledged since",
        ways={"node": Way(reach=node_moments.leader_elected, nodes=3)},
    ),
    Moment(
        name="clean-stop",
        summary="nodes were stopped in good order, and the power fails before the kernel has "
        "written all out",
        ways={"node": Way(reach=node_moments.record_acknowledged, stopped=True)},
    ),
)

MOMENTS = {moment.name: moment for moment in _ALL}


def moments_of(target: str) -> list[Moment]:
    return [moment for moment in _ALL if target in moment.ways]
