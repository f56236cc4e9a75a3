
# The first leader of a new cluster resigns before what it was formatted with is in its log, and is elected again
# (KAFKA-20839). In KAFKA Apache Kafka 4.0.2; with 4.2.1 all is well.
voters=4@$(address 4),5@$(address 5),6@$(address 6)
for node in 4 5 6; do
  configure "$node" controller "$work/node-$node" <<PROPERTIES
controller.quorum.voters=$voters
controller.quorum.append.linger.ms=10000
PROPERTIES
done
activations() { said "$1" "Becoming the active controller\|Performing controller activation" | sed 's/^\[[^]]*\] //'; }
await_active() { # that node $1 says for the $2nd time that it becomes active
  left=120
  until [ "$(said "$1" "Becoming the active controller" | wc -l)" -ge "$2" ]; do
    [ $((left -= 1)) -ge 0 ] || { echo "node $1 did not become active"; exit 1; }
    sleep 1
  done
}

say "1. two of three controllers; what is written waits for 10 s before it goes into the log"
release
for node in 4 5 6; do format "$node"; done
for node in 4 5; do begin "$node"; done
leader=""
while [ -z "$leader" ]; do
  for node in 4 5; do
    ! said "$node" "Becoming the active controller" > /dev/null || leader=$node
  done
done
follower=$((9 - leader))
activations "$leader"

say "2. the other one is paused, and the active one resigns"
kill -STOP "$(cat "$work/$follower.pid")"
await "$leader" "Completed transition to ResignedState" 60
said "$leader" "Completed transition to ResignedState" | cut -c 27-110

say "3. the third, which knows nothing yet, is started and elects it again; the other one goes on"
begin 6
await_active "$leader" 2
activations "$leader" | tail -n 2
kill -CONT "$(cat "$work/$follower.pid")"

say "4. a minute later"
sleep 60
alive() { # which controllers run
  for node in 4 5 6; do
    ! kill -0 "$(cat "$work/$node.pid")" 2> /dev/null || printf '%s ' "$node"
  done
}
ended() { said "$1" "Encountered fatal fault\|^java.lang.IllegalStateException" | head -n 2 || true; }
ended "$leader"
echo "of 4 5 6 these run: $(alive)"

say "5. those that ended are started again; a minute and a half later"
for node in 4 5 6; do
  kill -0 "$(cat "$work/$node.pid")" 2> /dev/null || begin "$node"
done
sleep 90
ended "$leader"
running=$(alive)
if [ "$running" = "4 5 6 " ]; then
  say "ALL RUN: $running"
else
  say "ENDED: of three controllers these run: ${running:-none}"
fi
