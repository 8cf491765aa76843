#!/bin/sh
# guided.sh FUZZ FOUND SECONDS: runs AFL++ on the program FUZZ, which was built by its compiler.  Its findings stay in
# the folder FOUND, where the next run continues.  Fails if an input failed, now or in an earlier run, until that
# input's file is removed.
set -eu
program=$1 found=$2 seconds=$3

export AFL_CRASH_EXITCODE=1 # the status with which a failed check ends the program
export AFL_AUTORESUME=1 AFL_EXIT_ON_SEED_ISSUES=1 # otherwise kept inputs that fail by now would be ignored
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
mkdir -p "$found.seeds"
head -c 200 "$0" >"$found.seeds/any" # any bytes are an input
# -G: the most that the program reads of a file.  -1: a new process for each input, so that it can be repeated.
afl-fuzz -i "$found.seeds" -o "$found" -G 4096 -t 10000 -V "$seconds" -- "$program" -1 >"$found.log" 2>&1 ||
    { cat "$found.log"; exit 1; }
failed=$(find "$found" -path '*/crashes*/id*' -o -path '*/hangs*/id*')
[ -z "$failed" ] || { echo "fuzz: failed:" "$failed" >&2; exit 1; }
echo "fuzz: no input failed; those that reached something new are in $found"
