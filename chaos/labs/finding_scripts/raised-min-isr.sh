
# min.insync.replicas of a topic is raised from 2 to 3 while one replica is in sync and another is eligible
# (KIP-966): the eligible one is forgotten, and acknowledged records are lost. With the word "untouched" nobody
# changes anything, with the word "same" it is set to 2 again, and nothing is lost.
kraft=$work/disk-1/kraft
server=$(address 1),$(address 2),$(address 3)
records=100
change=${1:-raised}

# Nobody syncs anything on the disk of broker 1 between the records and the cut (see elr-wiped).
mounted_with=commit=300
for node in 1 2 3 4; do
  role=broker
  place=$work/node-$node
  [ "$node" != 1 ] || place=$kraft
  [ "$node" != 4 ] || role=controller
  configure "$node" "$role" "$place" <<PROPERTIES
controller.quorum.voters=4@$(address 4)
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
replica.high.watermark.checkpoint.interval.ms=600000
log.flush.offset.checkpoint.interval.ms=600000
log.flush.start.offset.checkpoint.interval.ms=600000
PROPERTIES
done

say "1. a controller, and three brokers; the disk of broker 1 can lose its power"
release
make_disk 1
for node in 4 1 2 3; do format "$node" --feature eligible.leader.replicas.version=1; done
for node in 4 1 2 3; do start "$node"; done
topics --create --topic orders --replica-assignment 1:2:3 --config min.insync.replicas=2
sync -f "$work/disk-1"

say "2. broker 3 is stopped; records are acknowledged by brokers 1 and 2; then broker 2 is stopped"
stop 3
await_partition "Isr: 1,2 "
send "$records"
stop 2
await_partition "Isr: 1 "
described

say "3. an operator looks after min.insync.replicas of the topic, and the power of broker 1 fails"
case $change in
  raised) alter --entity-type topics --entity-name orders --add-config min.insync.replicas=3 ;;
  same) alter --entity-type topics --entity-name orders --add-config min.insync.replicas=2 ;;
  untouched) echo "nothing is changed" ;;
esac
described
cut_power 1

say "4. brokers 2 and 3 are started, then broker 1"
start 2
start 3
sleep 5 # longer than the session of broker 1
described
start 1
await_partition "Leader: [12]"
described
left=$(offset -1)
if [ "$left" -lt "$records" ]; then
  say "LOST: $((records - left)) of $records acknowledged records"
else
  say "KEPT: all $records acknowledged records"
fi
