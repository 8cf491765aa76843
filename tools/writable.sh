#!/bin/sh
# writable.sh STAGE ROOT: checks that STAGE can be copied into ROOT.  If not, it names the first folder that cannot.
set -euf
stage=$1
root=$2
folders=$(find "$stage" ! -type d | sed 's|/[^/]*$||' | sort -u) # others need be there only
IFS='
'
for folder in $folders; do
    place=$root${folder#"$stage"}
    while [ ! -e "$place" ] && [ ! -L "$place" ]; do place=$(dirname -- "$place"); done
    if [ ! -d "$place" ] || [ ! -w "$place" ] || [ ! -x "$place" ]; then
        echo "hz3: nothing is installed: ${place:-/} cannot be written to" >&2
        exit 1
    fi
done
