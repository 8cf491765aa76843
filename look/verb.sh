#!/bin/sh
# hz3 stats, hz3 explain, ...: every hz3-VERB that looks into processes is a link to this file or, where hz3 is
# installed, a copy of it beside __main__.py.
set -eu
verb=${0##*/hz3-}
here=$(dirname -- "$(readlink -f -- "$0")")
command -v python3 >/dev/null || { echo "hz3: $verb needs python3, which is not installed" >&2; exit 1; }
exec python3 "$here" "$verb" "$@"
