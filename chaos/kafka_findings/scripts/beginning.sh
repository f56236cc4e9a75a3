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

tidy() {
  for pid in $(cat "$work"/*.pid 2> /dev/null); do
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
  exec java -Xmx256m "-Dlog4j2.configurationFile=$work/log4j2.properties" -cp "$KAFKA/libs/*" "$@"
}

tool() { (java_of_kafka "$@") 2>> "$work/tools.log"; }

make_disk() { # of node $1, mounted at $work/disk-$1
  mkdir "$work/disk-$1"
  truncate -s 512M "$work/image-$1"
  mkfs.ext4 -q -F -m0 -b 4096 "$work/image-$1"
  losetup -f --show "$work/image-$1" > "$work/$1.device"
  mount -t ext4 "$(cat "$work/$1.device")" "$work/disk-$1"
}

properties() { echo "$work/$1.properties"; } # of node $1
log() { echo "$work/$1.log"; }               # what node $1 has said, over all its starts

format() { # node $1, with the options that follow
  node=$1
  shift
  tool kafka.tools.StorageTool format -t "$cluster" -c "$(properties "$node")" "$@" > /dev/null
}

begin() { # the process of node $1; what it says now comes after line $mark of its log
  touch "$(log "$1")"
  mark=$(wc -l < "$(log "$1")")
  java_of_kafka kafka.Kafka "$(properties "$1")" >> "$(log "$1")" 2>&1 &
  echo $! > "$work/$1.pid"
}

said() { tail -n "+$((mark + 1))" "$(log "$1")" | grep "$2"; } # by node $1 since $mark

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

start() { # node $1, until it serves
  begin "$1"
  await "$1" "Kafka Server started" 180 || { cat "$(log "$1")"; echo "node $1 did not start"; exit 1; }
}

stop() { # node $1 in good order; Java ends with 143 when it was asked to
  kill -TERM "$(cat "$work/$1.pid")"
  code=0
  wait "$(cat "$work/$1.pid")" || code=$?
  rm "$work/$1.pid"
  echo "exit code $code"
}

cut_power() { # of node $1, whether its process runs or not: what was not synced is gone
  if [ -e "$work/$1.pid" ]; then kill -STOP "$(cat "$work/$1.pid")"; fi
  python3 - "$work/disk-$1" <<'PYTHON'
import fcntl, os, struct, sys
FS_IOC_SHUTDOWN, WITHOUT_THE_JOURNAL = 0x8004587D, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), FS_IOC_SHUTDOWN, struct.pack("I", WITHOUT_THE_JOURNAL))
PYTHON
  if [ -e "$work/$1.pid" ]; then
    kill -KILL "$(cat "$work/$1.pid")"
    wait "$(cat "$work/$1.pid")" 2> /dev/null || true
    rm "$work/$1.pid"
  fi
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
