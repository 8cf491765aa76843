-- Builds, changes and drops trees of small tables.  Argument: the number of trees.
local function build(depth)
    if depth == 0 then return { name = "leaf" .. depth } end
    return { left = build(depth - 1), right = build(depth - 1), words = { depth, tostring(depth) } }
end
local function count(tree) return tree.left and 1 + count(tree.left) + count(tree.right) or 1 end
local kept = {}
for i = 1, tonumber(arg[1]) do
    local tree = build(11)
    assert(count(tree) == 4095)
    kept[i % 8] = tree
    local line = {}
    for j = 1, 4000 do line[j] = ("%d:%d"):format(i, j) end
    assert(#table.concat(line, ",") > 20000)
end
