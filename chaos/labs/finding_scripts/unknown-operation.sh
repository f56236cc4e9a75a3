
# One request of a client, to a broker, makes the active controller give up its leadership: an IncrementalAlterConfigs
# with an operation that there is not. With the word "known" the operation is to set, and nothing happens.
operation=9
[ "${1:-}" != known ] || operation=0
server=$(address 1)
voters=4@$(address 4),5@$(address 5),6@$(address 6)

for node in 4 5 6 1; do
  role=controller
  [ "$node" != 1 ] || role=broker
  configure "$node" "$role" "$work/node-$node" <<PROPERTIES
controller.quorum.voters=$voters
PROPERTIES
done
# The length of what follows; API 44, version 1, correlation 7, client "test"; one resource of type 16
# (CLIENT_METRICS), r1; one config of it, interval.ms, the operation, 1000.
ask() {
  python3 - "${server%:*}" "${server#*:}" "$operation" <<'PYTHON'
import socket, struct, sys
body = b"\x02\x10\x03r1\x02\x0cinterval.ms" + bytes((int(sys.argv[3]),)) + b"\x051000\0\0\0\0"
request = struct.pack(">hhi", 44, 1, 7) + b"\0\x04test\0" + body
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), 60)
connection.sendall(struct.pack(">i", len(request)) + request)
answer = connection.makefile("rb")
told = answer.read(*struct.unpack(">i", answer.read(4)))
print("answered with the error", *struct.unpack(">h", told[10:12]))  # behind correlation, tags, throttle time, count
PYTHON
}
quorum() { # who leads, and in which epoch, as the broker tells of it
  tool org.apache.kafka.tools.MetadataQuorumCommand --bootstrap-server "$server" describe --status |
    awk '/^Leader(Id|Epoch)/ { printf "%s %s ", $1, $2 }'
}

say "1. three controllers and a broker"
release
for node in 4 5 6 1; do format "$node"; done
for node in 4 5 6; do begin "$node"; done
for node in 4 5 6; do serves "$node"; done
start 1
before=$(quorum)
echo "$before"

say "2. a client asks the broker for operation $operation"
ask
sleep 5
after=$(quorum)
echo "$after"
for node in 4 5 6; do said "$node" "Renouncing the leadership\|Encountered quorum controller fault" | cut -c 1-230; done || true
if [ "$before" != "$after" ]; then
  say "UNSEATED: another election was held"
else
  say "SEATED: the same controller leads in the same epoch"
fi
