-- Objects in LuaJIT's own heap, which needs the lower 47 bits, and malloc's blocks, of which one in a hundred is kept.
-- Argument: the number of blocks.
local ffi = require("ffi")
ffi.cdef("void *malloc(size_t); void free(void *); void *memset(void *, int, size_t);")
local kept, sum, live = {}, 0, tonumber(arg[1]) / 100
for i = 1, tonumber(arg[1]) do
    kept[i % live] = ffi.gc(ffi.C.memset(ffi.C.malloc(i % 5000 + 1), i % 100, 1), ffi.C.free)
    sum = sum + ffi.cast("char *", kept[i % live])[0] + #tostring(i):rep(i % 9)
end
print(sum)
io.flush()
io.read()
