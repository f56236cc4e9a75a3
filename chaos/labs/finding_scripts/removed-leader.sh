
# Of two controllers the leader is asked to remove itself, and is killed while the record of that is in its log alone:
# nobody leads any more, though both run. With the word "unasked" it is killed and nothing else, and one of them leads.
removal=${1:-asked}
directories="4:controller4-directoryA 5:controller5-directoryA"
directory_id() { for each in $directories; do [ "${each%%:*}" != "$1" ] || echo "${each##*:}"; done; }
voters=""
for each in $directories; do
  voters=$voters${voters:+,}${each%%:*}@$(address "${each%%:*}"):${each##*:}
done
for node in 4 5; do
  # Long enough for the tools: after 1.5 such times without the other one the leader resigns.
  configure "$node" controller "$work/node-$node" <<PROPERTIES
controller.quorum.bootstrap.servers=$(address 4),$(address 5)
controller.quorum.fetch.timeout.ms=20000
PROPERTIES
done
quorum() { # as the controller $1 tells of it; the rest is what is asked of it
  at=$(address "$1")
  shift
  tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-controller "$at" "$@"
}
voters_in_its_log() { # of the leader; the tool fails where the leader is no voter
  said "$leader" "Latest set of voters" | tail -n 1 | grep -o 'ReplicaKey(id=[0-9]*' | sed 's/.*=/voter /'
}
last_state() { said "$1" "Completed transition to" | tail -n 1 | sed 's/.* Completed/Completed/; s/ from .*//'; }

say "1. two controllers"
release
for node in 4 5; do format "$node" --initial-controllers "$voters"; done
for node in 4 5; do begin "$node"; done
for node in 4 5; do serves "$node"; done
leader=$(quorum 4 describe --status | awk '/^LeaderId/ { print $2 }')
other=$((9 - leader))
echo "$leader leads"

say "2. the other one is paused; what the leader is asked for, the other one does not hear of"
kill -STOP "$(cat "$work/$other.pid")"
if [ "$removal" = asked ]; then
  quorum "$leader" remove-controller --controller-id "$leader" \
    --controller-directory-id "$(directory_id "$leader")" > /dev/null 2>&1 &
  asked=$!
  left=20
  while voters_in_its_log | grep -q "voter $leader"; do
    [ $((left -= 1)) -ge 0 ] || { echo "the leader never wrote that it is removed"; exit 1; }
    sleep 0.5
  done
fi
echo "by the log of $leader:" $(voters_in_its_log)

say "3. the leader is killed; the other one goes on, and the leader is started again"
kill_node "$leader"
wc -l < "$(log "$other")" > "$work/$other.mark" # what it says from now on
kill -CONT "$(cat "$work/$other.pid")"
begin "$leader"
sleep 90
led=""
for node in 4 5; do
  ! said "$node" "Completed transition to Leader" > /dev/null || led="$led $node"
  echo "node $node began $(said "$node" "Completed transition to ProspectiveState" | wc -l) times to ask for votes"
done
[ "$removal" != asked ] || wait "$asked" || true
if [ -z "$led" ]; then
  last_state "$leader" | cut -c 1-230
  say "NOBODY LED: for a minute and a half both controllers were there"
else
  say "LED:$led"
fi
