
# A broker that once heard nothing from the leader of the controllers never hears of it again (KAFKA-19354).
# In KAFKA Apache Kafka 4.1.0; with 4.2.0 it does.
server=$(address 1)
directories="4:controller4-directoryA 5:controller5-directoryA 6:controller6-directoryA"
voters=""
for each in $directories; do
  voters=$voters${voters:+,}${each%%:*}@$(address "${each%%:*}"):${each##*:}
done

# The controllers are patient with each other, so that a leader that is paused goes on leading.
for node in 4 5 6; do
  configure "$node" controller "$work/node-$node" <<PROPERTIES
controller.quorum.bootstrap.servers=$(address 4),$(address 5),$(address 6)
controller.quorum.fetch.timeout.ms=60000
PROPERTIES
done

say "1. three controllers"
release
for node in 4 5 6; do format "$node" --initial-controllers "$voters"; done
for node in 4 5 6; do begin "$node"; done
for node in 4 5 6; do serves "$node"; done
quorum() { # as the controller $1 tells of it
  asked=$1
  shift
  tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-controller "$(address "$asked")" describe "$@"
}
leader=$(quorum 4 --status | awk '/^LeaderId/ { print $2 }')
follower=4
[ "$leader" != 4 ] || follower=5
echo "$leader leads"

say "2. a broker that knows a controller by its configuration, and not the one that leads"
configure 1 broker "$work/node-1" <<PROPERTIES
controller.quorum.bootstrap.servers=$(address "$follower")
controller.quorum.fetch.timeout.ms=5000
controller.quorum.request.timeout.ms=5000
PROPERTIES
format 1 --no-initial-controllers
start 1
row() { quorum "$leader" --replication | awk '$1 == "NodeId" || $1 == 1' | cut -f 1,3,4; }
row

say "3. the leader is paused for longer than the broker waits, and goes on; nobody else was elected"
kill -STOP "$(cat "$work/$leader.pid")"
sleep 15
kill -CONT "$(cat "$work/$leader.pid")"
sleep 30
quorum "$leader" --status | grep -e LeaderId -e LeaderEpoch
row
lag=$(row | awk '$1 == 1 { print $3 }')
if [ "$lag" -gt 20 ]; then
  say "LOST: half a minute later the broker is $lag records behind"
else
  say "FOLLOWS: half a minute later the broker is $lag records behind"
fi
