# Objects and strings with a garbage collection at every allocation, then threads without.  Argument: how many.
count = ARGV[0].to_i
GC.stress = true
kept = (0...count).map { |n| { n => "text #{n} " * (n % 7), list: [n] * (n % 50) } }
GC.stress = false
sums = 4.times.map do |thread|
  Thread.new { (0...count * 100).sum { |n| "#{thread}:#{n}".dup.concat("x" * (n % 300)).size } }
end
puts kept.flat_map(&:to_a).flatten.join.sum(64) + sums.sum(&:value)
$stdout.flush
$stdin.read
