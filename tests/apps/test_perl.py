import re
import subprocess
from collections import Counter

from host import require

WORDS = 200_000
SCRIPT = r"""
use strict; use warnings;
my ($count, %seen, %by_length, @words) = (scalar <STDIN>);
my $x = 1;
for (1 .. $count) {
    $x = ($x * 1103515245 + 12345) % 2147483648;
    push @words, sprintf("%x", $x % 50021) x (1 + $x % 5);
}
$seen{$_}++ for @words;
push @{ $by_length{length $_} }, $_ for keys %seen;
my $text = join ' ', @words;
my $hits = () = $text =~ /\b[0-9a-f]*?(\d)\1\w*\b/g;
(my $changed = $text) =~ s/([a-f]+)/<\U$1>/g;
my $sum = 0;
for my $part (0 .. 3) {
    my $pid = open(my $child, '-|') // die;
    if (!$pid) {
        my $mine = 0;
        for (my $i = $part; $i < @words; $i += 4) { $mine += length(join '', sort split //, $words[$i]) }
        print "$mine\n";
        exit 0;
    }
    $sum += <$child>;
    close $child or die;
}
print scalar(keys %seen), " ", (sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen)[0], "\n";
print join(',', map { "$_:" . @{ $by_length{$_} } } sort { $a <=> $b } keys %by_length), "\n";
print "$hits $sum ", length($changed), "\n";
undef %seen; undef @words;
"""


def expected():
    """What the script has to print, computed in Python."""


    x, words = 1, []
    for _ in range(WORDS):
        x = (x * 1103515245 + 12345) % 2147483648
        words.append(f"{x % 50021:x}" * (1 + x % 5))
    seen = Counter(words)
    lengths = Counter(map(len, seen))
    text = " ".join(words)
    hits = sum(1 for _ in re.finditer(r"\b[0-9a-f]*?(\d)\1\w*\b", text, re.ASCII))
    changed = re.sub("([a-f]+)", "<\\1>", text)
    return (
        f"{len(seen)} {min(seen, key=lambda word: (-seen[word], word))}\n"
        + ",".join(f"{length}:{lengths[length]}" for length in sorted(lengths))
        + f"\n{hits} {sum(map(len, words))} {len(changed)}\n"
    )


def test_hashes_regexes_and_forks(host):
    command = [require("perl", "perl"), "-e", SCRIPT]
    with subprocess.Popen(command, env=host.env, stdin=-1, stdout=-1, stderr=-1) as perl:
        host.assert_on_hz3(perl.pid)
        out, errors = perl.communicate(b"%d\n" % WORDS)
    assert perl.returncode == 0 and errors == b""
    assert out.decode() == expected()
