"""What a configuration key takes: its default, whether it is a list, and what a value may be."""

from collections.abc import Callable

from node.lazy_dataclass import dataclass
from node.wire.configs import ConfigType


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A key of the schema. `fault` says what is wrong with a value that was given, if anything."""

    default: str
    type: ConfigType
    fault: Callable[[str], str | None]

    @property
    def is_list(self) -> bool:
        return self.type is ConfigType.LIST


def items(value: str) -> list[str]:
    """A LIST's elements."""
    return [item.strip() for item in value.split(",") if item.strip()]


def no_fault(_value: str) -> None:
    return None
