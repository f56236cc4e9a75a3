
# The last replica standing: an acknowledged record was on three disks, one lost its page cache, and it is gone.
# With the word "elr" eligible leader replicas (KIP-966) are on, and the record is there.
elr=0
[ "${1:-}" != elr ] || elr=1
kraft=$work/disk-1/kraft
server=$(address 1),$(address 2),$(address 3)
records=100

for node in 1 2 3 4; do
  role=broker
  place=$work/node-$node
  [ "$node" != 1 ] || place=$kraft
  [ "$node" != 4 ] || role=controller
  configure "$node" "$role" "$place" <<PROPERTIES
controller.quorum.voters=4@$(address 4)
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
PROPERTIES
done

say "1. a controller, and three brokers; the disk of broker 1 can lose its power"
make_disk 1
for node in 4 1 2 3; do format "$node" --feature "eligible.leader.replicas.version=$elr"; done
for node in 4 1 2 3; do start "$node"; done
topics --create --topic orders --replica-assignment 1:2:3 --config min.insync.replicas=2
sync -f "$work/disk-1"

say "2. broker 3 is stopped; records are acknowledged by brokers 1 and 2; then broker 2 is stopped"
stop 3
await_partition "Isr: 1,2 "
send "$records"
echo "the log ends at $(offset -1)"
stop 2
await_partition "Isr: 1 "
described

say "3. the power of broker 1 fails, which has them in its page cache"
cut_power 1

say "4. brokers 2 and 3 are started, then broker 1"
start 2
start 3
sleep 5 # longer than the session of broker 1
start 1
await_partition "Leader: [12]"
described
left=$(offset -1)
if [ "$left" -lt "$records" ]; then
  say "LOST: $((records - left)) of $records acknowledged records"
else
  say "KEPT: all $records acknowledged records"
fi
