# Strings that grow in a hash, then matched; argument: how many appends.
my %h;
for my $i (1 .. $ARGV[0]) { $h{"key" . $i % 50000} .= "v$i,"; }
my $n = 0;
for my $k (sort keys %h) { $n++ while $h{$k} =~ /(\d+),/g; }
$n == $ARGV[0] or die "$n of $ARGV[0]\n";
