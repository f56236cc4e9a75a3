
# A broker of a dynamic quorum whose power fails in its first half minute never starts again.
# With the word "static" the voters are configured (controller.quorum.voters): it starts.
quorum=${1:-dynamic}
kraft=$work/disk-1/kraft
broker=127.0.0.1:19094

if [ "$quorum" = static ]; then
  voters=controller.quorum.voters=2@$controller
  of_controller=""
  of_broker=""
else
  voters=controller.quorum.bootstrap.servers=$controller
  of_controller=--standalone
  of_broker=--no-initial-controllers
fi

cat > "$(properties 2)" <<PROPERTIES
process.roles=controller
node.id=2
listeners=CONTROLLER://$controller
controller.listener.names=CONTROLLER
log.dirs=$work/controller
$voters
PROPERTIES
cat > "$(properties 1)" <<PROPERTIES
process.roles=broker
node.id=1
listeners=PLAINTEXT://$broker
controller.listener.names=CONTROLLER
log.dirs=$kraft
$voters
PROPERTIES

say "1. a controller, and a broker with a disk of its own; both formatted, everything synced"
make_disk 1
# shellcheck disable=SC2086  # no word where there is no option
format 2 $of_controller
# shellcheck disable=SC2086
format 1 $of_broker
sync -f "$work/disk-1"
start 2

say "2. the broker is started, and its power fails"
start 1
metadata=$kraft/__cluster_metadata-0
segment=$metadata/00000000000000000000.log
sizes() { echo "$(wc -c < "$segment") bytes of metadata log, quorum-state: $(cat "$metadata/quorum-state")"; }
echo "as the page cache has it: $(sizes)"
cut_power 1
echo "as the disk has it:       $(sizes)"

say "3. the broker is started again; the controller has run all the time"
begin 1
if await 1 "Kafka Server started" 180; then
  say "STARTED"
else
  said 1 "IllegalStateException" | head -n 2 | cut -c 1-220
  say "NEVER STARTED"
fi
