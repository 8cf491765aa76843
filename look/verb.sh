#!/bin/sh
# hz3 stats, hz3 explain, ...: every bin/hz3-VERB that looks into processes is a link to this file, or a copy where there
# are no links.
set -eu
verb=${0##*/hz3-}
here=$(dirname -- "$(readlink -f -- "$0")")
[ -f "$here/__main__.py" ] || here=${here%/*}/share/hz3/look
command -v python3 >/dev/null || { echo "hz3: $verb needs python3, which is not installed" >&2; exit 1; }
exec python3 "$here" "$verb" "$@"
