
# A broker hears at once of topics that came and went and of another min.insync.replicas, and knows other topics than
# there are. In KAFKA Apache Kafka 4.1.0 (KAFKA-19497) or 4.0.0 (KAFKA-19383); with 4.2.0 it knows those that there are.
server=$(address 1)

# Broker 2 is paused for as long as the tools take, and keeps its session.
for node in 1 2 3; do
  role=broker
  [ "$node" != 3 ] || role=controller
  configure "$node" "$role" "$work/node-$node" <<PROPERTIES
controller.quorum.voters=3@$(address 3)
broker.session.timeout.ms=600000
PROPERTIES
done
keep_apart 2 # or clients of broker 1 would ask it, too
min_isr() { # of the cluster
  alter --entity-type brokers --entity-default --add-config "min.insync.replicas=$1"
}
create() { topics --create --topic "$1" --replica-assignment 1; }

say "1. a controller and two brokers"
release
for node in 3 1 2; do format "$node" --feature eligible.leader.replicas.version=1; done
for node in 3 1 2; do start "$node"; done
create early
min_isr 1

say "2. broker 2 is paused; topics come and go, and min.insync.replicas is changed"
kill -STOP "$(cat "$work/2.pid")"
sleep 2 # until its last Fetch is answered: the next answer has all that follows
topics --delete --topic early
create brief
topics --delete --topic brief
create late
min_isr 2
echo "topics: $(topics --list | tr '\n' ' ')"

say "3. it goes on; a last topic is created, and broker 2 is asked"
kill -CONT "$(cat "$work/2.pid")"
create last
sleep 5
said 2 "Error generating new metadata image" | cut -c 1-200 | head -n 1 || true
said 2 "NullPointerException" | cut -c 1-200 | head -n 1 || true
server=$(address 2)
known=$(topics --list | tr '\n' ' ')
echo "topics: $known"
if [ "$known" != "last late " ]; then
  say "WRONG: broker 2 knows $known"
else
  say "RIGHT: broker 2 knows $known"
fi
