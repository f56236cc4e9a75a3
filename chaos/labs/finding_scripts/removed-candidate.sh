
# A controller that voted for itself, and follows another one since, is removed from the voters and started again: it
# ends. With the word "leader" it is one that voted for the leader, and it starts.
voted=${1:-itself}
directories="4:controller4-directoryA 5:controller5-directoryA 6:controller6-directoryA"
directory_id() { for each in $directories; do [ "${each%%:*}" != "$1" ] || echo "${each##*:}"; done; }
voters=""
for each in $directories; do
  voters=$voters${voters:+,}${each%%:*}@$(address "${each%%:*}"):${each##*:}
done
for node in 4 5 6; do
  configure "$node" controller "$work/node-$node" <<PROPERTIES
controller.quorum.bootstrap.servers=$(address 4),$(address 5),$(address 6)
PROPERTIES
done
quorum() { # as the controller $1 tells of it; the rest is what is asked of it
  at=$(address "$1")
  shift
  tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-controller "$at" "$@"
}
state() { cat "$work/node-$1/__cluster_metadata-0/quorum-state"; }
field() { state "$1" | sed "s/.*\"$2\":\([-0-9]*\).*/\1/"; } # of what node $1 has on its disk
led_by() { quorum 4 describe --status | awk '/^LeaderId/ { print $2 }'; }
elect_anew() { # all stand still until their time is up, so that two stand for election at the same time
  for signal in STOP CONT; do
    for node in 4 5 6; do kill -$signal "$(cat "$work/$node.pid")"; done
    sleep 4
  done
  leader=$(led_by)
}
found() { # a follower that voted so in the epoch of the leader
  for node in 4 5 6; do
    for_whom=$leader
    [ "$voted" != itself ] || for_whom=$node
    if [ "$node" != "$leader" ] && [ "$(field "$node" votedId)" = "$for_whom" ]; then
      echo "$node"
      return
    fi
  done
}

say "1. three controllers elect a leader, until one that follows has voted for $voted"
release
for node in 4 5 6; do format "$node" --initial-controllers "$voters"; done
for node in 4 5 6; do begin "$node"; done
for node in 4 5 6; do serves "$node"; done
leader=$(led_by)
left=20
until removed=$(found) && [ -n "$removed" ]; do
  [ $((left -= 1)) -ge 0 ] || { echo "none did so in twenty elections"; exit 1; }
  elect_anew
done
echo "$leader leads; on the disk of node $removed: $(state "$removed")"

say "2. it is removed from the voters"
quorum "$leader" remove-controller --controller-id "$removed" --controller-directory-id "$(directory_id "$removed")"
quorum "$leader" describe --status | grep -e '^LeaderId' -e '^CurrentVoters' | sed 's/, "endpoints": \[[^]]*\]//g'

say "3. it is stopped in good order, and started again"
stop "$removed"
begin "$removed"
if await "$removed" "Kafka Server started" 60; then
  say "STARTED: node $removed is there"
else
  code=0
  wait "$(cat "$work/$removed.pid")" || code=$?
  rm "$work/$removed.pid"
  said "$removed" "must be in the set of voters" | head -1 | cut -c 1-150
  say "ENDED: node $removed does not start any more, exit code $code"
fi
