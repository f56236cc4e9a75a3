"""The table of what is served: API keys and version ranges, as ApiVersions tells them."""

from node.messages import ApiRange
from node.wire.admin import API_VERSIONS, CREATE_TOPICS, DESCRIBE_CLUSTER
from node.wire.api import Api
from node.wire.configs import DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from node.wire.fetch import FETCH
from node.wire.quorum import BEGIN_QUORUM_EPOCH, DESCRIBE_QUORUM, END_QUORUM_EPOCH, VOTE

APIS: tuple[Api, ...] = tuple(
    sorted(
        (
            API_VERSIONS,
            BEGIN_QUORUM_EPOCH,
            CREATE_TOPICS,
            DESCRIBE_CLUSTER,
            DESCRIBE_CONFIGS,
            DESCRIBE_QUORUM,
            END_QUORUM_EPOCH,
            FETCH,
            INCREMENTAL_ALTER_CONFIGS,
            VOTE,
        ),
        key=lambda api: api.key,
    )
)
BY_KEY = {api.key: api for api in APIS}
BY_REQUEST = {api.request: api for api in APIS}
API_RANGES: tuple[ApiRange, ...] = tuple(api.range for api in APIS)
