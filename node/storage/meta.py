"""meta.properties: the identity of a disk. Its presence makes a log directory formatted."""

from uuid import UUID

from node.ids import NodeId, parse_uuid, uuid_text
from node.lazy_dataclass import dataclass
from node.storage.disk import META_PROPERTIES, CorruptFile, Disk, NotFormatted

# Only this node writes it, and Kafka ignores it: a disk of a static quorum that Kafka formatted
# looks the same otherwise, and there ids alone count.
_VOTERS, _LISTED = "voters", "controller.quorum.voters"
_KEYS = {"cluster.id", "directory.id", "node.id", "version", _VOTERS}
_LAST_RESERVED_UUID = 99  # Kafka keeps the first hundred uuids for itself (Uuid.RESERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The identity of a log directory. A node that returns with another one is another replica."""

    cluster_id: str
    node_id: NodeId
    directory_id: UUID
    lists_voters: bool = False  # does the configuration list the quorum's voters? (KIP-856)


def load_meta(disk: Disk, new_directory: UUID | None = None) -> MetaProperties:
    """Raises NotFormatted if the file is missing, CorruptFile if it is not whole.

    A file from before directory ids lacks one: it is given `new_directory`, durably (KIP-856).
    """
    meta = read_meta(disk, new_directory)
    if meta.directory_id == new_directory:
        save_meta(disk, meta)
    return meta


def save_meta(disk: Disk, meta: MetaProperties) -> None:
    """Durable when it returns."""
    disk.replace(META_PROPERTIES, encode_meta(meta))


def read_meta(disk: Disk, new_directory: UUID | None = None) -> MetaProperties:
    """As `load_meta`, but writes nothing."""
    if not disk.exists(META_PROPERTIES):
        raise NotFormatted(
            f"the log directory is not formatted: it holds no {META_PROPERTIES}\n"
            "  try: kraft-node format -t CLUSTER_ID -c FILE --initial-controllers ..."
        )
    try:
        return parse_meta(disk.read_all(META_PROPERTIES), new_directory)
    except ValueError as error:
        raise CorruptFile(
            f"{META_PROPERTIES} is damaged: {error}\n"
            "  try: put it back from a copy of this disk, or format an empty disk"
        ) from error


def encode_meta(meta: MetaProperties) -> bytes:
    """Version 1, one `key=value` a line, as Java's Properties reads them."""
    lines = [
        f"cluster.id={meta.cluster_id}",
        f"directory.id={uuid_text(meta.directory_id)}",
        f"node.id={meta.node_id}",
        *([f"{_VOTERS}={_LISTED}"] if meta.lists_voters else []),
        "version=1",  # last: a file that lost its end is not taken for one that says less
    ]
    return ("\n".join(lines) + "\n").encode("ascii")


def parse_meta(data: bytes, new_directory: UUID | None = None) -> MetaProperties:
    """The inverse of `encode_meta`; takes Kafka's comments and order too. Raises ValueError."""
    properties = _properties(data.decode("ascii"))
    if new_directory is not None:
        properties.setdefault("directory.id", uuid_text(new_directory))
    version = properties.get("version")
    if version != "1":
        raise ValueError(f"version is {version}, not 1 (version 0 is from before KRaft)")
    if unknown := properties.keys() - _KEYS:
        raise ValueError(f"{', '.join(sorted(unknown))} is no key of it")
    if properties.get(_VOTERS, _LISTED) != _LISTED:
        raise ValueError(f"{_VOTERS} is {properties[_VOTERS]!r}, not {_LISTED}")
    missing = {"cluster.id", "node.id", "directory.id"} - properties.keys()
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} missing")
    node_id = properties["node.id"]
    if not node_id.isdecimal() or int(node_id) >= 2**31:
        raise ValueError(f"node.id is {node_id!r}, not a node's id")
    check_cluster_id(properties["cluster.id"])
    directory = parse_uuid(properties["directory.id"])
    check_directory_id(directory)
    return MetaProperties(
        cluster_id=properties["cluster.id"],
        node_id=NodeId(int(node_id)),
        directory_id=directory,
        lists_voters=_VOTERS in properties,
    )


def check_cluster_id(text: str) -> None:
    """Raises ValueError unless `text` is printable, without spaces and not empty."""
    if not text or not all("!" <= letter <= "~" and letter not in "\\=:#" for letter in text):
        raise ValueError(f"cluster.id is {text!r}")


def check_directory_id(directory: UUID) -> None:
    """Raises ValueError on the ids that Kafka reserves (none, lost, migrating...)."""
    if directory.int <= _LAST_RESERVED_UUID:
        raise ValueError(f"directory.id {uuid_text(directory)} is reserved")


def _properties(text: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        key, equals, value = stripped.partition("=")
        if not equals or key in properties:
            raise ValueError(f"line {line!r}")
        properties[key] = value
    return properties
