#!/bin/sh
# Runs a Redis server on the preloaded malloc under its own benchmark, on a local socket.  Nothing is kept.
set -eu
if ! { command -v redis-server && command -v redis-benchmark; } >/dev/null; then
    echo "demo: redis-server and redis-benchmark are missing: apt-get install redis-server redis-tools" >&2
    exit 127
fi

preload=${LD_PRELOAD-}
unset LD_PRELOAD # it is for the server only
server='' dir=''
trap 'exit 130' INT; trap 'exit 143' TERM; trap 'exit 129' HUP # else dash would leave the server running
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; [ -z "$dir" ] || rm -rf "$dir"' EXIT
dir=$(mktemp -d)
socket=$dir/socket
export HZ3_FOREIGN_FREE="${HZ3_FOREIGN_FREE:-libc}" # Redis 8 has some memory from jemalloc's own functions
LD_PRELOAD=$preload redis-server --port 0 --unixsocket "$socket" --dir "$dir" --save '' --appendonly no \
    --daemonize no >"$dir/log" &
server=$!
until redis-cli -s "$socket" ping >/dev/null 2>&1; do
    kill -0 "$server" 2>/dev/null || { cat -- "$dir/log" >&2; echo "demo: redis-server ended before it answered" >&2; exit 1; }
    sleep 0.1
done

redis-benchmark -s "$socket" -q -n 100000 -d 512 -r 20000 -t set,get,lpush,lpop,sadd |
    tr '\r' '\n' | grep 'per second'
redis-cli -s "$socket" info memory | grep -E '^used_memory(_rss)?_human:'
redis-cli -s "$socket" shutdown nosave || :
wait "$server"
