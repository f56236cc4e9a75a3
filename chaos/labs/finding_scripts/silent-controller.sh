
# The active controller falls silent, another one is active soon, and no topic can be created for half a minute.
# With the word "quick" the broker waits for 3 s for the answer to a request that it has passed on.
wait=""
[ "${1:-}" != quick ] || wait=controller.socket.timeout.ms=3000
server=$(address 1)
voters=4@$(address 4),5@$(address 5),6@$(address 6)

for node in 4 5 6 1; do
  role=controller
  [ "$node" != 1 ] || role=broker
  configure "$node" "$role" "$work/node-$node" <<PROPERTIES
controller.quorum.voters=$voters
$wait
PROPERTIES
done
printf 'request.timeout.ms=5000\ndefault.api.timeout.ms=5000\n' > "$work/client.properties"
create() { topics --create --topic "$1" --partitions 1 --replication-factor 1 --command-config "$work/client.properties"; }

say "1. three controllers and a broker"
release
for node in 4 5 6 1; do format "$node"; done
for node in 4 5 6; do begin "$node"; done
for node in 4 5 6; do serves "$node"; done
start 1
topics --create --topic before --partitions 1 --replication-factor 1
quorum() {
  tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-controller "$(address "$1")" describe --status
}
active=$(quorum 4 | awk '/^LeaderId/ { print $2 }')
other=4
[ "$active" != 4 ] || other=5

say "2. the active controller is paused, which is as silent as one without power"
kill -STOP "$(cat "$work/$active.pid")"
since=$(date +%s)
took() { echo $(($(date +%s) - since)); }
tries=0
until create "after-$tries" > "$work/told" 2>&1; do
  tries=$((tries + 1))
  [ "$(took)" -lt 120 ] || { cat "$work/told"; exit 1; }
done
cat "$work/told"
seconds=$(took)
echo "$active led, now $(quorum "$other" | awk '/^LeaderId/ { print $2 }') does"
say "A TOPIC WAS CREATED after $seconds s; $tries clients gave up before, after 5 s each"
