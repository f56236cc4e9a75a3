"""What is answered from the committed image."""

from typing import assert_never

from node.config import Own
from node.controller import config_descriptions, reassigning
from node.controller.image import Image
from node.wire.apis import ReadRequest, Response
from node.wire.configs import DescribeConfigsRequest, DescribeConfigsResponse
from node.wire.reassignments import ListReassignmentsRequest


def response_to(image: Image, request: ReadRequest, own: Own) -> Response:
    match request:
        case DescribeConfigsRequest(resources=resources):
            results = config_descriptions.describe_all(image, resources, own)
            return DescribeConfigsResponse(results=results)
        case ListReassignmentsRequest():
            return reassigning.ongoing(image, request)
        case _:
            assert_never(request)
