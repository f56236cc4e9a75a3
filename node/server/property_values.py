"""A properties file, and its values: texts, whole numbers, flags, lists, endpoints."""

from collections.abc import Mapping

from node.endpoint import Endpoint


class ConfigError(ValueError):
    """The file cannot be used: what is wrong with which key."""


def parse_properties(text: str) -> dict[str, str]:
    """`key=value` lines; `#` and `!` begin a comment, a backslash at the end joins lines."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.replace("\\\n", "").splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, separator, value = line.partition("=")
        if not separator:
            raise ConfigError(f"line {number}: {line!r} is not key=value")
        values[key.strip()] = value.strip()
    return values


def text_at(values: Mapping[str, str], key: str) -> str:
    """Raises ConfigError if it is missing."""
    if key not in values:
        raise ConfigError(f"{key} is missing")
    return values[key]


def integer_at(
    values: Mapping[str, str], key: str, *, low: int, default: int | None = None, bits: int = 31
) -> int:
    """Of as many bits, beside that of the sign. Raises ConfigError."""
    if default is not None and key not in values:
        return default
    text = text_at(values, key)
    try:
        value = int(text)
    except ValueError as error:
        raise ConfigError(f"{key}={text}: not a number") from error
    if not low <= value < 1 << bits:
        raise ConfigError(f"{key}={text}: must be {low} or more, and fit {bits} bits")
    return value


def flag_at(values: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    """Raises ConfigError."""
    text = values.get(key, str(default)).lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{key}={text}: it is true or false")
    return text == "true"


def entries(text: str) -> list[str]:
    """What stands between commas."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def parse_endpoint(text: str, where: str) -> Endpoint:
    """`NAME://host:port`; an empty host means every address. Raises ConfigError."""
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not (separator and colon and name and port.isdigit() and int(port) < 1 << 16):
        raise ConfigError(f"{where}: {text!r} is not NAME://host:port")
    return Endpoint(name=name, host=host.strip("[]") or "0.0.0.0", port=int(port))
