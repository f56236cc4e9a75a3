"""What came of all tries, in a file that later runs add to, and as a table."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.clients.brokers import KAFKA, OURS
from tests.clients.catalogue import CLIENTS, Client
from tests.clients.features import FEATURES, LIMITS
from tests.clients.tries import Outcome, Result

_WORDS = {
    Outcome.WORKS: "yes",
    Outcome.FAILS: "no",
    Outcome.NOT_IN_CLIENT: "-",
    Outcome.NOT_TO_BE_HAD: "not here",
}
Key = tuple[str, str, str]  # the brokers, the client, the feature
_MARKS = {Outcome.WORKS: "yes", Outcome.NOT_TO_BE_HAD: "not here"}


def load(path: Path) -> dict[Key, Result]:
    if not path.exists():
        return {}
    return {
        (row["brokers"], row["client"], row["feature"]): Result(
            outcome=Outcome(row["outcome"]), why=row["why"]
        )
        for row in json.loads(path.read_text())
    }


def save(path: Path, results: Mapping[Key, Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"brokers": at, "client": client, "feature": feature, **_fields(result)}
        for (at, client, feature), result in sorted(results.items())
    ]
    path.write_text(json.dumps(rows, indent=1) + "\n")


def _fields(result: Result) -> dict[str, str]:
    return {"outcome": result.outcome, "why": result.why}


def table(results: Mapping[Key, Result]) -> str:
    """A row a feature, a column a client; and what every failure said, below."""
    clients = [each for each in CLIENTS if any(key[1] == each.name for key in results)]
    lines = [_HEAD, *_rows(results, clients), "", *_failures(results), ""]
    return "\n".join(lines)


_HEAD = f"""# Clients

What clients that nobody here wrote do on our brokers, three of them, and beside it on one of
{KAFKA}: written by `python -m tests.clients`, from its runs. "yes": it works on both;
"yes, on ours": it was not tried on Kafka's. An empty cell: the client has no such thing. Else it
says on which it works. Versions are those that the command fetches. Brokers have the settings that
they have by default, but take messages of 16 MiB (message.max.bytes).
"""


def _rows(results: Mapping[Key, Result], clients: Iterable[Client]) -> Iterator[str]:
    clients = list(clients)
    titles = (f"{each.name} {each.release}" for each in clients)
    yield f"| | {' | '.join(titles)} |"
    yield "|" + "---|" * (len(clients) + 1)
    for feature, title in FEATURES.items():
        cells = [_cell(results, each.name, feature) for each in clients]
        if any(cells):
            limit = f" ({LIMITS[feature]})" if feature in LIMITS else ""
            yield f"| {title}{limit} | {' | '.join(cells)} |"


def _cell(results: Mapping[Key, Result], client: str, feature: str) -> str:
    found = [results.get((at, client, feature)) for at in (OURS, KAFKA)]
    outcomes = [None if each is None else each.outcome for each in found]
    if Outcome.NOT_IN_CLIENT in outcomes:
        return ""
    if outcomes == [None, None]:
        return "not tried"
    if outcomes[0] == outcomes[1] and outcomes[0] in _MARKS:
        return _MARKS[outcomes[0]]
    if outcomes == [Outcome.WORKS, None]:
        return "yes, on ours"
    return f"ours {_word(outcomes[0])}, Kafka {_word(outcomes[1])}"


def _word(outcome: Outcome | None) -> str:
    return "not tried" if outcome is None else _WORDS[outcome]


def _failures(results: Mapping[Key, Result]) -> Iterator[str]:
    said = [(key, each) for key, each in sorted(results.items()) if each.why]
    if said:
        yield "## What failures said"
        yield ""
    for (at, client, feature), result in said:
        why = result.why.replace("|", "/").replace("`", "'")
        yield f"* {client}, {FEATURES[feature]}, {at}: `{why}`"


def is_red(results: Mapping[Key, Result]) -> bool:
    """Does something fail on ours that Apache Kafka does, and no limit names?"""
    return any(
        result.outcome is Outcome.FAILS
        and feature not in LIMITS
        and results.get((KAFKA, client, feature), result).outcome is not Outcome.FAILS
        for (at, client, feature), result in results.items()
        if at == OURS
    )
