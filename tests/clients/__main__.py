"""python -m tests.clients: every client tries every feature, and a table says what works.

It takes an hour for all; `--client` and `--feature` try some, and what was tried before stays in
the file of results. Exits with 1 where something fails on our brokers that works on Apache Kafka's.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.clients import brokers
from tests.clients.brokers import KAFKA, OURS
from tests.clients.catalogue import CLIENTS, Client, Prepared
from tests.clients.features import FEATURES
from tests.clients.fetched import ROOT, NotToBeHad
from tests.clients.results import Key, is_red, load, save, table
from tests.clients.tries import Outcome, Result, tried
from tests.support.kafka_tools import kafka_tools

_TARGETS = {"ours": OURS, "kafka": KAFKA}


def main() -> None:
    words = _words()
    results = load(words.results)
    chosen = [each for each in CLIENTS if not words.client or each.name in words.client]
    prepared = {each: _prepared(each, results) for each in chosen}
    with tempfile.TemporaryDirectory(prefix="kraft-chaos-clients-") as scratch:
        for target in words.on:
            with _brokers(target, Path(scratch) / target) as servers:
                for client in chosen:
                    _try(client, prepared[client], servers, _TARGETS[target], words, results)
    Path(words.table).write_text(table(results))
    print(f"{words.table}: written")
    sys.exit(1 if is_red(results) else 0)


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    names = [each.name for each in CLIENTS]
    parser.add_argument("--client", action="append", choices=names, help="only this one; repeat")
    parser.add_argument("--feature", action="append", choices=list(FEATURES), help="only this one")
    parser.add_argument("--on", action="append", choices=list(_TARGETS), help="only these brokers")
    parser.add_argument("--results", type=Path, default=ROOT / "runs" / "clients.json")
    parser.add_argument("--table", type=Path, default=ROOT / "docs" / "results" / "clients.md")
    words = parser.parse_args()
    words.on = words.on or list(_TARGETS)
    words.feature = words.feature or list(FEATURES)
    return words


def _prepared(client: Client, results: dict[Key, Result]) -> Prepared | None:
    """None: it is not to be had here, which is a result."""
    print(f"fetching {client.name} {client.release}", flush=True)
    try:
        return client.prepare()
    except NotToBeHad as why:
        print(f"{client.name}: not to be had here: {why}", flush=True)
        for at in _TARGETS.values():
            for feature in FEATURES:
                missing = Result(outcome=Outcome.NOT_TO_BE_HAD)
                results[at, client.name, feature] = missing
        return None


@contextmanager
def _brokers(target: str, directory: Path) -> Iterator[str]:
    print(f"starting brokers: {_TARGETS[target]}", flush=True)
    if target == "ours":
        with brokers.ours(directory) as servers:
            yield servers
    else:
        with brokers.apache_kafka(directory, kafka_tools(directory.parent)) as servers:
            yield servers


def _try(
    client: Client,
    prepared: Prepared | None,
    servers: str,
    at: str,
    words: argparse.Namespace,
    results: dict[Key, Result],
) -> None:
    features: Sequence[str] = words.feature
    for feature in features if prepared is not None else ():
        assert prepared is not None
        found = tried(prepared.command, prepared.environment, servers, client.name, feature)
        results[at, client.name, feature] = found
        save(words.results, results)
        if found.outcome is not Outcome.NOT_IN_CLIENT:
            print(f"{at}: {client.name}: {feature}: {found.outcome} {found.why}", flush=True)


if __name__ == "__main__":
    main()
