"""Every setting of Apache Kafka's, of brokers and controllers, of topics and of groups: in force
here, or refused by name, or warned of at the start. None is taken and does nothing, unsaid.

The names are those of `KafkaConfig.configNames` and `LogConfig.configNames` of 4.3.1, as its jars
print them (`java -cp libs/* kafka.server.KafkaConfig`, and
`org.apache.kafka.storage.internals.log.LogConfig`), and of the other releases from 4.0 to 4.4
(`chaos/cluster/targets/kafka_releases.py`); those that topics have from 4.4.0 on, or that are
Kafka's own (`internal.`), stand apart. Those of groups are `GroupConfig.configNames` of both.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from chaos.cluster.targets import kafka_releases
from node.config import Own
from node.controller.config_definitions import NOT_IN_FORCE, SAYS_NOTHING, TOPIC_DEFINITIONS
from node.controller.image import Image
from node.controller.image.configurations import TOPIC
from node.controller.resource_configs import GROUP_RESOURCE, alter, describe
from node.errors import ErrorCode
from node.records.metadata import ConfigRecord
from node.server.properties import KNOWN_KEYS, REFUSED, parse_settings
from node.server.property_values import COARSE_KEYS, ConfigError
from node.wire.configs import ConfigChange, ConfigType, ResourceChange, ResourceQuery
from tests.support.generated_page import hold_page

NAMES = Path(__file__).parents[2] / "data" / "kafka_settings"
BROKERS = (NAMES / "brokers.txt").read_text().split()
TOPICS = (NAMES / "topics.txt").read_text().split()
TOPICS_LATER = (NAMES / "topics-4.4.txt").read_text().split()
GROUPS = (NAMES / "groups.txt").read_text().split()
PLAIN = """\
process.roles=broker,controller
node.id=1
listeners=OUT://:9092,CONTROLLER://:9094
controller.listener.names=CONTROLLER
controller.quorum.voters=1@node-1:9094
log.dirs=/data
"""
_GONE = {name for names in kafka_releases.WENT.values() for name in names}
# What a file has to say, or the values of which are no numbers and no flags.
WORDS = {
    "advertised.listeners": "OUT://other:9092,CONTROLLER://other:9094",
    "controller.quorum.bootstrap.servers": "other:9094",
    "inter.broker.listener.name": "CONTROLLER",
    "listener.security.protocol.map": "OUT:SSL,CONTROLLER:PLAINTEXT",
    "log.dir": "/other",
    "log.message.timestamp.type": "LogAppendTime",
    "metadata.log.dir": "/other",
    "queued.max.request.bytes": str(2**40),
}
LOOKED_AT = {"inter.broker.listener.name", "listener.security.protocol.map"}  # others are refused
SAID = {line.partition("=")[0] for line in PLAIN.split()}


def others(name: str) -> Sequence[str]:
    """Values of which at least one is not the default."""
    return (WORDS[name],) if name in WORDS else ("2097152", "true", "false")


def test_the_names_are_those_of_all_releases() -> None:
    known = {name for name in kafka_releases._KNOWN if name not in _GONE}
    assert known <= set(BROKERS)
    assert {*TOPICS, "unclean.recovery.strategy"} == TOPIC_DEFINITIONS.keys()


def test_each_class_has_names_of_kafkas_alone() -> None:
    """But for what Kafka has no setting for, and those of KIP-966 that it does not have yet."""
    recovery = {
        f"unclean.recovery.{name}" for name in ("manager.enabled", "strategy", "timeout.ms")
    }
    own = {"metrics.listener", "offsets.commit.timeout.ms"} | recovery | _GONE
    assert KNOWN_KEYS - set(BROKERS) <= own
    assert REFUSED.keys() <= set(BROKERS)


@pytest.mark.parametrize("name", BROKERS)
def test_a_setting_of_a_node_is_in_force_or_refused_or_warned_of(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(ConfigError, match=f"{name}=Something: .* it can only be"):
            parse_settings(f"{PLAIN}{name}=Something\n")
        taken = parse_settings(f"{PLAIN}{name}={REFUSED[name].value}\n")
        assert taken.unknown == ()
    elif name not in KNOWN_KEYS:
        assert parse_settings(f"{PLAIN}{name}=1\n").unknown == (name,)
        assert parse_settings(f"{PLAIN}{name}=1\n").config == parse_settings(PLAIN).config
    elif name not in SAID:
        assert any(is_in_force(name, value) for value in others(name)), name


def is_in_force(name: str, value: str) -> bool:
    """Does the node go by another value, or refuse this one?"""
    text = PLAIN.replace("log.dirs=/data\n", "") if name == "log.dir" else PLAIN
    try:
        settings = parse_settings(f"{text}{name}={value}\n")
    except ConfigError:
        return name in LOOKED_AT
    assert settings.unknown == ()
    return settings.config != parse_settings(PLAIN).config


@pytest.mark.parametrize("name", TOPICS)
def test_a_setting_of_a_topic_is_in_force_or_refused(name: str) -> None:
    """Its default can always be set."""
    assert name not in SAYS_NOTHING or SAYS_NOTHING[name] in NOT_IN_FORCE
    definition = TOPIC_DEFINITIONS[name]
    default = alter_topic(name, definition.default)
    assert default is None
    if name not in NOT_IN_FORCE:
        return
    other = {
        ConfigType.BOOLEAN: "true",
        ConfigType.DOUBLE: "0.25",
        ConfigType.INT: "5",
        ConfigType.LIST: "*",
        ConfigType.LONG: "2000",
    }
    value = {"cleanup.policy": "compact", "compression.type": "lz4"}.get(name)
    refused = alter_topic(name, value or other[definition.type])
    assert refused is not None
    assert NOT_IN_FORCE[name] in refused


@pytest.mark.parametrize("name", TOPICS_LATER)
def test_a_setting_that_topics_of_another_release_have_is_refused_by_name(name: str) -> None:
    assert name not in TOPIC_DEFINITIONS
    assert alter_topic(name, "1") == f"Unknown topic configuration: {name}"


@pytest.mark.parametrize("name", GROUPS)
def test_a_setting_of_a_group_is_refused_by_name(name: str) -> None:
    change = ConfigChange(name=name, operation=0, value="5000")
    resource = ResourceChange(type=GROUP_RESOURCE, name="g", changes=(change,))
    records, result = alter(Image(), resource)
    assert (records, result.error) == ([], ErrorCode.INVALID_CONFIG)
    assert result.message is not None
    assert result.message.startswith(f"{name} is not in force here: ")


def test_a_group_has_no_settings() -> None:
    """Not even those that controllers of Apache Kafka took down, beside which ours may stand."""
    image, name = Image(), "consumer.session.timeout.ms"
    image.replay(
        ConfigRecord(resource_type=GROUP_RESOURCE, resource_name="g", name=name, value="50000")
    )
    for keys in (None, (name,)):
        told = describe(image, ResourceQuery(type=GROUP_RESOURCE, name="g", keys=keys), Own())
        assert (told.error, told.entries) == (ErrorCode.NONE, ())
    unnamed = describe(image, ResourceQuery(type=GROUP_RESOURCE, name="", keys=None), Own())
    assert unnamed.error is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("value", ["compact", "compact,delete", "delete, compact"])
def test_compaction_is_refused_by_name(value: str) -> None:
    refused = alter_topic("cleanup.policy", value)
    assert refused is not None
    assert refused == (
        f"Invalid value {value} for configuration cleanup.policy: logs are not compacted here;"
        " only 'delete' can be set"
    )


def test_a_topic_that_brokers_make_for_themselves_is_as_kafka_has_it() -> None:
    assert alter_topic("cleanup.policy", "compact", topic="__consumer_offsets") is None


def alter_topic(name: str, value: str, topic: str = "t") -> str | None:
    """Why it is refused, if it is."""
    change = ConfigChange(name=name, operation=0, value=value)
    resource = ResourceChange(type=TOPIC, name=topic, changes=(change,))
    records, result = alter(Image(), resource, is_new=True)
    assert bool(records) is (result.error is ErrorCode.NONE)
    assert result.error in (ErrorCode.NONE, ErrorCode.INVALID_CONFIG)
    return result.message if result.error else None


def test_the_page_says_of_each_which_it_is(pytestconfig: pytest.Config) -> None:
    in_force = [name for name in BROKERS if name in KNOWN_KEYS and name not in REFUSED]
    warned = [name for name in BROKERS if name not in KNOWN_KEYS]
    of_topics = [name for name in TOPICS if name not in (*NOT_IN_FORCE, *SAYS_NOTHING)]
    beside = [
        f"| `{name}` | `{other}` other than `{TOPIC_DEFINITIONS[other].default}` |"
        for name, other in sorted(SAYS_NOTHING.items())
    ]
    refused = [
        f"| `{name}` | {f'`{only.value}`' if only.value else 'left out'} | {only.why} |"
        for name, only in sorted(REFUSED.items())
    ]
    topics = [
        f"| `{name}` | `{TOPIC_DEFINITIONS[name].default}` | {NOT_IN_FORCE[name]} |"
        for name in TOPICS
        if name in NOT_IN_FORCE
    ]
    coarse = ", ".join(f"`{name}` is `{finest}`" for name, (finest, _) in COARSE_KEYS.items())
    table = "| setting | can only be | why |\n|---|---|---|"
    text = "\n\n".join(
        [
            "## Topics: in force",
            named(of_topics),
            "## Topics: refused, unless it is the default (INVALID_CONFIG)",
            "\n".join([table, *topics]),
            "## Topics: unknown here, and so refused (INVALID_CONFIG)",
            named(TOPICS_LATER),
            "## Topics: of no meaning without what is refused, here as in Kafka; they may be set",
            "\n".join(["| setting | says something beside |\n|---|---|", *beside]),
            "## Groups: refused (INVALID_CONFIG)",
            named(GROUPS),
            "## Nodes: in force",
            named(in_force),
            f"In coarser units: {coarse}.",
            "## Nodes: refused at the start",
            "\n".join([table, *refused]),
            "## Nodes: not in force, and warned of at the start",
            named(warned),
        ]
    )
    written_by = "tests/node/server/test_kafka_settings.py"
    hold_page(pytestconfig, "settings.md", written_by, f"{text}\n")


def named(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."
