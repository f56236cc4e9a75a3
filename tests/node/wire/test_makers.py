"""What a translation names is known to some version that is served, and left out of the others."""

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import pytest

from node.wire.api import SIDES, Api, Side, kio_module
from node.wire.apis import APIS
from tests.node.wire.sample_requests import REQUESTS
from tests.node.wire.sample_responses import RESPONSES

EVERY_VERSION = [
    pytest.param(api, version, side, id=f"{api.name}-{version}-{side}")
    for api in APIS
    for version in range(api.min_version, api.max_version + 1)
    for side in SIDES
]


def classes_in(api: Api, version: int, side: Side) -> set[str]:
    module = kio_module(api.package, version, side)
    return {
        name
        for name, found in vars(module).items()
        if is_dataclass(found) and found.__module__ == module.__name__
    }


def names_in(api: Api, version: int, side: Side, class_name: str) -> set[str]:
    found = getattr(kio_module(api.package, version, side), class_name, None)
    return {field.name for field in fields(found)} if found else set()


@pytest.mark.parametrize(("api", "version", "side"), EVERY_VERSION)
def test_a_maker_takes_the_fields_of_all_versions_and_no_others(
    api: Api, version: int, side: Side
) -> None:
    makers = api.makers(version, side)
    served = range(api.min_version, api.max_version + 1)
    class_names = {name for each in served for name in classes_in(api, each, side)}
    assert f"{api.name}{side.capitalize()}" in class_names
    for class_name in class_names:
        make = getattr(makers, class_name)
        known = set().union(*(names_in(api, each, side, class_name) for each in served))
        made = make(**dict.fromkeys(known))
        here = names_in(api, version, side, class_name)
        if made is None:
            assert not hasattr(kio_module(api.package, version, side), class_name)
        else:
            assert {field.name for field in fields(made)} == here
        with pytest.raises(TypeError, match="mispelt"):
            make(**dict.fromkeys(known), mispelt=1)


@pytest.mark.parametrize(("api", "version", "side"), EVERY_VERSION)
def test_what_is_made_is_what_its_class_makes(api: Api, version: int, side: Side) -> None:
    makers = api.makers(version, side)
    for class_name in classes_in(api, version, side):
        by_class = getattr(kio_module(api.package, version, side), class_name)
        asked = [each.name for each in fields(by_class) if each.default is MISSING]
        names = [each.name for each in fields(by_class)]
        for values in (dict.fromkeys(asked), {name: at for at, name in enumerate(names)}):
            made = getattr(makers, class_name)(**values)
            assert (made, repr(made)) == (by_class(**values), repr(by_class(**values)))
        for lacking in asked:
            with pytest.raises(TypeError, match=f"missing 1 .*'{lacking}'"):
                getattr(makers, class_name)(**{n: 1 for n in names if n != lacking})


def test_a_class_that_no_version_knows_is_a_mistake() -> None:
    (api,) = (api for api in APIS if api.name == "Vote")
    assert api.makers(0, "response").NodeEndpoint(node_id=1, host="h", port=1) is None
    with pytest.raises(AttributeError, match="NodeEndpont"):
        _ = api.makers(0, "response").NodeEndpont
    assert not hasattr(kio_module("vote", 0, "response"), "NodeEndpoint")


def flattened(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Each field of each message in a value: its class, its name, what it holds. What is not
    compared is of one request and the answer to it alone."""
    if isinstance(value, tuple):
        for each in value:
            yield from flattened(each)
    elif is_dataclass(value):
        for field in fields(value):
            if not field.compare:
                continue
            held = getattr(value, field.name)
            yield type(value).__name__, field.name, held
            yield from flattened(held)


def test_every_field_has_a_value_in_some_sample_that_no_reader_would_make_up() -> None:
    """A misspelt name in a reader is otherwise taken for a field that the version lacks."""
    held: dict[tuple[str, str], list[Any]] = {}
    for sample in (*REQUESTS, *RESPONSES.values()):
        for class_name, name, value in flattened(sample):
            held.setdefault((class_name, name), []).append(value)
    made_up = (None, (), "", b"", 0, -1, False, 2**63 - 1)
    poor = [key for key, values in held.items() if all(value in made_up for value in values)]
    assert poor == []
