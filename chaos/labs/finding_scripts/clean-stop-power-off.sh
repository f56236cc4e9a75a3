
# A clean stop, a power cut right after it, and acknowledged records are deleted at the next start.
# One node, which is broker and controller. With the word "synced" the disk is synced before the cut.
between=${1:-unsynced}
records=100
kraft=$work/disk-1/kraft

# Retention looks once a second; with Kafka's own settings the same look comes 30 s after the start.
# How long records are kept is Kafka's default, 7 days.
cat > "$(properties 1)" <<PROPERTIES
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://$server,CONTROLLER://$controller
controller.listener.names=CONTROLLER
controller.quorum.voters=1@$controller
log.dirs=$kraft
offsets.topic.replication.factor=1
log.retention.check.interval.ms=1000
log.initial.task.delay.ms=500
PROPERTIES

offsets() { # -2: where logs start, -1: where they end; the sum over all partitions
  tool org.apache.kafka.tools.GetOffsetShell --bootstrap-server "$server" --topic small --time "$1" |
    awk -F: '{ sum += $3 } END { print sum + 0 }'
}

say "1. a disk of its own; Kafka is formatted on it, and everything is synced"
make_disk 1
format 1
sync -f "$work/disk-1"

say "2. a topic of 20 partitions; $records small records, each acknowledged with acks=all"
start 1
tool org.apache.kafka.tools.TopicCommand --bootstrap-server "$server" --create --topic small \
  --partitions 20 --replication-factor 1
seq "$records" | sed 's/.*/key-&:value-&/' | tool org.apache.kafka.tools.ConsoleProducer \
  --bootstrap-server "$server" --topic small --command-property acks=all \
  --reader-property parse.key=true --reader-property key.separator=:
echo "logs start at $(offsets -2) and end at $(offsets -1), all partitions together"

say "3. stopped in good order"
stop 1
index=$(find "$kraft" -path '*/small-*' -name '*.timeindex' -size +0c | sort | head -n 1)
echo "the time index of $(basename "$(dirname "$index")"), as the page cache has it:"
od -A d -t x1 "$index"
[ "$between" = unsynced ] || sync -f "$work/disk-1"

say "4. the power fails"
cut_power 1
echo "the same file, as the disk has it:"
od -A d -t x1 "$index"
echo "the clean-shutdown file: $(cat "$kraft/.kafka_cleanshutdown")"

say "5. started again; retention looks at all logs"
start 1
await 1 "small-.*Deleting segment" 30 || echo "nothing was deleted within 30 s"
said 1 "small-.*Deleting segment" | head -n 2 || true
first=$(offsets -2)
echo "logs start at $first and end at $(offsets -1)"
if [ "$first" -gt 0 ]; then
  say "LOST: $first of $records acknowledged records"
else
  say "KEPT: all $records acknowledged records"
fi
