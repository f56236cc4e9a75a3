"""The keys of a CLIENT_METRICS resource, and what values they take (`ClientMetricsConfigs`)."""

import re
import warnings

from node import limits
from node.controller.config_definition import Definition, items, no_fault
from node.wire.configs import ConfigType

_INTERVAL_MS = range(100, 3_600_001)
_MATCH_KEYS = (
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
_REPETITION = re.compile(r"\{(\d*),?(\d*)\}", re.ASCII)


def _interval_fault(value: str) -> str | None:
    if re.fullmatch(r"\s*[+-]?[0-9]{1,10}\s*", value, re.ASCII) is None:
        return f"Invalid value {value} for configuration interval.ms: Not a number of type INT"
    if int(value) not in _INTERVAL_MS:
        return (
            f"Invalid value {value} for interval.ms, interval must be between "
            f"{_INTERVAL_MS.start} and {_INTERVAL_MS.stop - 1}"
        )
    return None


def _match_fault(value: str) -> str | None:
    for pattern in items(value):
        key, equals, expression = pattern.partition("=")
        if not equals or key.strip() not in _MATCH_KEYS or not _compiles(expression.strip()):
            return f"Illegal client matching pattern: {pattern}"
    return None


def _compiles(expression: str) -> bool:
    """Is it a regular expression of bounded size? The node never matches anything with it.

    It is compiled as bytes: a class of characters then has 256 at most, where one of all Unicode
    takes milliseconds to compile.
    """
    if (
        len(expression) > limits.MAX_PATTERN_CHARACTERS
        or expression.count("(") > limits.MAX_PATTERN_GROUPS
        or _most_repetitions(expression) > limits.MAX_PATTERN_REPETITIONS
    ):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a client means is no concern of the operator's
            re.compile(expression.encode())
    except Exception:  # noqa: BLE001 (whatever stops the compiler, the client's pattern did it)
        return False
    return True


def _most_repetitions(expression: str) -> int:
    counts = [int(count) for pair in _REPETITION.findall(expression) for count in pair if count]
    return max(counts, default=0)


METRICS_DEFINITIONS = {
    "interval.ms": Definition(default="300000", type=ConfigType.INT, fault=_interval_fault),
    "match": Definition(default="", type=ConfigType.LIST, fault=_match_fault),
    "metrics": Definition(default="", type=ConfigType.LIST, fault=no_fault),
}
