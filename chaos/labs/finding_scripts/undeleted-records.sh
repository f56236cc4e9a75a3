
# Records of a log are deleted, which is acknowledged, its broker is killed, and they are back. One node, and Kafka's
# own settings. With the word "later" it is killed once it has written down where its logs begin.
moment=${1:-sooner}
server=$(address 1)
checkpoint=$work/node-1/log-start-offset-checkpoint

configure 1 broker,controller "$work/node-1" <<PROPERTIES
controller.quorum.voters=1@$controller
PROPERTIES

written() { stat -c %y "$checkpoint" 2> /dev/null || true; }
await_checkpoint() { # the next one: half a minute after the start, and then each minute
  before=$(written)
  until [ "$(written)" != "$before" ]; do sleep 1; done
}

say "1. a node, and 20 records"
release
format 1
start 1
topics --create --topic orders --partitions 1 --replication-factor 1
send 20

say "2. just after the node wrote down where its logs begin, the first 10 records are deleted"
await_checkpoint
echo '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 10}]}' > "$work/deleted.json"
tool org.apache.kafka.tools.DeleteRecordsCommand --bootstrap-server "$server" --offset-json-file "$work/deleted.json"
echo "the log begins at $(offset -2) and ends at $(offset -1)"
[ "$moment" = sooner ] || await_checkpoint
echo "log-start-offset-checkpoint:" && cat "$checkpoint"

say "3. the node is killed and started again"
kill_node 1
start 1
first=$(offset -2)
echo "the log begins at $first and ends at $(offset -1)"
if [ "$first" -lt 10 ]; then
  say "BACK: $((10 - first)) of 10 deleted records"
else
  say "GONE: all 10 deleted records"
fi
