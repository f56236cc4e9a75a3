
# librdkafka reports topics as created that nobody created, where it is told not to wait.
# With the word "waiting" it waits for 5 s. Wants confluent-kafka in PYTHON (python3).
seconds=0
[ "${1:-}" != waiting ] || seconds=5
server=$(address 1)
"${PYTHON:=python3}" -c "import confluent_kafka" || { echo "confluent-kafka is missing" >&2; exit 1; }

configure 2 controller "$work/node-2" <<PROPERTIES
controller.quorum.voters=2@$(address 2)
PROPERTIES
configure 1 broker "$work/node-1" <<PROPERTIES
controller.quorum.voters=2@$(address 2)
PROPERTIES

say "1. a controller and a broker"
release
format 2
format 1
start 2
start 1

say "2. twenty topics, one after the other"
"$PYTHON" - "$server" "$seconds" <<'PYTHON'
import sys
import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic
print("confluent-kafka", confluent_kafka.version(), "librdkafka", confluent_kafka.libversion()[0])
client = AdminClient({"bootstrap.servers": sys.argv[1]})
told = 0
for number in range(20):
    topic = NewTopic(f"orders-{number}", num_partitions=1, replication_factor=1)
    for future in client.create_topics([topic], operation_timeout=float(sys.argv[2])).values():
        future.result()
        told += 1
print(told, "of 20 reported as created")
PYTHON
sleep 3
there=$(topics --list | grep -c '^orders-' || true)
say "THERE ARE $there of 20"
