# Short commands in front of CMake, which is the one description of the build.
BUILD_TYPE ?= Release
JOBS := $(shell nproc 2>/dev/null || echo 2)
LANES := scale fast classic r50 r90 memory
TEST_LANES := scale fast classic # whose whole suites run; tests of all lanes are in tests/golden and tests/stress
HZ3_LDPRELOAD_DEFS_EXTRA ?=
# make run: any command; without one, a Redis server under its own benchmark.
APP ?= tools/demo-redis.sh

export PATH := $(PATH):$(CURDIR)/.venv/bin
PYTEST := .venv/bin/python -m pytest -q -rs -p no:cacheprovider
CONFIGURE = cmake -S . -B build/$(1) -DHZ3_LANE=$(1) -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
    -DHZ3_DEFS_EXTRA='$(HZ3_LDPRELOAD_DEFS_EXTRA)' -DHZ3_BENCH=OFF $(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }

.PHONY: all benches clean docs run test fuzz test_model_long test_variants_long test_vm peers
.PHONY: setup-build setup-run setup-test setup-fuzz setup-vm setup-peers
.PHONY: $(LANES:%=all_ldpreload_%) $(LANES:%=test_%)
all: $(LANES:%=all_ldpreload_%)

# make all_ldpreload_scale [HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_X=v ...'] leaves ./libhakozuna_hz3_scale.so, and out/ to measure it with.
# install, unlike cp, makes a new file: programs may be running on the old one.
$(LANES:%=all_ldpreload_%): all_ldpreload_%: benches
	@mkdir -p build
	@$(call CONFIGURE,$*,$(if $(wildcard build/$*/CTestTestfile.cmake),,-DHZ3_TESTS=OFF))
	@cmake --build build/$* -j$(JOBS) --target hz3
	@install build/$*/libhakozuna_hz3_$*.so .

benches: setup-build
	@mkdir -p build
	@{ cmake -S bench -B build/bench && cmake --build build/bench -j$(JOBS); } >build/bench.log 2>&1 || { cat build/bench.log; exit 1; }

run: $(if $(filter tools/demo-redis.sh,$(APP)),setup-run) all_ldpreload_scale
	@bin/hz3 run --stats -- $(APP)

# Everything: the C suites under ctest, lane by lane, then the suites that need real programs under pytest.
test: $(TEST_LANES:%=test_%) $(patsubst %,all_ldpreload_%,$(filter-out $(TEST_LANES),$(LANES)))
	@$(PYTEST) tests bench peers lab --ignore tests/vm

# Each lane with each of its flags changed, and for longer: half an hour.
test_variants_long: setup-test all
	@$(PYTEST) tests/lanes tests/golden/test_boxes.py --long

$(LANES:%=test_%): test_%: setup-test benches
	@mkdir -p build
	@$(call CONFIGURE,$*,-DHZ3_TESTS=ON)
	@cmake --build build/$* -j$(JOBS)
	@install build/$*/libhakozuna_hz3_$*.so .
	@ctest --test-dir build/$* -j$(JOBS) --output-on-failure

# The models of tests/model with a hundred times the schedules: about an hour.
test_model_long: setup-test
	@mkdir -p build
	@$(call CONFIGURE,scale,-DHZ3_TESTS=ON)
	@cmake --build build/scale -j$(JOBS) --target test_model_long

# Lane scale on a kernel that may be set as no test may set its host's: a minute.
test_vm: setup-vm benches
	@mkdir -p build
	@$(call CONFIGURE,scale,-DHZ3_TESTS=ON)
	@cmake --build build/scale -j$(JOBS)
	@install build/scale/libhakozuna_hz3_scale.so .
	@$(PYTEST) tests/vm

# tests/fuzz under AFL++, for so long.  What it finds is in build/found, where the next run goes on.
FUZZ_SECONDS ?= 600
fuzz: setup-fuzz
	@mkdir -p build
	@{ cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=afl-clang-fast -DHZ3_LANE=scale -DHZ3_BENCH=OFF && \
	    cmake --build build/fuzz -j$(JOBS) --target fuzz; } >build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
	@tests/fuzz/guided.sh build/fuzz/tests/fuzz/fuzz build/found $(FUZZ_SECONDS)

# The allocators to compare with, into build/peers.
peers: setup-peers
	@.venv/bin/python peers/build.py

setup-build setup-run setup-test setup-fuzz setup-vm setup-peers: setup-%:
	@tools/setup.sh $*
setup-fuzz setup-vm: setup-test

# The page in docs/ that is made from the registry.
docs: setup-build
	@mkdir -p build
	@$(call CONFIGURE,scale,)
	@cp build/scale/lanes.md docs/lanes.md

# The peers stay: they take minutes to build and do not depend on us.  So do samples, what a fuzzer found, and copies of
# libraries that were set aside to be compared: nothing makes them again.
clean:
	@rm -rf $(filter-out build/peers build/compare build/found build/%.so,$(wildcard build/*)) out $(LANES:%=libhakozuna_hz3_%.so)
