# Each thread clones the interpreter with all its data.  Argument: the rounds.
use strict;
use warnings;
use threads;
use threads::shared;
my $sum : shared = 0;
my %kept = map { $_ => "value $_ " x ($_ % 9) } 1 .. 50000;

sub work {
    my $seed = shift;
    my (%words, $own);
    $words{ $_ % 997 } .= "$seed-$_," for 1 .. 20000;
    for my $word (sort keys %words) { $own += $1 while $words{$word} =~ /-(\d+),/g; }
    $own += length $kept{ 1 + $seed % 50000 };
    lock $sum;
    $sum += $own;
}
for my $round (1 .. $ARGV[0]) {
    $_->join for map { threads->create(\&work, 4 * $round + $_) } 1 .. 4;
}
$| = 1;
print "$sum\n";
<STDIN>;
