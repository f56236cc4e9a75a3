"""UpdateFeatures: finalizes other levels of features, all or none (KIP-584)."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdate:
    name: str
    level: int
    kind: int = UPGRADE


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesRequest:
    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesResponse:
    """One error for all; before version 2 each feature has it."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    features: tuple[str, ...] = ()


def _read_request(entity: Any) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        updates=tuple(
            FeatureUpdate(name=each.feature, level=each.max_version_level, kind=_kind(each))
            for each in entity.feature_updates
        ),
        validate_only=getattr(entity, "validate_only", False),
    )


def _kind(update: Any) -> int:
    """Version 0 only says whether a downgrade is meant."""
    if hasattr(update, "allow_downgrade"):
        return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return int(update.upgrade_type)


def _write_request(message: UpdateFeaturesRequest, kio: SimpleNamespace) -> Any:
    return kio.UpdateFeaturesRequest(
        timeout=NO_THROTTLE,
        feature_updates=tuple(
            kio.FeatureUpdateKey(
                feature=each.name,
                max_version_level=each.level,
                allow_downgrade=each.kind != UPGRADE,
                upgrade_type=each.kind,
            )
            for each in message.updates
        ),
        validate_only=message.validate_only,
    )


def _read_response(entity: Any) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(
        error=our_error(entity.error_code),
        message=entity.error_message,
        features=tuple(each.feature for each in getattr(entity, "results", ())),
    )


def _write_response(message: UpdateFeaturesResponse, kio: SimpleNamespace) -> Any:
    results = tuple(
        kio.UpdatableFeatureResult(
            feature=name, error_code=message.error, error_message=message.message
        )
        for name in (message.features if kio.version < 2 else ())
    )
    return kio.UpdateFeaturesResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        error_message=message.message,
        results=results,
    )


UPDATE_FEATURES = Api(
    key=57,
    name="UpdateFeatures",
    package="update_features",
    min_version=0,
    max_version=2,
    request=UpdateFeaturesRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
