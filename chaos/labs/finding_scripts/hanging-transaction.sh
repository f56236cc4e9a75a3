
# The power fails while a transaction is open, and nobody can end it any more: readers of committed records wait. One node. With the word "synced" it syncs each message, and the transaction ends.
each=9223372036854775807
[ "${1:-}" != synced ] || each=1
server=$(address 1)
kraft=$work/disk-1/kraft

configure 1 broker,controller "$kraft" <<PROPERTIES
controller.quorum.voters=1@$controller
log.flush.interval.messages=$each
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
PROPERTIES
produce() { # $1 records in transactions of $2 ms
  java_of_kafka org.apache.kafka.tools.ProducerPerformance --topic orders --num-records "$1" --record-size 10 \
    --throughput 20 --transactional-id payments --transaction-duration-ms "$2" \
    --producer-props "bootstrap.servers=$server" acks=all
}
transactions() { tool org.apache.kafka.tools.TransactionsCommand --bootstrap-server "$server" "$@"; }
read_records() { # at most $2, with isolation $1, for as long as one comes within $3 s
  tool org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$server" --topic orders --partition 0 \
    --offset earliest --isolation-level "$1" --max-messages "$2" --timeout-ms "$3000" | wc -l
}

say "1. a disk of its own, and a log whose segments are full after a second"
release
make_disk 1
format 1
sync -f "$work/disk-1"
start 1
topics --create --topic orders --partitions 1 --replication-factor 1 --config segment.ms=1000

say "2. a producer sends in a transaction that it does not end; when two segments were full the power fails"
produce 1000000 3600000 > "$work/producer.log" 2>&1 &
echo $! > "$work/producer.pid"
left=600
until [ -e "$kraft/orders-0" ] && [ "$(find "$kraft/orders-0" -name '*.log' | wc -l)" -gt 2 ]; do
  [ $((left -= 1)) -ge 0 ] || { cat "$work/producer.log"; exit 1; }
  sleep 0.1
done
sleep 1
sizes() { (cd "$kraft" && wc -c __transaction_state-0/*.log orders-0/*.log); }
echo "as the page cache has it:" && sizes
kill_node producer
cut_power 1
echo "as the disk has it:" && sizes

say "3. started again; a new producer with the same transactional id sends a record, and commits it"
start 1
produce 1 1 2> "$work/producer.log" | tail -n 1 | cut -d , -f 1
transactions list
transactions describe-producers --topic orders --partition 0
all=$(read_records read_uncommitted 100000 30)
committed=$(read_records read_committed 1 90)
[ "$all" -gt 0 ] || { cat "$work/tools.log"; exit 1; }
if [ "$committed" -eq 0 ]; then
  say "HANGS: of $all records, the last of them committed, readers of committed ones were given none in 90 s"
else
  say "ENDED: of $all records the last is committed, and readers of committed ones were given it"
fi
