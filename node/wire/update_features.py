"""UpdateFeatures: finalizes other levels of features, all or none (KIP-584)."""

from types import SimpleNamespace
from typing import Annotated, Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import AT_ONCE, Api
from node.wire.declared import Error, Functions, Message

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def _read_kind(update: Any) -> int:
    """Version 0 only says whether a downgrade is meant."""
    if hasattr(update, "allow_downgrade"):
        return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return int(update.upgrade_type)


def _write_kind(kind: int) -> dict[str, Any]:
    return {"allow_downgrade": kind != UPGRADE, "upgrade_type": kind}


def _read_features(entity: Any) -> tuple[str, ...]:
    return tuple(each.feature for each in getattr(entity, "results", ()))


def _write_features(message: "UpdateFeaturesResponse", version: int) -> dict[str, Any]:
    told = (
        SimpleNamespace(feature=name, error_code=message.error, error_message=message.message)
        for name in (message.features if version < 2 else ())
    )
    return {"results": tuple(told)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdate:
    name: Annotated[str, "feature"]
    level: Annotated[int, "max_version_level"]
    kind: Annotated[int, Functions(_read_kind, value=_write_kind)] = UPGRADE


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesRequest:
    updates: Annotated[tuple[FeatureUpdate, ...], "feature_updates"]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesResponse:
    """One error for all; before version 2 each feature has it."""

    error: Error = ErrorCode.NONE
    message: Message = None
    features: Annotated[tuple[str, ...], Functions(_read_features, _write_features)] = ()


UPDATE_FEATURES = Api(
    57, "UpdateFeatures", 0, 2, UpdateFeaturesRequest, UpdateFeaturesResponse, always=AT_ONCE
)
