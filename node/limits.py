"""How much one frame, request, record, batch and answer may be.

Whoever sends more is refused: a client with an error, a peer by hanging up. No client can fill the
node or hold its only thread, and nothing is written that a follower could not fetch or a client
of an older version could not be told. Kafka's names and defaults where it has them.
"""

# Of an answer: Kafka's socket.request.max.bytes, and neither peers nor clients take more. How much
# a node takes of a request is a setting (`node.config.ConnectionLimits`).
MAX_FRAME_BYTES = 104_857_600

# Of all arrays and tagged fields of a frame, however they are nested. To describe a resource takes
# some forty microseconds, and heartbeats wait meanwhile: `python -m tests.bench steps` measures it.
MAX_ELEMENTS = 2_000

# KafkaRaftClient.MAX_BATCH_SIZE_BYTES and MAX_FETCH_SIZE_BYTES.
MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_FETCH_BYTES = MAX_BATCH_BYTES

# QuorumController.MAX_RECORDS_PER_BATCH.
MAX_RECORDS_PER_BATCH = 10_000

# Of a cluster. Kafka takes any number.
MAX_PARTITIONS = 10_000

# Of a request that names partitions: all that there are, each in a topic of its own. To serve one
# takes 20 to 35 microseconds, all of them less than a tenth of a broker's session:
# `python -m tests.bench steps` measures it.
MAX_NAMED_ELEMENTS = 2 * MAX_PARTITIONS + MAX_ELEMENTS

# Of what nodes tell each other of them, and operators the controller: beside that with three
# members of an ISR, three replicas, or two tagged fields. What operators ask for all partitions at
# once takes a controller less than a tenth of a broker's session, too.
MAX_PARTITION_ELEMENTS = 5 * MAX_PARTITIONS + MAX_ELEMENTS

# Of what one request may add to the cluster: that is decided, written and replayed in
# one step, some forty microseconds a partition, and to place one takes longer, the more brokers
# there are (`MAX_PLACES`: partitions times brokers). Kafka takes 10,000 in a request. What concerns
# all partitions takes one step as well: where a broker goes that leads 10,000, some 0.7 s;
# ElectLeaders and ListReassignments, some four microseconds for each that stays as it is.
MAX_NEW_PARTITIONS = 2_400
MAX_PLACES = 20_000
MAX_REPLICATION = 10
NEW_TOPIC_AS_PARTITIONS = 2  # beside those that it has, it takes as long as so many

# Of the records in one answer to a Fetch of partitions, whatever was asked for (Kafka's
# fetch.max.bytes): they are read in one step.
MAX_PARTITIONS_FETCH_BYTES = 57_671_680

# Of a partition's records in an answer: what has more is read as it is sent.
MAX_READ_AT_ONCE = 32 * 1024

# Of what a follower names in one Fetch: each is a topic and a partition, of as many elements as any
# broker of ours takes. It names the rest in the next one, of the same session.
MAX_ASKED_PARTITIONS = 1_000

# Fetch sessions: Kafka's max.incremental.fetch.session.cache.slots, and the partitions of all of
# them together, each some 300 bytes, for which Kafka has no limit.
MAX_FETCH_SESSIONS = 1_000
MAX_FETCH_SESSION_PARTITIONS = 20 * MAX_PARTITIONS

# Of a log that is followed or replayed, in one step, unless its first batch alone has more. A step
# is to take less than a tenth of the fetch time-out: a record takes some ten microseconds.
MAX_RECORDS_PER_STEP = 10_000

# Length of a string in messages that are not flexible (int16). Kafka's generated readers take none
# that is longer in any version; here nothing that is longer is written (`node.controller.writes`).
MAX_STRING_BYTES = 2**15 - 1

# Of what an answer says in words; it may quote what was asked.
MAX_MESSAGE_CHARACTERS = 200

# Of one resource: its keys, and each of them. Kafka has no such limits; its own brokers know some
# three hundred keys.
MAX_CONFIGS_PER_RESOURCE = 1_000
MAX_CONFIG_KEY_BYTES = 255

# In one answer to DescribeConfigs: configs, and what their keys and values have together. A config
# takes some seven microseconds.
MAX_DESCRIBED_CONFIGS = 15_000
MAX_DESCRIBED_CHARACTERS = 8 * 1024 * 1024

# A regular expression of a client metrics subscription, and all of one request. Kafka has no such
# limits; the repetitions are RE2's. Compiling takes some ten microseconds a character.
MAX_PATTERN_CHARACTERS = 255
MAX_PATTERN_GROUPS = 100
MAX_PATTERN_REPETITIONS = 1000
MAX_PATTERN_CHARACTERS_PER_USER_OP = 16 * 1024

# Where a voter, a controller or a broker listens, and what else it says of itself. DNS has names of
# at most 253 characters; Kafka has no limits here.
MAX_ENDPOINTS = 16
MAX_HOST_CHARACTERS = 255
MAX_FEATURES = 100
MAX_DIRECTORIES = 100

# Brokers, and controllers. Kafka has no such limit.
MAX_REGISTERED = 1_000

# Groups in one partition of __consumer_offsets, and what members and commits have said to one
# broker, in its memory. Kafka has no such limits.
MAX_GROUPS_PER_PARTITION = 10_000
MAX_GROUPS_BYTES = 64 * 1024 * 1024
