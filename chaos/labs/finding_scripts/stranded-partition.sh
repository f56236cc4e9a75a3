
# min.insync.replicas of a topic is changed while its only broker is restarted in good order (KIP-966): the
# partition is never led again, though the broker is there with every record. With the word "cluster" the default of
# all topics is changed, which does the same; with the word "same" the topic's value is set again, with the word
# "untouched" nobody changes anything, and it is led.
server=$(address 1),$(address 2)
change=${1:-changed}

for node in 1 2 4; do
  role=broker
  [ "$node" != 4 ] || role=controller
  configure "$node" "$role" "$work/node-$node" <<PROPERTIES
controller.quorum.voters=4@$(address 4)
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
PROPERTIES
done

say "1. a controller, and two brokers; one of them has a topic"
release
for node in 4 1 2; do format "$node" --feature eligible.leader.replicas.version=1; done
for node in 4 1 2; do start "$node"; done
topics --create --topic orders --replica-assignment 1 --config min.insync.replicas=1
send 100
described

say "2. broker 1 is stopped in good order"
stop 1
await_partition "Leader: none"
described

say "3. an operator looks after min.insync.replicas"
case $change in
  changed) alter --entity-type topics --entity-name orders --add-config min.insync.replicas=2 ;;
  cluster) alter --entity-type brokers --entity-default --add-config min.insync.replicas=2 ;;
  same) alter --entity-type topics --entity-name orders --add-config min.insync.replicas=1 ;;
  untouched) echo "nothing is changed" ;;
esac
described

say "4. broker 1 is started"
start 1
sleep 30
described
dump --cluster-metadata-decoder --files "$work/node-4/__cluster_metadata-0/00000000000000000000.log" |
  grep -o '"type":"\(PARTITION_CHANGE\|CLEAR_ELR\)_RECORD".*' | tail -n 2
if described | grep -q "Leader: none"; then
  say "NEVER LED: for half a minute the broker was there"
else
  say "LED: $(described | grep -o "Leader: [0-9]*")"
fi
