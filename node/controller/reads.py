"""What is answered from the committed image, and what is answered where nobody may."""

from typing import assert_never

from node.controller import reassigning, resource_configs
from node.controller.image import Image
from node.errors import ErrorCode
from node.wire.apis import ReadRequest, Response
from node.wire.configs import DescribeConfigsRequest, DescribeConfigsResponse
from node.wire.reassignments import ListReassignmentsRequest, ListReassignmentsResponse


def answer(image: Image, request: ReadRequest) -> Response:
    match request:
        case DescribeConfigsRequest(resources=resources):
            return DescribeConfigsResponse(results=resource_configs.describe_all(image, resources))
        case ListReassignmentsRequest():
            return reassigning.ongoing(image, request)
        case _:
            assert_never(request)


def refused(request: ReadRequest, message: str) -> Response:
    """Another node is the active controller."""
    error = ErrorCode.NOT_CONTROLLER
    match request:
        case DescribeConfigsRequest(resources=resources):
            results = resource_configs.refuse_description(resources, error, message)
            return DescribeConfigsResponse(results=results)
        case ListReassignmentsRequest():
            return ListReassignmentsResponse(error=error, message=message)
        case _:
            assert_never(request)
