"""A-LENIENT: values of configs are accepted without validation (KAFKA-13490, before which a quorum
stored any value for a topic)."""

from chaos.mutations.planted import Planted
from node.controller import resource_configs
from node.controller.client_metrics import METRICS_DEFINITIONS
from node.records.metadata import ConfigRecord
from node.wire.configs import ConfigChange, ResourceChange

SET = 0

_as_it_should = resource_configs._record


def taken_as_it_is(
    resource: ResourceChange, change: ConfigChange, current: str | None
) -> ConfigRecord:
    """All else is still validated: deletions, lists, and unknown configs."""
    if change.operation != SET or change.value is None or change.name not in METRICS_DEFINITIONS:
        return _as_it_should(resource, change, current)
    return ConfigRecord(
        resource_type=resource.type,
        resource_name=resource.name,
        name=change.name,
        value=change.value,
    )


PLANTED = Planted(owner=resource_configs, decision="_record", wrong=taken_as_it_is)
