"""server.properties: what is understood, and what is refused with which words."""

import pytest

from node.config import OF_BROKERS, BrokerRole, ConnectionLimits
from node.ids import Endpoint
from node.server.properties import parse_settings
from node.server.property_values import (
    BROKER_KEYS,
    GROUP_KEYS,
    LIMIT_KEYS,
    LONG,
    ROLE_KEYS,
    SNAPSHOT_KEYS,
    TIMEOUT_KEYS,
    ConfigError,
    known_numbers,
)

FULL = """\
# a comment
process.roles=controller
node.id=1
controller.listener.names=CONTROLLER,EXTERNAL
listeners=CONTROLLER://0.0.0.0:9101,EXTERNAL://:9200
advertised.listeners=CONTROLLER://node-1:9101,\\
  EXTERNAL://127.0.0.1:20001
listener.security.protocol.map=CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT
log.dirs = /data/kraft
controller.quorum.election.timeout.ms=700
controller.quorum.append.linger.ms=0
metadata.log.segment.bytes=65536
max.connections=200
max.connections.per.ip=50
connections.max.idle.ms=30000
socket.request.max.bytes=65536
queued.max.request.bytes=131072
"""


def test_topics_are_made_for_who_asks_unless_the_file_says_no() -> None:
    broker = """\
process.roles=broker
node.id=2
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092
controller.quorum.bootstrap.servers=localhost:9093
log.dirs=/data
"""
    for text, is_allowed in (("", True), ("true", True), ("False", False)):
        line = f"auto.create.topics.enable={text}\n" if text else ""
        settings = parse_settings(broker + line)
        assert settings.unknown == ()
        assert settings.config.role is not None
        assert settings.config.role.auto_create is is_allowed
    with pytest.raises(ConfigError, match=r"auto\.create\.topics\.enable=maybe"):
        parse_settings(broker + "auto.create.topics.enable=maybe\n")


def test_everything_that_is_known() -> None:
    settings = parse_settings(FULL)
    config = settings.config
    assert settings.unknown == ()
    assert config.node_id == 1
    assert config.log_dir == "/data/kraft"
    assert config.listeners == (
        Endpoint(name="CONTROLLER", host="0.0.0.0", port=9101),
        Endpoint(name="EXTERNAL", host="0.0.0.0", port=9200),
    )
    assert config.advertised == (
        Endpoint(name="CONTROLLER", host="node-1", port=9101),
        Endpoint(name="EXTERNAL", host="127.0.0.1", port=20001),
    )
    assert config.timeouts.election_ms == 700
    assert config.timeouts.fetch_ms == 2000
    assert config.timeouts.append_linger_ms == 0
    assert config.segment_bytes == 65536
    assert config.limits == ConnectionLimits(
        connections=200,
        connections_per_ip=50,
        idle_ms=30_000,
        request_max_bytes=65_536,
        queued_max_bytes=131_072,
    )


def test_the_controllers_own_listener_comes_first() -> None:
    swapped = FULL.replace("listener.names=CONTROLLER,EXTERNAL", "listener.names=EXTERNAL")
    assert [e.name for e in parse_settings(swapped).config.advertised] == ["EXTERNAL", "CONTROLLER"]


def test_listeners_are_advertised_as_they_are_unless_told() -> None:
    lines = FULL.replace("advertised.listeners=", "# ").replace("\\\n  ", "")
    config = parse_settings(lines).config
    assert config.advertised == config.listeners


def test_metrics_are_served_only_where_it_is_said() -> None:
    assert parse_settings(FULL).config.metrics is None
    told = parse_settings(FULL + "metrics.listener=:9404\n").config.metrics
    assert told == Endpoint(name="METRICS", host="0.0.0.0", port=9404)


def test_unknown_keys_are_told() -> None:
    settings = parse_settings(FULL + "num.network.threads=3\nauto.create=false\n")
    assert settings.unknown == ("auto.create", "num.network.threads")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("process.roles=controller", "process.roles=observer", "it is controller, broker, or both"),
        ("process.roles=controller", "process.roles=broker,broker", "broker, or both"),
        ("process.roles=controller", "process.roles=", "broker, or both"),
        ("process.roles=controller\n", "", "process.roles is missing"),
        ("node.id=1", "node.id=one", "node.id=one: not a number"),
        ("node.id=1", "node.id=-1", "must be 0 or more"),
        ("node.id=1", "node.id", "line 3: 'node.id' is not key=value"),
        ("log.dirs = /data/kraft\n", "", "log.dirs is missing"),
        ("/data/kraft", "/a,/b", "one directory"),
        ("names=CONTROLLER", "names=INNER", "INNER is not among listeners"),
        ("names=CONTROLLER,EXTERNAL", "names=", "controller.listener.names is empty"),
        ("CONTROLLER://0.0.0.0:9101", "CONTROLLER:9101", "is not NAME://host:port"),
        ("CONTROLLER://0.0.0.0:9101", "EXTERNAL://0.0.0.0:9101", "one address for each name"),
        ("EXTERNAL:PLAINTEXT", "EXTERNAL:SSL", "EXTERNAL is SSL; only PLAINTEXT"),
        ("EXTERNAL://127.0.0.1", "OTHER://127.0.0.1", "OTHER is not among listeners"),
        ("timeout.ms=700", "timeout.ms=0", "must be 1 or more"),
        ("max.connections=200", "max.connections=0", "must be 1 or more"),
        ("node.id=1\n", "node.id=1\nmetrics.listener=9404\n", "metrics.listener: .* is not NAME"),
        ("bytes=131072", "bytes=65535", "must be socket.request.max.bytes .65536. or more"),
    ],
)
def test_what_cannot_be_served_is_refused(old: str, new: str, words: str) -> None:
    assert old in FULL
    with pytest.raises(ConfigError, match=words.replace("`", ".")):
        parse_settings(FULL.replace(old, new))


def test_help_tells_every_number_and_its_default() -> None:
    told = dict(line.strip().split("=") for line in known_numbers().splitlines())
    of_brokers = (*BROKER_KEYS, *ROLE_KEYS, *GROUP_KEYS)
    assert set(told) == {*TIMEOUT_KEYS, *LIMIT_KEYS, *SNAPSHOT_KEYS, *of_brokers}
    numbers = "".join(f"{key}={default}\n" for key, default in told.items())
    others = "".join(
        f"{line}\n"
        for line in FULL.replace("\\\n", "").splitlines()
        if line.partition("=")[0] not in told
    )
    assert parse_settings(others + numbers).config == parse_settings(others).config


@pytest.mark.parametrize("key", sorted({*TIMEOUT_KEYS, *LIMIT_KEYS, *SNAPSHOT_KEYS, *ROLE_KEYS}))
def test_a_number_is_as_wide_as_kafka_has_it(key: str) -> None:
    """log.retention.ms=2592000000 are thirty days, and more than 31 bits."""
    widest = 2 ** (63 if key in LONG else 31) - 1
    parse_settings(f"{BOTH}queued.max.request.bytes={2**63 - 1}\n{key}={widest}\n")
    with pytest.raises(ConfigError, match=f"{key}={widest + 1}: must be .* or more, and fit"):
        parse_settings(f"{BOTH}{key}={widest + 1}\n")


LISTED = FULL + "controller.quorum.voters=1@node-1:9101, 2@node-2:9102\n"


def test_listed_voters_are_reached_by_the_first_listener() -> None:
    assert parse_settings(LISTED).config.quorum_voters == {
        1: (Endpoint(name="CONTROLLER", host="node-1", port=9101),),
        2: (Endpoint(name="CONTROLLER", host="node-2", port=9102),),
    }
    assert parse_settings(LISTED).unknown == ()
    assert parse_settings(FULL).config.quorum_voters == {}


@pytest.mark.parametrize(
    ("listing", "why"),
    [
        ("", "does not list node.id=1"),
        ("2@node-2:9102", "does not list node.id=1"),
        ("1@node-1:9101,1@node-1:9102", "is listed twice"),
        ("1@node-1", "is not NAME://host:port"),
        ("1@node-1:0", "no port"),
        ("node-1:9101", "is not ID@HOST:PORT"),
        ("-1@node-1:9101", "is not ID@HOST:PORT"),
        ("2147483648@node-1:9101", "is not ID@HOST:PORT"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(listing: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_settings(FULL + f"controller.quorum.voters={listing}\n")


BROKER = """\
process.roles=broker
node.id=4
listeners=OUT://127.0.0.1:9092,INT://127.0.0.1:9093
inter.broker.listener.name=INT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:9094
log.dirs=/data
replica.lag.time.max.ms=7000
"""


def test_clients_that_come_by_the_brokers_only_listener_are_no_brokers() -> None:
    text = BROKER.replace("OUT://127.0.0.1:9092,", "")
    assert parse_settings(text).config.inner_listeners == frozenset()


def test_requests_of_the_largest_size_have_room() -> None:
    larger = parse_settings(BROKER + "socket.request.max.bytes=200000000\n").config.limits
    assert larger.request_max_bytes == larger.queued_max_bytes == 200_000_000
    with pytest.raises(ConfigError, match=r"must be socket.request.max.bytes .104857600. or more"):
        parse_settings(BROKER + "queued.max.request.bytes=104857599\n")


def test_a_broker_listens_for_others_and_asks_controllers() -> None:
    config = parse_settings(BROKER).config
    assert config.role is not None
    own = config.role.advertised
    assert config.role == BrokerRole(controller_listener="CONTROLLER", advertised=own, lag_ms=7000)
    assert [at.name for at in own] == ["INT", "OUT"], "other brokers' comes first"
    assert not config.is_controller
    assert config.inner_listeners == {"INT"}
    assert config.limits == OF_BROKERS
    assert list(config.quorum_voters) == [1], "of whom it is none"
    assert parse_settings(FULL).config.role is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("names=CONTROLLER", "names=INT", "a broker does not listen as INT"),
        ("name=INT", "name=EXT", "EXT: it is not among the broker's listeners"),
        ("max.ms=7000", "max.ms=0", "must be 1 or more"),
    ],
)
def test_what_no_broker_can_be_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_settings(BROKER.replace(old, new))


BOTH = """\
process.roles=broker,controller
node.id=1
listeners=OUT://:9092,INT://:9093,CONTROLLER://:9094
advertised.listeners=OUT://127.0.0.1:20001,INT://node-1:9093,CONTROLLER://node-1:9094
inter.broker.listener.name=INT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@node-1:9094,2@node-2:9094
log.dirs=/data
"""


def test_a_node_that_is_both_has_listeners_of_each() -> None:
    config = parse_settings(BOTH).config
    assert config.role is not None
    assert (config.log_dirs, config.log_dir, config.directories) == (
        ("/data",),
        "/data",
        ("/data",),
    )
    assert [at.name for at in config.role.advertised] == ["INT", "OUT"]
    assert config.role.controller_listener == "CONTROLLER"
    assert [at.name for at in config.advertised] == ["CONTROLLER"]
    assert [at.name for at in config.listeners] == ["OUT", "INT", "CONTROLLER"]
    assert config.is_controller
    assert config.inner_listeners == {"INT", "CONTROLLER"}
    swapped = BOTH.replace("broker,controller", "controller, broker")
    assert parse_settings(swapped).config == config


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name=INT", "name=CONTROLLER", "it is not among the broker's listeners"),
        ("names=CONTROLLER", "names=OTHER", "OTHER is not among listeners"),
        ("names=CONTROLLER", "names=CONTROLLER,OUT,INT", "a broker has others"),
        ("voters=1@", "voters=3@", "does not list node.id=1"),
    ],
)
def test_what_no_node_can_be_that_is_both_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_settings(BOTH.replace(old, new))


def test_it_tells_nobody_what_it_does_not_know() -> None:
    config = parse_settings(FULL + "ssl.key.password=secret\nlog.retention.ms=5\n").config
    assert config.started_with["log.retention.ms"] == "5"
    assert "ssl.key.password" not in config.started_with


@pytest.mark.parametrize(
    ("said", "log_dirs", "home", "all_"),
    [
        ("log.dirs=/a, /b", ("/a", "/b"), "/a", ("/a", "/b")),
        ("log.dirs=/a,/b\nmetadata.log.dir=/b", ("/a", "/b"), "/b", ("/b", "/a")),
        ("log.dirs=/a\nmetadata.log.dir=/m", ("/a",), "/m", ("/m", "/a")),
        ("log.dir=/a", ("/a",), "/a", ("/a",)),
    ],
)
def test_a_broker_has_log_directories_and_perhaps_another_for_the_metadata_log(
    said: str, log_dirs: tuple[str, ...], home: str, all_: tuple[str, ...]
) -> None:
    config = parse_settings(BROKER.replace("log.dirs=/data", said)).config
    assert (config.log_dirs, config.log_dir, config.directories) == (log_dirs, home, all_)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("log.dirs=/a,/a", "log.dirs=/a,/a: a directory is listed twice"),
        ("log.dirs=", "log.dirs=: from 1 to 100 directories"),
        (f"log.dirs={','.join(map(str, range(101)))}", "from 1 to 100 directories"),
        ("metadata.log.dir=/m", "log.dirs is missing: it names the directory of replicas"),
        ("log.dirs=/a\nmetadata.log.dir=/m,/n", "metadata.log.dir=/m,/n: it is one directory"),
    ],
)
def test_log_directories_that_a_broker_cannot_have(said: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_settings(BROKER.replace("log.dirs=/data", said))
