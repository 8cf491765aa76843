#!/bin/sh
# guided.sh FUZZ FOUND SECONDS: the fuzzer AFL++ on the program FUZZ, which its compiler made.  What it finds stays in
# the folder FOUND, where the next run goes on.  Fails if an input did.
set -eu
program=$1 found=$2 seconds=$3

export AFL_CRASH_EXITCODE=1 # how a check ends the program
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
from=-
if [ ! -d "$found" ]; then # any bytes are an input
    mkdir -p "$found.seeds"
    from=$found.seeds
    head -c 200 "$0" >"$from/any"
fi
# -G: as much as the program reads of a file.  -1: each input in a process of its own, so that it can be repeated.
afl-fuzz -i "$from" -o "$found" -G 4096 -t 10000 -V "$seconds" -- "$program" -1 >"$found.log" 2>&1 ||
    { cat "$found.log"; exit 1; }
failed=$(find "$found" -path '*/crashes/id*' -o -path '*/hangs/id*')
[ -z "$failed" ] || { echo "fuzz: failed:" "$failed" >&2; exit 1; }
runs=$(sed -n 's/^execs_done *: *//p' "$found/default/fuzzer_stats")
[ "${runs:-0}" -gt 0 ] || { cat "$found.log"; exit 1; }
echo "fuzz: none of $runs failed"
