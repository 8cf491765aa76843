#!/bin/sh
# guided.sh FUZZ FOUND SECONDS: the fuzzer AFL++ on the program FUZZ, which its compiler made.  Fails if an input did.
set -eu
program=$1 found=$2 seconds=$3

export HZ3_BACKGROUND=0 # its clock is not the fuzzer's
export AFL_CRASH_EXITCODE=1 # how a check ends the program
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
rm -rf "$found" "$found.seeds"
mkdir "$found.seeds"
head -c 200 "$0" >"$found.seeds/any" # whatever it starts from is an input
# -100: so many inputs a process, so that few are needed to repeat what one did
afl-fuzz -i "$found.seeds" -o "$found" -t 5000 -V "$seconds" -- "$program" -100 >"$found.log" 2>&1 ||
    { cat "$found.log"; exit 1; }
failed=$(find "$found" -path '*/crashes/id*' -o -path '*/hangs/id*')
[ -z "$failed" ] || { echo "fuzz: failed:" "$failed" >&2; exit 1; }
sed -n 's/^execs_done *: */fuzz: none failed of /p' "$found/default/fuzzer_stats"
