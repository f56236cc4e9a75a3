
# A broker is added to the voters of three controllers: it ends by itself, and with one controller lost nobody leads. With the
# word "unasked" nothing is added, and one of the two others leads.
addition=${1:-asked}
directories="4:controller4-directoryA 5:controller5-directoryA 6:controller6-directoryA"
voters=""
for each in $directories; do
  voters=$voters${voters:+,}${each%%:*}@$(address "${each%%:*}"):${each##*:}
done
servers=$(address 4),$(address 5),$(address 6)
for node in 4 5 6; do
  configure "$node" controller "$work/node-$node" <<PROPERTIES
controller.quorum.bootstrap.servers=$servers
PROPERTIES
done
configure 1 broker "$work/node-1" <<PROPERTIES
controller.quorum.bootstrap.servers=$servers
PROPERTIES
quorum() { tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-controller "$servers" "$@"; }

say "1. three controllers and a broker"
release
for node in 4 5 6; do format "$node" --initial-controllers "$voters"; done
format 1 --no-initial-controllers
for node in 4 5 6 1; do begin "$node"; done
for node in 4 5 6 1; do serves "$node"; done
leader=$(quorum describe --status | awk '/^LeaderId/ { print $2 }')
echo "$leader leads"

say "2. the broker is to be a voter"
if [ "$addition" = asked ]; then
  # The tool asks for what its file says, which has to say that it is a controller's.
  sed "s/^process.roles=.*/process.roles=controller/; s/^listeners=.*/listeners=CONTROLLER:\/\/$(address 1)/" \
    "$(properties 1)" > "$work/as-controller.properties"
  quorum --command-config "$work/as-controller.properties" add-controller
  left=30
  while kill -0 "$(cat "$work/1.pid")" 2> /dev/null && [ $((left -= 1)) -ge 0 ]; do sleep 1; done
fi
if kill -0 "$(cat "$work/1.pid")" 2> /dev/null; then
  echo "the broker runs"
else
  echo "the broker has ended:"
  said 1 "IllegalStateException" | head -n 1
fi

say "3. the leader is killed, and the two others are left"
for node in 4 5 6; do wc -l < "$(log "$node")" > "$work/$node.mark"; done
kill_node "$leader"
sleep 60
led=""
for node in 4 5 6; do
  [ "$node" != "$leader" ] || continue
  ! said "$node" "Completed transition to Leader" > /dev/null || led="$led $node"
  echo "node $node began $(said "$node" "Completed transition to ProspectiveState" | wc -l) times to ask for votes"
done
if [ -z "$led" ]; then
  say "NOBODY LED: for a minute two controllers of three were there"
else
  say "LED:$led"
fi
