#!/bin/sh
# A Redis server, on whatever malloc is preloaded, under its own benchmark; on loopback, nothing kept.
set -eu
command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null ||
    { echo "demo: redis-server and redis-benchmark are missing: apt-get install redis-server redis-tools" >&2; exit 127; }

dir=$(mktemp -d)
socket=$dir/socket
redis-server --port 0 --unixsocket "$socket" --dir "$dir" --save '' --appendonly no --daemonize no >"$dir/log" &
server=$!
trap 'kill "$server" 2>/dev/null || :; rm -rf "$dir"' EXIT
client() { env -u LD_PRELOAD "$@"; }
until client redis-cli -s "$socket" ping >/dev/null 2>&1; do kill -0 "$server"; sleep 0.1; done

client redis-benchmark -s "$socket" -q -n 100000 -d 512 -r 20000 -t set,get,lpush,lpop,sadd |
    tr '\r' '\n' | grep 'per second'
client redis-cli -s "$socket" info memory | grep -E '^(used_memory_human|used_memory_rss_human|mem_allocator):'
client redis-cli -s "$socket" shutdown nosave || :
wait "$server"
