# Hashes, arrays and strings of a report; argument: how many times.
ARGV[0].to_i.times do |round|
  rows = (0...40_000).map { |n| { id: n, name: "row #{n} " * (n % 9 + 1), tags: [n, n * 3, n.to_s] } }
  by_tag = rows.group_by { |row| row[:id] % 997 }
  text = by_tag.map { |tag, of| "#{tag}: " + of.map { |row| row[:name] }.join(",") }.join("\n")
  raise unless by_tag.size == 997 && text.size > 1_000_000
end
