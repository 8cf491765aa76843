# Short commands in front of CMake, which is the one description of the build.
BUILD_TYPE ?= Release
JOBS := $(shell nproc 2>/dev/null || echo 2)
HZ3_LDPRELOAD_DEFS_EXTRA ?=
LANES := scale fast

.PHONY: all clean $(LANES:%=all_ldpreload_%)
all: $(LANES:%=all_ldpreload_%)

# make all_ldpreload_scale [HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_X=v ...'] leaves ./libhakozuna_hz3_scale.so
$(LANES:%=all_ldpreload_%): all_ldpreload_%:
	@mkdir -p build
	@cmake -S . -B build/$* -DHZ3_LANE=$* -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) -DHZ3_TESTS=OFF -DHZ3_BENCH=OFF \
	    -DHZ3_DEFS_EXTRA='$(HZ3_LDPRELOAD_DEFS_EXTRA)' >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@cmake --build build/$* -j$(JOBS) --target hz3
	@cp -L build/$*/libhakozuna_hz3_$*.so .

clean:
	@rm -rf build out $(LANES:%=libhakozuna_hz3_%.so)
