
# A format that says it is done is not on the disk: after a power cut the node never starts.
# With the word "synced" the disk is synced between the format and the cut.
between=${1:-unsynced}
kraft=$work/disk-1/kraft

cat > "$(properties 1)" <<PROPERTIES
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://$server,CONTROLLER://$controller
controller.listener.names=CONTROLLER
controller.quorum.voters=1@$controller
log.dirs=$kraft
PROPERTIES

say "1. a disk of its own; Kafka is formatted on it"
make_disk 1
mkdir "$kraft"
sync -f "$work/disk-1"
format 1
echo "$(wc -c < "$kraft/bootstrap.checkpoint") bytes in bootstrap.checkpoint, as the page cache has it"
[ "$between" = unsynced ] || sync -f "$work/disk-1"

say "2. the power fails"
cut_power 1
bytes=0
[ ! -e "$kraft/bootstrap.checkpoint" ] || bytes=$(wc -c < "$kraft/bootstrap.checkpoint")
echo "$bytes bytes in bootstrap.checkpoint, as the disk has it"

say "3. started"
begin 1
if await 1 "Kafka Server started" 180; then
  say "STARTED"
else
  said 1 "Exception" | head -n 2
  say "NEVER STARTED"
fi
