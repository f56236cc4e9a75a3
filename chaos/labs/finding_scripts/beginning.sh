#!/bin/sh
# Apache Kafka on loop devices whose power can be cut, with nothing but its own tools. Wants root, Linux,
# Java 17, mkfs.ext4, losetup and python3, and in KAFKA a directory of Apache Kafka with libs/*.jar in it.
set -eu
: "${KAFKA:?the directory of Apache Kafka, with libs/ in it: KAFKA=/opt/kafka sh $0}"
for program in java mkfs.ext4 losetup mountpoint python3 od; do
  command -v "$program" > /dev/null || { echo "$program is missing" >&2; exit 1; }
done
work=$(mktemp -d)
server=127.0.0.1:19092
controller=127.0.0.1:19093
cluster=a3JhZnQtY2hhb3MtcGxheQ
mounted_with=defaults # options of ext4

tidy() {
  for pid in $(cat "$work"/*.tracer "$work"/*.pid 2> /dev/null); do
    kill -CONT "$pid" && kill -KILL "$pid" && wait "$pid"
  done 2> /dev/null || true
  for place in "$work"/disk-*; do
    ! mountpoint -q "$place" || umount "$place"
  done
  for device in $(cat "$work"/*.device 2> /dev/null); do losetup -d "$device"; done
  rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM

cat > "$work/log4j2.properties" <<'PROPERTIES'
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
PROPERTIES

say() { printf '\n%s\n' "$*"; }

java_of_kafka() { # in place of this shell: a signal is for Java then
  exec java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "-Dlog4j2.configurationFile=$work/log4j2.properties" -cp "$KAFKA/libs/*" "$@"
}

tool() { (java_of_kafka "$@") 2>> "$work/tools.log"; }

make_disk() { # of node $1, mounted at $work/disk-$1
  mkdir "$work/disk-$1"
  truncate -s 512M "$work/image-$1"
  mkfs.ext4 -q -F -m0 -b 4096 "$work/image-$1"
  losetup -f --show "$work/image-$1" > "$work/$1.device"
  mount -t ext4 -o "$mounted_with" "$(cat "$work/$1.device")" "$work/disk-$1"
}

properties() { echo "$work/$1.properties"; } # of node $1
log() { echo "$work/$1.log"; }               # what node $1 has said, over all its starts

format() { # node $1, with the options that follow
  node=$1
  shift
  tool kafka.tools.StorageTool format -t "$cluster" -c "$(properties "$node")" "$@" > /dev/null
}

begin() { # the process of node $1; where its log ends now is written down
  touch "$(log "$1")"
  wc -l < "$(log "$1")" > "$work/$1.mark"
  java_of_kafka kafka.Kafka "$(properties "$1")" >> "$(log "$1")" 2>&1 &
  echo $! > "$work/$1.pid"
}

said() { tail -n "+$(($(cat "$work/$1.mark") + 1))" "$(log "$1")" | grep "$2"; } # by node $1 since it began

await() { # that node $1 says $2, for $3 s or until it ends
  left=$3
  until said "$1" "$2" > /dev/null; do
    left=$((left - 1))
    if [ "$left" -lt 0 ] || ! kill -0 "$(cat "$work/$1.pid")" 2> /dev/null; then
      said "$1" "$2" > /dev/null && return 0 # its last words
      return 1
    fi
    sleep 1
  done
}

serves() { # node $1, in the end
  await "$1" "Kafka Server started" 180 || { cat "$(log "$1")"; echo "node $1 did not start"; exit 1; }
}

start() { # node $1, until it serves
  begin "$1"
  serves "$1"
}

stop() { # node $1 in good order; Java ends with 143 when it was asked to
  kill -TERM "$(cat "$work/$1.pid")"
  code=0
  wait "$(cat "$work/$1.pid")" || code=$?
  rm "$work/$1.pid"
  echo "exit code $code"
}

kill_node() { # $1, at once
  kill -KILL "$(cat "$work/$1.pid")"
  wait "$(cat "$work/$1.pid")" 2> /dev/null || true
  rm "$work/$1.pid"
}

slow_syncs() { # of node $1: each takes $2 s from now on
  strace -f -qq -o /dev/null -e trace=fsync,fdatasync \
    -e "inject=fsync,fdatasync:delay_enter=$(($2 * 1000000))" -p "$(cat "$work/$1.pid")" &
  echo $! > "$work/$1.tracer"
  until grep -q "TracerPid:.$!" "/proc/$(cat "$work/$1.pid")/status"; do sleep 0.1; done
}

cut_power() { # of node $1, whether its process runs or not: what was not synced is gone
  # A sync that waits goes on waiting.
  if [ -e "$work/$1.tracer" ]; then kill -STOP "$(cat "$work/$1.tracer")"; fi
  if [ -e "$work/$1.pid" ]; then kill -STOP "$(cat "$work/$1.pid")"; fi
  python3 - "$work/disk-$1" <<'PYTHON'
import fcntl, os, struct, sys
FS_IOC_SHUTDOWN, WITHOUT_THE_JOURNAL = 0x8004587D, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), FS_IOC_SHUTDOWN, struct.pack("I", WITHOUT_THE_JOURNAL))
PYTHON
  if [ -e "$work/$1.tracer" ]; then
    kill -KILL "$(cat "$work/$1.tracer")" # who is not reaped by its tracer does not end
    rm "$work/$1.tracer"
  fi
  if [ -e "$work/$1.pid" ]; then kill_node "$1"; fi
  device=$(cat "$work/$1.device")
  umount "$work/disk-$1"
  # A mount namespace that was made meanwhile may hold the dead file system for a moment.
  left=60
  while [ -e "/sys/fs/ext4/$(basename "$device")" ]; do
    [ $((left -= 1)) -ge 0 ] || { echo "$device is still mounted somewhere" >&2; exit 1; }
    sleep 1
  done
  mount -t ext4 "$device" "$work/disk-$1"
}

release() { basename "$KAFKA"/libs/kafka-raft-*.jar .jar | sed 's/kafka-raft-/Apache Kafka /'; }

# What follows is for clusters of several nodes, each a process of this machine.

address() { echo "127.0.0.1:$((19100 + $1))"; } # of node $1

configure() { # node $1, which is a $2, with its files in $3; further lines come from the input
  case $2 in
    broker) listeners=PLAINTEXT://$(address "$1") ;;
    controller) listeners=CONTROLLER://$(address "$1") ;;
    *) listeners=PLAINTEXT://$(address "$1"),CONTROLLER://$controller ;; # both
  esac
  cat > "$(properties "$1")" - <<PROPERTIES
$(cat)
process.roles=$2
node.id=$1
listeners=$listeners
controller.listener.names=CONTROLLER
log.dirs=$3
offsets.topic.replication.factor=1
PROPERTIES
}

keep_apart() { # broker $1: neither the other brokers nor their clients see its listener, nor it theirs
  sed -i "s/^listeners=.*/listeners=OTHER:\/\/$(address "$1")/" "$(properties "$1")"
  cat >> "$(properties "$1")" <<'PROPERTIES'
inter.broker.listener.name=OTHER
listener.security.protocol.map=OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT
PROPERTIES
}

topics() { tool org.apache.kafka.tools.TopicCommand --bootstrap-server "$server" "$@"; }

described() { # the partition of the topic orders; nothing while nobody answers
  topics --describe --topic orders | grep "Partition: 0" | tr '\t' ' ' || true
}

await_partition() { # until its description has $1
  left=60
  until described | grep -q "$1"; do
    [ $((left -= 1)) -ge 0 ] || { echo "never came about: $1"; described; exit 1; }
  done
}

send() { # $1 records to the topic orders, each acknowledged by all in sync
  seq "$1" | tool org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$server" --topic orders \
    --producer-property acks=all > /dev/null # newer releases warn of an older word
}

offset() { # of the topic orders; -1: where its log ends
  tool org.apache.kafka.tools.GetOffsetShell --bootstrap-server "$server" --topic orders --time "$1" |
    cut -d : -f 3
}

alter() { # configurations; the tool moved
  tool org.apache.kafka.tools.ConfigCommand --bootstrap-server "$server" --alter "$@" ||
    tool kafka.admin.ConfigCommand --bootstrap-server "$server" --alter "$@"
}

dump() { # segments of a log; the tool moved
  tool org.apache.kafka.tools.DumpLogSegments "$@" || tool kafka.tools.DumpLogSegments "$@"
}
