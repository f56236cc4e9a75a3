"""ApiVersions: the served APIs, and the supported and finalized features."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api, ApiRange
from node.wire.entities import NO_THROTTLE, our_error

# The features of every controller here: name, lowest and highest level.
SUPPORTED_FEATURES = (
    ("kraft.version", 0, 1),
    ("metadata.version", 7, 30),
    ("eligible.leader.replicas.version", 0, 1),
)
FIRST_VERSION_WITH_ZERO_FEATURES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest:
    """`supported=False`: in a version that we do not know; answered with 35 in version 0."""

    supported: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    """`supported`: of each feature the lowest and the highest level; `finalized`: the level of each
    feature, as of the record at `features_at`; -1 unknown."""

    error: ErrorCode
    apis: tuple[ApiRange, ...]
    supported: tuple[tuple[str, int, int], ...] = ()
    finalized: tuple[tuple[str, int], ...] = ()
    features_at: int = -1

    def levels(self, feature: str) -> tuple[int, int]:
        """The lowest and highest supported level; 0 and 0 for an unknown feature."""
        found = ((low, high) for name, low, high in self.supported if name == feature)
        return next(found, (0, 0))


def _read_versions(_entity: Any) -> ApiVersionsRequest:
    return ApiVersionsRequest()


def _write_versions(_message: ApiVersionsRequest, kio: SimpleNamespace) -> Any:
    return kio.ApiVersionsRequest(client_software_name="kraft-chaos", client_software_version="1")


def _read_versions_response(entity: Any) -> ApiVersionsResponse:
    apis = tuple(
        ApiRange(api_key=a.api_key, min_version=a.min_version, max_version=a.max_version)
        for a in entity.api_keys
    )
    supported = getattr(entity, "supported_features", ())
    features = getattr(entity, "finalized_features", ())
    return ApiVersionsResponse(
        error=our_error(entity.error_code),
        apis=apis,
        supported=tuple((f.name, f.min_version, f.max_version) for f in supported),
        finalized=tuple((f.name, f.max_version_level) for f in features),
        features_at=getattr(entity, "finalized_features_epoch", -1),
    )


def _write_versions_response(message: ApiVersionsResponse, kio: SimpleNamespace) -> Any:
    apis = tuple(
        kio.ApiVersion(api_key=a.api_key, min_version=a.min_version, max_version=a.max_version)
        for a in message.apis
    )
    return kio.ApiVersionsResponse(
        error_code=message.error,
        api_keys=apis,
        throttle_time=NO_THROTTLE,
        supported_features=_supported_features(message, kio),
        finalized_features_epoch=message.features_at,
        finalized_features=tuple(
            kio.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in message.finalized
        ),
    )


def _supported_features(message: ApiVersionsResponse, kio: SimpleNamespace) -> tuple[Any, ...]:
    """Clients before version 4 fail on a feature with lowest level 0: they do not get those."""
    all_of_them = kio.version >= FIRST_VERSION_WITH_ZERO_FEATURES
    return tuple(
        kio.SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, low, high in message.supported
        if low > 0 or all_of_them
    )


API_VERSIONS = Api(
    key=18,
    name="ApiVersions",
    package="api_versions",
    min_version=0,
    max_version=4,
    request=ApiVersionsRequest,
    read_request=_read_versions,
    write_request=_write_versions,
    read_response=_read_versions_response,
    write_response=_write_versions_response,
)
