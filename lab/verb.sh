#!/bin/sh
# hz3 ab, hz3 peers, ...: every bin/hz3-VERB of the lab is a link to this file.
set -eu
verb=${0##*/hz3-}
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
"$root/tools/setup.sh" lab
exec "$root/.venv/bin/python" "$root/lab" "$verb" "$@"
