"""UpdateFeatures: metadata.version, and eligible leader replicas (KIP-584, KIP-966).

An update is done as a whole or not at all. A level must be one that every registered node supports.
metadata.version never goes below a level that knows more: records would be lost.
"""

from collections.abc import Iterator, Sequence

from node import limits
from node.controller.decision import MIN_ISR, Decision, DecisionContext, RefusedError
from node.controller.image import Image
from node.controller.image.configurations import BROKER, CLUSTER
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import (
    CHANGED,
    ELR,
    ELR_VERSION,
    METADATA_VERSION,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
)
from node.records.schemas import BrokerFeature, ControllerFeature
from node.wire.api_versions import (
    SAFE_DOWNGRADE,
    SUPPORTED_FEATURES,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_OURS = {name: (low, high) for name, low, high in SUPPORTED_FEATURES}


def update(context: DecisionContext, request: UpdateFeaturesRequest) -> Decision:
    """Raises RefusedError."""
    image = context.image
    if len(request.updates) > limits.MAX_FEATURES:
        why = f"More than {limits.MAX_FEATURES} features in request"
        raise RefusedError(ErrorCode.INVALID_REQUEST, why)
    levels = {**image.feature_levels(), **{each.name: each.level for each in request.updates}}
    records: list[MetadataRecord] = []
    for each in request.updates:
        why = _why_not(context, each) or _why_not_together(each, levels)
        if why:
            raise RefusedError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid update version {each.level} for feature {each.name}. {why}",
            )
        records += _beside(context, each)
        records.append(FeatureLevelRecord(name=each.name, feature_level=each.level))
    response = UpdateFeaturesResponse(features=tuple(each.name for each in request.updates))
    return Decision(records=records, response=response, only_validated=request.validate_only)


def _why_not(context: DecisionContext, update: FeatureUpdate) -> str:
    image = context.image
    now = image.feature_level(update.name)
    if update.kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if update.name == "kraft.version":
        return _why_not_by_voters(context.voters_without(update.level), update.kind)
    if update.name not in _OURS and not now:
        return "There is no such feature."  # nor may it be set to 0
    for node, low, high in _supported(image, update.name):
        if not low <= update.level <= high:
            return f"{node} only supports versions {low}-{high}"
    if update.level < now and update.kind == UPGRADE:
        return "Can't downgrade without setting the upgrade type to a downgrade."
    if update.level > now and update.kind != UPGRADE:
        return "Can't downgrade to a newer version."
    lost = [level for level in CHANGED if update.level < level <= now]
    if update.name == METADATA_VERSION and lost:
        why = "the downgrade would delete metadata, and none does so, be it called safe or not."
        return f"It cannot be lowered below {lost[-1]}: {why}"
    return ""


def _why_not_by_voters(without: Sequence[NodeId] | None, kind: int) -> str:
    if kind != UPGRADE:
        return (
            "It cannot be lowered: voters are told by directories that a lower one does not know."
        )
    if not without:
        return "The quorum was formatted with its kraft.version."
    nodes = ", ".join(str(node) for node in without)
    return f"Not all of the voters said that they support it; these did not: {nodes}."


def _why_not_together(update: FeatureUpdate, levels: dict[str, int]) -> str:
    if update.name == ELR_VERSION and update.level and levels.get(METADATA_VERSION, 0) < ELR:
        return f"It needs {METADATA_VERSION} {ELR}."
    return ""


def _supported(image: Image, name: str) -> Iterator[tuple[str, int, int]]:
    """Each node and the levels it supports: this node, and every registered one."""
    yield "This controller", *_OURS.get(name, (0, 0))
    for controller in image.controllers.values():
        yield f"Controller {controller.controller_id}", *_levels(controller.features, name)
    for broker in image.brokers.all():
        yield f"Broker {broker.broker_id}", *_levels(broker.features, name)


def _levels(features: Sequence[ControllerFeature | BrokerFeature], name: str) -> tuple[int, int]:
    found = (each for each in features if each.name == name)
    return next(
        ((each.min_supported_version, each.max_supported_version) for each in found), (0, 0)
    )


def _beside(context: DecisionContext, update: FeatureUpdate) -> Iterator[MetadataRecord]:
    """Further records that enabling or disabling the ELR requires.

    Enabled: one min.insync.replicas for the whole cluster, and none of single brokers
    (KAFKA-16540). Disabled: no ELR.
    """
    if update.name != ELR_VERSION:
        return
    if not update.level:
        yield ClearElrRecord(topic_name="")
        return
    yield from one_min_isr(context.image, context.settings.min_isr)


def one_min_isr(image: Image, default: int) -> Iterator[ConfigRecord]:
    """The records that set one minimum for the cluster and remove it from all brokers, where that
    is not so yet. With an ELR, controllers and leaders use one minimum, whatever their
    configuration files say (KAFKA-16540)."""
    configs = image.configs
    if MIN_ISR not in configs.of(CLUSTER):
        yield _min_isr("", str(default))
    for broker in sorted(configs.resources(BROKER)):
        if broker and MIN_ISR in configs.of((BROKER, broker)):
            yield _min_isr(broker, None)


def _min_isr(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=BROKER, resource_name=broker, name=MIN_ISR, value=value)
