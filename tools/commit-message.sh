#!/bin/sh
# commit-message.sh FILE: checks that the message has a subject of at most 72 characters, an empty line, and a body.
set -eu
grep -v '^#' "$1" | awk '
    NR == 1 && length($0) > 72 { print "commit: the subject has " length($0) " characters; 72 are allowed"; bad = 1 }
    NR == 2 && $0 != "" { print "commit: no empty line after the subject"; bad = 1 }
    NR > 2 && $0 != "" { body = 1 }
    END {
        if (!body && !bad) { print "commit: no body that says why"; bad = 1 }
        exit bad
    }' >&2
