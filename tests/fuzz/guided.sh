#!/bin/sh
# guided.sh FUZZ FOUND SECONDS: the fuzzer AFL++ on the program FUZZ, which its compiler made.  What it finds stays in
# the folder FOUND, where the next run goes on.  Fails if an input did, now or before: until its file is removed.
set -eu
program=$1 found=$2 seconds=$3

export AFL_CRASH_EXITCODE=1 # how a check ends the program
export AFL_AUTORESUME=1 AFL_EXIT_ON_SEED_ISSUES=1 # else what it kept and fails now would be passed over
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
mkdir -p "$found.seeds"
head -c 200 "$0" >"$found.seeds/any" # any bytes are an input
# -G: as much as the program reads of a file.  -1: each input in a process of its own, so that it can be repeated.
afl-fuzz -i "$found.seeds" -o "$found" -G 4096 -t 10000 -V "$seconds" -- "$program" -1 >"$found.log" 2>&1 ||
    { cat "$found.log"; exit 1; }
failed=$(find "$found" -path '*/crashes*/id*' -o -path '*/hangs*/id*')
[ -z "$failed" ] || { echo "fuzz: failed:" "$failed" >&2; exit 1; }
echo "fuzz: no input failed; those that reached something new are in $found"
