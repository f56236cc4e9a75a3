
# The only controller acknowledges a topic, its power fails before it has synced the record, and the topic is gone.
# With the word "later" the power fails once the sync is over. Wants strace, too, which makes syncs slow.
command -v strace > /dev/null || { echo "strace is missing" >&2; exit 1; }
moment=${1:-sooner}
server=$(address 1)
kraft=$work/disk-2/kraft
sync_s=15

configure 2 controller "$kraft" <<PROPERTIES
controller.quorum.voters=2@$(address 2)
metadata.max.idle.interval.ms=0
PROPERTIES
configure 1 broker "$work/node-1" <<PROPERTIES
controller.quorum.voters=2@$(address 2)
PROPERTIES

say "1. a controller with a disk of its own, and a broker"
release
make_disk 2
format 2
format 1
start 2
start 1
sync -f "$work/disk-2"
segment=$kraft/__cluster_metadata-0/00000000000000000000.log
look() {
  echo "$(wc -c < "$segment") bytes of metadata log, $(grep -q orders "$segment" && echo with || echo without) the topic"
}

say "2. each sync of the controller takes a while from now on; a topic is created"
slow_syncs 2 "$sync_s"
topics --create --topic orders --partitions 1 --replication-factor 1
[ "$moment" = sooner ] || sleep $((2 * sync_s))

say "3. the power of the controller fails"
echo "as the page cache has it: $(look)"
cut_power 2
echo "as the disk has it:       $(look)"

say "4. the controller is started again, and the broker"
start 2
kill_node 1
start 1
if topics --list | grep -x orders; then
  say "KEPT: the topic that was acknowledged"
else
  say "LOST: the topic that was acknowledged"
fi
