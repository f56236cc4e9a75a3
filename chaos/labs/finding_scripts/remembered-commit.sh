
# The power fails when a transaction is committed. What its coordinator noted is synced, what the partition was told is not: readers of committed records wait. One node. With the word "synced" the partition syncs each message too.
each=9223372036854775807
[ "${1:-}" != synced ] || each=1
server=$(address 1)
kraft=$work/disk-1/kraft

configure 1 broker,controller "$kraft" <<PROPERTIES
controller.quorum.voters=1@$controller
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
PROPERTIES
produce() { # $1 records in one transaction, which is committed
  java_of_kafka org.apache.kafka.tools.ProducerPerformance --topic orders --num-records "$1" --record-size 10 \
    --throughput 20 --transactional-id payments --transaction-duration-ms 3600000 \
    --producer-props "bootstrap.servers=$server" acks=all
}
transactions() { tool org.apache.kafka.tools.TransactionsCommand --bootstrap-server "$server" "$@"; }
state() { transactions list | grep "^payments"; }
read_records() { # at most $2, with isolation $1, for as long as one comes within $3 s
  tool org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$server" --topic orders --partition 0 \
    --offset earliest --isolation-level "$1" --max-messages "$2" --timeout-ms "$3000" | wc -l
}
committed() { read_records read_committed "$1" 90; }

say "1. a disk of its own, and a log whose segments are full after a second; the coordinators' log is synced with each message"
release
make_disk 1
format 1
sync -f "$work/disk-1"
start 1
topics --create --topic orders --partitions 1 --replication-factor 1 --config segment.ms=1000 \
  --config flush.messages=$each
(produce 1 2> "$work/producer.log") | tail -n 1 | cut -d , -f 1
alter --entity-type topics --entity-name __transaction_state --add-config flush.messages=1

say "2. a transaction of five seconds is committed, and when its coordinator says so the power fails"
(produce 100 2> "$work/producer.log") | tail -n 1 | cut -d , -f 1
left=60
until state | grep CompleteCommit; do
  [ $((left -= 1)) -ge 0 ] || { state; exit 1; }
done
sizes() { (cd "$kraft" && wc -c __transaction_state-0/*.log orders-0/*.log); }
echo "as the page cache has it:" && sizes
cut_power 1
echo "as the disk has it:" && sizes

say "3. started again"
start 1
state
transactions describe-producers --topic orders --partition 0
all=$(read_records read_uncommitted 100000 30)
found=$(committed "$all")
[ "$all" -gt 1 ] || { cat "$work/tools.log"; exit 1; }
if [ "$found" -eq "$all" ]; then
  say "ENDED: readers of committed records were given all $all that there are"
  exit
fi
say "HANGS: of $all records readers of committed ones were given $found in 90 s"

say "4. the same transactional id commits another one"
(produce 1 2> "$work/producer.log") | tail -n 1 | cut -d , -f 1
say "readers of committed records are given $(committed $((all + 1))) of $((all + 1))"
