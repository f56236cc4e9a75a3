"""Size limits of frames, requests, records, batches and responses.

A client that exceeds one gets an error, a peer is hung up on. No client can fill the node's memory
or hold its only thread, and nothing is written that a follower could not fetch, or that could not
be returned to a client of an older version. Kafka's names and defaults where it has them.
"""

# Responses: Kafka's socket.request.max.bytes, and neither peers nor clients accept more. The limit
# of requests is a setting (`node.config.ConnectionLimits`).
MAX_FRAME_BYTES = 104_857_600

# All arrays and tagged fields of a frame, at any nesting. Describing a resource takes some forty
# microseconds, and heartbeats wait meanwhile: `python -m tests.bench steps` measures it.
MAX_ELEMENTS = 2_000

# KafkaRaftClient.MAX_BATCH_SIZE_BYTES and MAX_FETCH_SIZE_BYTES.
MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_FETCH_BYTES = MAX_BATCH_BYTES

# QuorumController.MAX_RECORDS_PER_BATCH.
MAX_RECORDS_PER_BATCH = 10_000

# Partitions of a cluster. Kafka has no limit.
MAX_PARTITIONS = 10_000

# Elements of a request that names partitions: all that there are, each in a topic of its own.
# Serving one takes 20 to 35 microseconds, all of them less than a tenth of a broker's session:
# `python -m tests.bench steps` measures it.
MAX_NAMED_ELEMENTS = 2 * MAX_PARTITIONS + MAX_ELEMENTS

# Elements of requests about partitions between nodes, and from operators to the controller: in
# addition, three members of an ISR, three replicas, or two tagged fields. An operator's request for
# all partitions at once takes a controller less than a tenth of a broker's session, too.
MAX_PARTITION_ELEMENTS = 5 * MAX_PARTITIONS + MAX_ELEMENTS

# Partitions that one request may add: they are decided, written and replayed in one step, some
# forty microseconds each, and placing one takes longer, the more brokers there are (`MAX_PLACES`:
# partitions times brokers). Kafka takes 10,000 in a request. Changes of all partitions take one
# step as well: the loss of a broker that leads 10,000, some 0.7 s; ElectLeaders and
# ListReassignments, some four microseconds for each partition that is unchanged.
MAX_NEW_PARTITIONS = 2_400
MAX_PLACES = 20_000
MAX_REPLICATION = 10
NEW_TOPIC_AS_PARTITIONS = 2  # a new topic takes as long as that many further partitions

# Records in one response to a Fetch of partitions, whatever the request allows (Kafka's
# fetch.max.bytes): they are read in one step.
MAX_PARTITIONS_FETCH_BYTES = 57_671_680

# Of a partition's records in a response: longer ones are read while they are sent.
MAX_READ_AT_ONCE = 32 * 1024

# Partitions named in one Fetch of a follower: each is a topic and a partition, in elements that any
# broker of ours accepts. The rest are named in the next Fetch of the same session.
MAX_ASKED_PARTITIONS = 1_000

# Fetch sessions: Kafka's max.incremental.fetch.session.cache.slots, and the partitions of all of
# them together, each some 300 bytes, for which Kafka has no limit.
MAX_FETCH_SESSIONS = 1_000
MAX_FETCH_SESSION_PARTITIONS = 20 * MAX_PARTITIONS

# Records of a log followed or replayed in one step, unless its first batch alone has more. A step
# should take less than a tenth of the fetch time-out: a record takes some ten microseconds.
MAX_RECORDS_PER_STEP = 10_000

# String length in messages that are not flexible (int16). Kafka's generated readers accept none
# that is longer in any version; none is written here (`node.controller.writes`).
MAX_STRING_BYTES = 2**15 - 1

# Error messages in responses; they may quote the request.
MAX_MESSAGE_CHARACTERS = 200

# Configuration of one resource: the number of keys, and the size of each. Kafka has no such limits;
# its own brokers know some three hundred keys.
MAX_CONFIGS_PER_RESOURCE = 1_000
MAX_CONFIG_KEY_BYTES = 255

# One response to DescribeConfigs: number of configs, and total size of keys and values. A config
# takes some seven microseconds.
MAX_DESCRIBED_CONFIGS = 15_000
MAX_DESCRIBED_CHARACTERS = 8 * 1024 * 1024

# A regular expression of a client metrics subscription, and all of one request. Kafka has no such
# limits; the limit of repetitions is RE2's. Compiling takes some ten microseconds a character.
MAX_PATTERN_CHARACTERS = 255
MAX_PATTERN_GROUPS = 100
MAX_PATTERN_REPETITIONS = 1000
MAX_PATTERN_CHARACTERS_PER_USER_OP = 16 * 1024

# Registration data of a voter, a controller or a broker. DNS names have at most 253 characters;
# Kafka has no limits here.
MAX_ENDPOINTS = 16
MAX_HOST_CHARACTERS = 255
MAX_FEATURES = 100
MAX_DIRECTORIES = 100

# Registered brokers, and registered controllers. Kafka has no such limit.
MAX_REGISTERED = 1_000

# Groups in one partition of __consumer_offsets, and the memory for members and commits on one
# broker. Kafka has no such limits.
MAX_GROUPS_PER_PARTITION = 10_000
MAX_GROUPS_BYTES = 64 * 1024 * 1024
