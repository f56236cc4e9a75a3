
# A log is compacted, and who asks for the first record after a time is told that there is none. One node, which
# nobody hurts. With the word "deleted" old records are deleted by time, not compacted: there is one.
policy=compact
[ "${1:-}" != deleted ] || policy=delete
server=$(address 1)

configure 1 broker,controller "$work/node-1" <<PROPERTIES
controller.quorum.voters=1@$controller
log.cleaner.backoff.ms=200
PROPERTIES

# Few records fill a segment of the least size, and later ones supersede all of them.
say "1. a node, and a log of segments of 1 MiB; three keys are written 40 times, with values of 110 kB"
release
format 1
start 1
topics --create --topic orders --partitions 1 --replication-factor 1 --config "cleanup.policy=$policy" \
  --config segment.bytes=1048576 --config min.cleanable.dirty.ratio=0.01 --config message.timestamp.type=LogAppendTime
python3 -c 'for n in range(120): print("key-%d:%s" % (n % 3, "x" * 110000))' |
  tool org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$server" --topic orders --reader-property parse.key=true \
    --reader-property key.separator=: --command-property acks=all --command-property enable.idempotence=false > /dev/null
[ "$policy" = delete ] || await 1 "cleaned log orders-0" 60 || { echo "orders-0 was never compacted"; exit 1; }
sleep 5
(cd "$work/node-1" && wc -c orders-0/*.log)

say "2. the first record after 1970 is asked for, and records are read"
found=$(offset 1)
tool org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$server" --topic orders --partition 0 \
  --offset earliest --max-messages 3 --timeout-ms 60000 --formatter-property print.timestamp=true --formatter-property print.offset=true \
  --formatter-property print.key=true --formatter-property print.value=false
if [ -z "$found" ]; then
  say "NONE: there is no record after 1970"
else
  say "FOUND: the first record after 1970 has the offset $found"
fi
