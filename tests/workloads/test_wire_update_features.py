"""The hand-written frames that set the level of a feature are Kafka's, by kio's reading."""

import kio.schema.update_features.v1 as update
import pytest
from kio.schema.errors import ErrorCode

from tests.workloads.test_wire import NOW, read, write
from workloads.wire.describe_quorum import read_updated, update_feature
from workloads.wire.header import Api

NAME = "eligible.leader.replicas.version"


@pytest.mark.parametrize(("level", "kind"), [(0, 2), (1, 1)])
def test_taking_a_feature_away_is_a_downgrade_that_has_to_be_safe(level: int, kind: int) -> None:
    schema = update.UpdateFeaturesRequest
    assert (schema.__api_key__, schema.__version__) == (57, Api.UPDATE_FEATURES.version)
    found = read(schema, update_feature(NAME, level, timeout_ms=1500))
    assert found.timeout.total_seconds() == 1.5
    assert not found.validate_only
    assert [
        (each.feature, each.max_version_level, each.upgrade_type) for each in found.feature_updates
    ] == [(NAME, level, kind)]


@pytest.mark.parametrize(
    ("whole", "of_feature", "told"),
    [
        (ErrorCode.none, ErrorCode.none, ErrorCode.none),
        (ErrorCode.not_controller, ErrorCode.none, ErrorCode.not_controller),
        (ErrorCode.none, ErrorCode.invalid_update_version, ErrorCode.invalid_update_version),
    ],
)
def test_an_error_is_read_of_the_request_and_of_the_feature(
    whole: ErrorCode, of_feature: ErrorCode, told: ErrorCode
) -> None:
    result = update.response.UpdatableFeatureResult(
        feature=NAME, error_code=of_feature, error_message="why"
    )
    answer = update.UpdateFeaturesResponse(
        throttle_time=NOW, error_code=whole, error_message=None, results=(result,)
    )
    assert read_updated(write(answer)) == told.value
