
# Two controllers of three tell the others an address at which nobody is, and the third is lost: nobody leads any
# more, not even when both tell the right address again (KAFKA-20661). With the word "reachable" what they tell is
# another name of this machine, and one of them leads.
told=127.0.0.1:1
if [ "${1:-}" = reachable ]; then told=""; fi
directories="4:controller4-directoryA 5:controller5-directoryA 6:controller6-directoryA"
voters=""
for each in $directories; do
  voters=$voters${voters:+,}${each%%:*}@$(address "${each%%:*}"):${each##*:}
done
for node in 4 5 6; do
  configure "$node" controller "$work/node-$node" <<PROPERTIES
controller.quorum.bootstrap.servers=$(address 4),$(address 5),$(address 6)
PROPERTIES
done
quorum() { # as the controller $1 tells of it
  tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-controller "$(address "$1")" describe --status
}
restart() { # node $1, which tells from now on that it is reached at $2
  [ ! -e "$work/$1.pid" ] || stop "$1" > /dev/null
  sed -i '/^advertised.listeners=/d' "$(properties "$1")"
  echo "advertised.listeners=CONTROLLER://$2" >> "$(properties "$1")"
  begin "$1"
}
await_address() { # until the leader $1 says that node $2 is reached at $3
  left=60
  until quorum "$1" | grep '^CurrentVoters' | grep -q "\"id\": $2,[^}]*$3"; do
    [ $((left -= 1)) -ge 0 ] || { quorum "$1"; echo "the leader never said so of node $2"; exit 1; }
  done
}
elected() { # which of those that follow has led since it began
  for node in "$@"; do
    ! said "$node" "Completed transition to Leader" > /dev/null || printf '%s ' "$node"
  done
}

say "1. three controllers"
release
for node in 4 5 6; do format "$node" --initial-controllers "$voters"; done
for node in 4 5 6; do begin "$node"; done
for node in 4 5 6; do serves "$node"; done
leader=$(quorum 4 | awk '/^LeaderId/ { print $2 }')
others=$(for node in 4 5 6; do [ "$node" = "$leader" ] || echo "$node"; done)
echo "$leader leads"

say "2. the two others are started again, one by one, and tell another address; the leader takes it"
for node in $others; do
  address=${told:-localhost:$((19100 + node))}
  restart "$node" "$address"
  serves "$node"
  await_address "$leader" "$node" "$address"
done
quorum "$leader" | grep -e '^LeaderId' -e '^CurrentVoters' | sed 's/"directoryId": "[^"]*", //g'

say "3. the leader is lost; ten seconds later the two are started again and tell the right address"
kill_node "$leader"
sleep 10
for node in $others; do restart "$node" "$(address "$node")"; done
for node in $others; do await "$node" "Completed transition to ProspectiveState" 120; done
sleep 30
# shellcheck disable=SC2086
led=$(elected $others)
for node in $others; do
  echo "node $node began $(said "$node" "Completed transition to ProspectiveState" | wc -l) times to ask for votes"
done

say "4. the third is started"
restart "$leader" "$(address "$leader")"
serves "$leader"
sleep 10
echo "$(quorum "$leader" | awk '/^LeaderId/ { print $2 }') leads"
if [ -z "$led" ]; then
  say "NOBODY LED: for half a minute two controllers of three were there, at the right address"
else
  say "LED: $led"
fi
