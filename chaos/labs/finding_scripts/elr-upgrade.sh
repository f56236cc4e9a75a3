
# Eligible leader replicas (KIP-966) are switched on while a partition has no leader, and it is never led again,
# though all brokers are there and have every record. With the word "off" they stay off, and it is led.
server=$(address 1),$(address 2),$(address 3)
change=${1:-on}

for node in 1 2 3 4; do
  role=broker
  [ "$node" != 4 ] || role=controller
  configure "$node" "$role" "$work/node-$node" <<PROPERTIES
controller.quorum.voters=4@$(address 4)
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
PROPERTIES
done

say "1. a controller, and three brokers, without eligible leader replicas"
release
for node in 4 1 2 3; do format "$node" --feature eligible.leader.replicas.version=0; done
for node in 4 1 2 3; do start "$node"; done
topics --create --topic orders --replica-assignment 1:2:3 --config min.insync.replicas=2
send 100

say "2. brokers 3 and 2 are stopped, and broker 1 is killed; then broker 3 is started"
stop 3
await_partition "Isr: 1,2 "
stop 2
await_partition "Isr: 1 "
kill_node 1
start 3
await_partition "Leader: none"
described

if [ "$change" = on ]; then
  say "3. an operator switches eligible leader replicas on"
  tool org.apache.kafka.tools.FeatureCommand --bootstrap-server "$server" \
    upgrade --feature eligible.leader.replicas.version=1
fi

say "4. brokers 1 and 2 are started"
start 1
start 2
sleep 60
described
dump --cluster-metadata-decoder --files "$work/node-4/__cluster_metadata-0/00000000000000000000.log" |
  grep -o '"type":"PARTITION_CHANGE_RECORD".*"partitionId":0.*' | tail -n 3
if described | grep -q "Leader: none"; then
  say "NEVER LED: for a minute all three brokers were there"
else
  say "LED: $(described | grep -o "Leader: [0-9]*")"
fi
