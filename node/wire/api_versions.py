"""ApiVersions: the served APIs, and the supported and finalized features."""

from types import SimpleNamespace
from typing import Annotated, Any

from node.lazy_dataclass import dataclass
from node.wire.api import Api, ApiRange
from node.wire.declared import Error, Functions

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
