
# A replica that comes to a log directory empties the ELR, and acknowledged records are lost although
# eligible leader replicas (KIP-966) are on. In KAFKA Apache Kafka 4.2.1; with 4.3.1 nothing is lost.
kraft=$work/disk-1/kraft
server=$(address 1),$(address 2)
records=100

# Nobody syncs anything on the disk of broker 1 between the records and the cut: its checkpoints wait, and
# the journal is committed every 5 minutes. So they may be further apart than the half minute after which
# the kernel writes the records out.
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

# The log directory that broker 3 will have; the others have no listener of the kind by which it would fetch.
stop 3
rm -r "$work/node-3"
keep_apart 3
format 3 --feature eligible.leader.replicas.version=1
await_partition "Isr: 1,2 "
described

say "2. broker 3 is off; records are acknowledged by brokers 1 and 2; then broker 2 is stopped"
send "$records"
stop 2

say "3. broker 3 is started with a new disk; it cannot fetch, and tells in which directory it has the replica"
start 3
metadata=$work/node-4/__cluster_metadata-0/00000000000000000000.log
changes() {
  dump --cluster-metadata-decoder --files "$metadata" |
    grep -o '"type":"PARTITION_CHANGE_RECORD".*"partitionId":0.*' | tail -n 2
}
left=60
until changes > "$work/changes" && grep -q directories "$work/changes"; do
  [ $((left -= 1)) -ge 0 ] || { echo "no directory was assigned"; exit 1; }
done

say "4. the power of broker 1 fails, which has the records in its page cache; broker 2 has them, too"
cut_power 1
cat "$work/changes"
start 2
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
