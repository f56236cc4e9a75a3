
# A broker is made leader while it is fenced (KAFKA-19522). In KAFKA Apache Kafka 4.0.2; 4.1.0 waits
# until it is unfenced.
server=$(address 1),$(address 2),$(address 3)
metadata=$work/node-4/__cluster_metadata-0/00000000000000000000.log

for node in 1 2 3 4; do
  role=broker
  [ "$node" != 4 ] || role=controller
  configure "$node" "$role" "$work/node-$node" <<PROPERTIES
controller.quorum.voters=4@$(address 4)
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
PROPERTIES
done

say "1. a controller, and three brokers"
release
for node in 4 1 2 3; do format "$node" --feature eligible.leader.replicas.version=1; done
for node in 4 1 2 3; do start "$node"; done
topics --create --topic orders --replica-assignment 1:2:3 --config min.insync.replicas=2

say "2. brokers 3, 2 and 1 are killed in this order"
kill_node 3
await_partition "Isr: 1,2 "
kill_node 2
await_partition "Isr: 1 "
kill_node 1
await 4 "Fencing broker 1" 60 || { echo "broker 1 was never fenced"; exit 1; }

say "3. brokers 3 and 2 are started: each has left the ELR as it registered, and nobody may lead"
start 3
start 2
described

say "4. broker 1 is started, which led last"
start 1
await_partition "Leader: 1"
said 4 "unclean election" | cut -c 1-200 || true
dump --cluster-metadata-decoder --files "$metadata" | sed -n 's/.*| offset: \([0-9]*\).*payload: /\1 /p' |
  grep -e 'REGISTER_BROKER_RECORD.*"brokerId":1,' -e 'BROKER_REGISTRATION_CHANGE.*"brokerId":1,.*"fenced":-1' \
    -e 'PARTITION_CHANGE_RECORD.*"leader":1' | sed 's/"incarnationId.*/.../' > "$work/records"
tail -n 3 "$work/records"
elected=$(grep '"leader":1' "$work/records" | tail -n 1 | cut -d ' ' -f 1)
unfenced=$(grep '"fenced":-1' "$work/records" | tail -n 1 | cut -d ' ' -f 1)
if [ "$elected" -lt "$unfenced" ]; then
  say "FENCED: leader at offset $elected of the metadata log, unfenced at offset $unfenced"
else
  say "UNFENCED at offset $unfenced of the metadata log, leader at offset $elected"
fi
