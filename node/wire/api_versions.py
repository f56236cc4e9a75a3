"""ApiVersions: the served APIs, and the supported and finalized features.

UpdateFeatures: finalizes other levels of features, all or none (KIP-584).
"""

from types import SimpleNamespace
from typing import Annotated, Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import AT_ONCE, Api, ApiRange
from node.wire.declared import Error, Functions, Message

# The features of every controller here: name, lowest and highest level.
SUPPORTED_FEATURES = (
    ("kraft.version", 0, 1),
    ("metadata.version", 7, 30),
    ("eligible.leader.replicas.version", 0, 1),
)
FIRST_VERSION_WITH_ZERO_FEATURES = 4


def _read_supported(entity: Any) -> tuple[tuple[str, int, int], ...]:
    features = getattr(entity, "supported_features", ())
    return tuple((each.name, each.min_version, each.max_version) for each in features)


def _write_supported(message: "ApiVersionsResponse", version: int) -> dict[str, Any]:
    """Clients before version 4 fail on a feature with lowest level 0: they do not get those."""
    told = (
        SimpleNamespace(name=name, min_version=low, max_version=high)
        for name, low, high in message.supported
        if low > 0 or version >= FIRST_VERSION_WITH_ZERO_FEATURES
    )
    return {"supported_features": tuple(told)}


def _read_finalized(entity: Any) -> tuple[tuple[str, int], ...]:
    features = getattr(entity, "finalized_features", ())
    return tuple((each.name, each.max_version_level) for each in features)


def _write_finalized(finalized: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    told = (
        SimpleNamespace(name=name, min_version_level=level, max_version_level=level)
        for name, level in finalized
    )
    return {"finalized_features": tuple(told)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest:
    """`supported=False`: in a version that we do not know; answered with 35 in version 0."""

    supported: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    """`supported`: of each feature the lowest and the highest level; `finalized`: the level of each
    feature, as of the record at `features_at`; -1 unknown."""

    error: Error
    apis: Annotated[tuple[ApiRange, ...], "api_keys"]
    supported: Annotated[
        tuple[tuple[str, int, int], ...], Functions(_read_supported, _write_supported)
    ] = ()
    finalized: Annotated[
        tuple[tuple[str, int], ...], Functions(_read_finalized, value=_write_finalized)
    ] = ()
    features_at: Annotated[int, "finalized_features_epoch"] = -1

    def levels(self, feature: str) -> tuple[int, int]:
        """The lowest and highest supported level; 0 and 0 for an unknown feature."""
        found = ((low, high) for name, low, high in self.supported if name == feature)
        return next(found, (0, 0))


API_VERSIONS = Api(
    18,
    "ApiVersions",
    0,
    4,
    ApiVersionsRequest,
    ApiVersionsResponse,
    always=(("client_software_name", "kraft-chaos"), ("client_software_version", "1")),
)


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
