#!/bin/sh
# loader.sh STAGE: of the libraries that were installed as they are in STAGE: lets the loader find them, if root runs it and
# if it looks in their folder.  Otherwise it says what does.
set -eu
PATH=$PATH:/usr/sbin:/sbin
command -v ldconfig >/dev/null || exit 0 # musl's loader keeps no list
folder=$(find "$1" -name 'libhz3*.so' | sed 's|/[^/]*$||' | sort -u)
folder=${folder#"$1"}
if ! ldconfig -NXv 2>/dev/null | sed -n 's/:.*//p' | grep -Fqx -- "$folder"; then
    echo "the loader does not look in $folder: link with -Wl,-rpath,$folder, or set LD_LIBRARY_PATH=$folder"
elif [ "$(id -u)" = 0 ]; then
    ldconfig
else
    echo "the loader finds the libraries after: sudo ldconfig"
fi
