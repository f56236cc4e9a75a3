
# A replica is moved to another log directory, the power fails, and records that were on the disk are gone.
# With the word "synced" the disk is synced between the move and the cut.
between=${1:-unsynced}
server=$(address 1)
one=$work/disk-1/kraft
other=$work/disk-1/kraft.second
records=1000

cat > "$(properties 1)" <<PROPERTIES
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://$server,CONTROLLER://$controller
controller.listener.names=CONTROLLER
controller.quorum.voters=1@$controller
log.dirs=$one,$other
offsets.topic.replication.factor=1
PROPERTIES

say "1. a disk of its own, with two log directories"
release
make_disk 1
format 1
start 1
topics --create --topic orders --partitions 1 --replication-factor 1
send "$records"
sync -f "$work/disk-1"
echo "the log ends at $(offset -1), and all of the disk is synced"

say "2. the replica is moved to the other log directory"
from=$(dirname "$work"/disk-1/kraft*/orders-0)
to=$one
[ "$from" != "$one" ] || to=$other
cat > "$work/moves.json" <<JSON
{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["$to"]}]}
JSON
moves() {
  tool org.apache.kafka.tools.reassign.ReassignPartitionsCommand --bootstrap-server "$server" \
    --reassignment-json-file "$work/moves.json" "$@"
}
moves --execute > /dev/null
left=60
until moves --verify | grep "of replica orders-0-1 completed successfully"; do
  [ $((left -= 1)) -ge 0 ] || { echo "the replica was never moved"; exit 1; }
done
said 1 "successfully replaced with the future replica" || true
[ "$between" = unsynced ] || sync -f "$work/disk-1"

say "3. the power fails"
sizes() { find "$work/disk-1" -path '*orders-0*' -name '*.log' -printf '%P %s bytes\n' | sort; }
echo "as the page cache has it:" && sizes
cut_power 1
echo "as the disk has it:" && sizes

say "4. started again"
start 1
left=$(offset -1)
if [ "$left" -lt "$records" ]; then
  say "LOST: $((records - left)) of $records records that had been on the disk"
else
  say "KEPT: all $records records"
fi
