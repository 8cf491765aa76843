# Short commands in front of CMake, which is the one description of the build.
BUILD_TYPE ?= Release
JOBS := $(shell nproc 2>/dev/null || echo 2)
LANES := scale fast classic r90 memory secure
# Lane scale's C suites are in make test; of these lanes some are, and all in make test_matrix.
BRIEF := fast classic
HZ3_LDPRELOAD_DEFS_EXTRA ?=
# make install [PREFIX=/usr] [DESTDIR=/a/tree/to/pack]
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL_LANES ?= scale fast memory secure
# make check: the lane.
LANE ?= scale
override LANE := $(LANE:r50=r90)
# make run: any command; without one, a Redis server under its own benchmark.
APP ?= tools/demo-redis.sh

MAKEFLAGS += --no-print-directory
# With make -j, too, one goal follows another: two would build in one folder, or leave one file here.  Each is
# parallel in itself.
.NOTPARALLEL:
export PATH := $(PATH):$(CURDIR)/.venv/bin
PYTEST := .venv/bin/python -m pytest -q -rs -p no:cacheprovider
# Half of what tests do is to wait for time to pass.  Files of tests begin in the order of tests/conftest.py.
CTEST := ctest -j$(shell expr 2 \* $(JOBS)) --output-on-failure --no-tests=error
SIDE_BY_SIDE := -n $(shell expr 2 \* $(JOBS)) --dist loadfile --no-loadscope-reorder
# $(call QUIETLY,LOG,COMMANDS): their output is in build/LOG.log, and is shown where they fail.  Who waits at a terminal is
# told what for.
QUIETLY = mkdir -p build && { [ ! -t 2 ] || echo "$(1) ... (build/$(1).log has the steps)" >&2; } && { { $(2); } >build/$(1).log 2>&1 || { cat build/$(1).log >&2; exit 1; }; }
CONFIGURE = cmake -S . -B build/$(1) -DHZ3_LANE=$(1) -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
    -DHZ3_DEFS_EXTRA='$(HZ3_LDPRELOAD_DEFS_EXTRA)' -DHZ3_BENCH=OFF
# Of the flags that were given, those that only lane classic has.
ORDERS := $(if $(HZ3_LDPRELOAD_DEFS_EXTRA),$(shell PATH='$(PATH)' cmake -DHZ3_ROWS=classic/flags.def -P cmake/registry.cmake | awk '/^HZ3_FLAG/ {print $$2}'))
ASKED := $(filter $(ORDERS),$(foreach given,$(patsubst -D%,%,$(HZ3_LDPRELOAD_DEFS_EXTRA)),$(firstword $(subst =, ,$(given)))))
# $(call LIBRARY,LANE,-DHZ3_TESTS=?,TARGET[,NAME,WHAT]): leaves the lane's library here, by the name of lane NAME, and the
# recorder, and says WHAT it is, and how large lane classic's stash is (S144).  install, unlike cp, makes a new file:
# programs may be running on the old one.
LIBRARY = $(call QUIETLY,$(1),$(call CONFIGURE,$(1)) $(2) && cmake --build build/$(1) -j$(JOBS) --target $(3) hz3_record) && \
    install build/$(1)/hz3-record.so . && install build/$(1)/libhakozuna_hz3_$(1).so libhakozuna_hz3_$(or $(4),$(1)).so && \
    echo "built libhakozuna_hz3_$(or $(4),$(1)).so$(5)"$(if $(filter classic,$(1)), && cat build/classic/footprint.txt)
# $(call ORDER,NAME,WHAT): lane classic by the name that an order's next line uses.
ORDER = $(call LIBRARY,classic,$(call KEEP_TESTS,classic),hz3,$(1),: it is lane classic with $(2); compare it with all_ldpreload_classic)
# $(call TESTS,LANE): with what runs preloaded from lane scale's tests, since it is the same in all lanes; what they try
# at length three lanes share.
TESTS = -DHZ3_TESTS=ON -DHZ3_TEST_PROGRAMS=$(if $(filter-out scale,$(1)),$(CURDIR)/build/scale/tests) \
    -DHZ3_TEST_PART=$(PART_$(1))
PART_scale := 1
PART_fast := 2
PART_classic := 3
KEEP_TESTS = $(if $(wildcard build/$(1)/CTestTestfile.cmake),,-DHZ3_TESTS=OFF)

.PHONY: all analyze benches check check_secure clean commits coverage docs install run shared_programs test test-reliability test-programs fuzz test_matrix test_model_long test_packages test_portable test_reliability_long test_sanitizers test_trace_long test_variants_long test_vm peers
.PHONY: setup setup-build setup-analyze setup-check setup-run setup-test setup-stress setup-packages setup-coverage setup-fuzz setup-vm setup-peers
.PHONY: $(LANES:%=all_ldpreload_%) all_ldpreload_r50 all_ldpreload_scale_r50_s144 $(LANES:%=test_%) $(BRIEF:%=brief_%)
all: $(LANES:%=all_ldpreload_%) all_ldpreload_r50

# make all_ldpreload_scale [HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_X=v ...'] leaves ./libhakozuna_hz3_scale.so, and out/ to measure it with.
$(patsubst %,all_ldpreload_%,$(if $(ASKED),$(filter-out scale,$(LANES)),$(LANES))): all_ldpreload_%: benches
	@$(call LIBRARY,$*,$(call KEEP_TESTS,$*),hz3)

# A work order's lane scale is lane classic here.
ifneq ($(ASKED),)
all_ldpreload_scale: benches
	@$(call ORDER,scale,$(HZ3_LDPRELOAD_DEFS_EXTRA))
endif

# The lane that work order S144 asks for.
all_ldpreload_scale_r50_s144: override HZ3_LDPRELOAD_DEFS_EXTRA := -DHZ3_OWNER_STASH_INSTANCES=2 $(HZ3_LDPRELOAD_DEFS_EXTRA)
all_ldpreload_scale_r50_s144: benches
	@$(call ORDER,scale_r50_s144,$(HZ3_LDPRELOAD_DEFS_EXTRA))

# One build by two names.
all_ldpreload_r50: all_ldpreload_r90
	@install libhakozuna_hz3_r90.so libhakozuna_hz3_r50.so && echo "built libhakozuna_hz3_r50.so, the same"

benches: setup-build
	@$(call QUIETLY,bench,cmake -S bench -B build/bench && cmake --build build/bench -j$(JOBS))
	@echo "built out/"

# Nothing is written where one of the files could not be.  New folders are everybody's to read.  What root
# built belongs to whom the checkout does, who will build there again.
install: setup-build
	@$(if $(word 2,$(PREFIX)),echo "hz3: nothing is installed: LD_PRELOAD cannot hold a space: '$(PREFIX)'" >&2; exit 1)
	@rm -rf build/stage
	@$(foreach lane,$(INSTALL_LANES),$(call QUIETLY,$(lane),$(call CONFIGURE,$(lane)) $(call KEEP_TESTS,$(lane)) \
	    -DCMAKE_INSTALL_PREFIX='$(abspath $(PREFIX))' && \
	    cmake --build build/$(lane) -j$(JOBS) --target hz3 hz3_dlopen hz3_static hz3_record hz3_play && \
	    DESTDIR='$(CURDIR)/build/stage' cmake --install build/$(lane)) &&) true
	@tools/writable.sh build/stage '$(DESTDIR)'
	@$(foreach lane,$(INSTALL_LANES),$(call QUIETLY,$(lane),umask 022; DESTDIR='$(DESTDIR)' cmake --install build/$(lane)) &&) true
	@echo "installed lanes $(INSTALL_LANES) in $(DESTDIR)$(abspath $(PREFIX))"
	@$(if $(DESTDIR),,tools/loader.sh build/stage)
	@[ "$$(id -u)" != 0 ] || chown -hR --reference=Makefile build || :

# The program is looked for before anything is built.
run: $(if $(filter tools/demo-redis.sh,$(APP)),setup-run)
	@set -- $(APP); command -v -- "$$1" >/dev/null || { echo "hz3: '$$1' was not found" >&2; exit 127; }
	@$(MAKE) all_ldpreload_scale
	@bin/hz3 run --stats -- $(APP)

# Eight minutes: the C suites under ctest, lane by lane, then the suites that need real programs under pytest.
SUITES := tests bench peers lab --ignore tests/vm --ignore tests/packages
test: test_scale $(BRIEF:%=brief_%) $(patsubst %,all_ldpreload_%,$(filter-out scale secure $(BRIEF),$(LANES))) check_secure
	@$(PYTEST) $(SIDE_BY_SIDE) -m 'not matrix' $(SUITES)

# What make test leaves out: each flag flipped, in the lanes that have it; the work orders' lines; programs in a second
# lane; lane secure's C suites.  Each night, and when classic/ changes.
test_matrix: $(BRIEF:%=test_%) test_secure all
	@$(PYTEST) $(SIDE_BY_SIDE) -m matrix $(SUITES)

# Parts of test, as CI has them on machines of their own.
test_portable: setup-test
	@$(PYTEST) tests/portable
# Of the unit tests those that start threads run under ThreadSanitizer, which takes most addresses for itself.
SANITIZED_thread := ^unit\.(lock|magazine|cache|exchange|handoff|large_cache|profile|refill|remote_free)$$|^stress\.sanitized$$
SANITIZED_address := ^(unit|fuzz)\.|^stress\.sanitized$$
SANITIZED_undefined := $(SANITIZED_address)
# For root the kernel maps address 0, which clang's ThreadSanitizer asks for where hz3 asks for what it keeps for itself.
LESS_ROOT := $(if $(filter 0,$(shell id -u)),setpriv --bounding-set=-sys_rawio)
# $(call SANITIZED,COMPILER,SANITIZER): what does without the standard names, which are the sanitizer's.
SANITIZED = $(call QUIETLY,sanitized-$(1)-$(2),cmake -S . -B build/sanitized/$(1)-$(2) -DCMAKE_C_COMPILER=$(1) -DHZ3_LANE=scale \
    -DHZ3_BENCH=OFF -DCMAKE_C_FLAGS='-fsanitize=$(2) -fno-sanitize-recover=all -fno-omit-frame-pointer $(if $(filter gcc,$(1)),-Wno-tsan)' && \
    cmake --build build/sanitized/$(1)-$(2) -j$(JOBS) --target sanitized_programs) && echo "$(1), -fsanitize=$(2):" && \
    $(LESS_ROOT) $(CTEST) --test-dir build/sanitized/$(1)-$(2) -R '$(SANITIZED_$(2))'
test_sanitizers: setup-test benches
	@$(foreach compiler,gcc clang-19,$(foreach sanitizer,address undefined thread,$(call SANITIZED,$(compiler),$(sanitizer)) &&)) true
	@$(PYTEST) tests/lanes -k no_races

# What clang-tidy and gcc's analyzer say of the C here: a few minutes.
analyze: setup-analyze
	@python3 tools/analyze.py

# What tests reach of each room of src, which has to be 95 % of its lines and each refusal: a quarter of an hour.
# PAGE=docs/results/coverage.md writes it down.
coverage: setup-coverage
	@mkdir -p build; .venv/bin/python tools/coverage.py >build/coverage.md; status=$$?; [ ! -s build/coverage.md ] || cat build/coverage.md $(PAGE:%=| tee %); exit $$status

# Whether each commit since this one has a subject that is short, and a body that says why.
SINCE ?= origin/main
commits:
	@list=$$(git rev-list --no-merges $(SINCE)..HEAD) && for commit in $$list; do \
	    git log -1 --format=%B $$commit | tools/commit-message.sh - || { git log -1 --oneline $$commit; exit 1; }; \
	done

# Debian's packages, the crate and the wheel: made, installed where nothing else is, and used.
test_packages: setup-packages
	@$(PYTEST) tests/packages

# Each lane with each of its flags changed, and for longer, and the lab's judge in 400 trials: an hour.
test_variants_long: setup-test all
	@$(PYTEST) tests/lanes tests/golden/test_boxes.py tests/portable lab/tests/test_error_rates.py --long

$(LANES:%=test_%): test_%: shared_programs benches
	@$(call LIBRARY,$*,$(call TESTS,$*),all)
	@$(CTEST) --test-dir build/$*

$(BRIEF:%=brief_%): brief_%: shared_programs
	@$(call LIBRARY,$*,$(call TESTS,$*),brief_programs)
	@$(CTEST) --test-dir build/$* -R '^(unit|api|misuse|stress|fuzz)\.' -E '^stress\.sanitized$$'

shared_programs: setup-test
	@$(call QUIETLY,scale,$(call CONFIGURE,scale) $(call TESTS,scale) && cmake --build build/scale -j$(JOBS) --target shared_programs)

# What one wants to know of a lane before each commit: a minute, with what has to be built.
check: setup-check
	@$(call LIBRARY,$(LANE),-DHZ3_TESTS=ON -DHZ3_TEST_PROGRAMS=,check_programs)
	@$(CTEST) --test-dir build/$(LANE) -R '^(unit|api|misuse)\.'
	@$(PYTEST) tests/golden/test_binary.py --lane $(LANE)

# Of lane secure, what it finds and what it makes hard to guess.
check_secure: shared_programs
	@$(call LIBRARY,secure,$(call TESTS,secure),misuse_programs)
	@$(CTEST) --test-dir build/secure -R '^misuse\.'

# What wears allocators down, in every lane: at most 40 minutes.  It prints the seed of what it does by chance.
SEED ?=
# test_reliability_long: 100,000 forks and a soak of an hour, in some three hours.
test_reliability_long: LONG := --long
test-reliability test_reliability_long: setup-test all
	@$(call LIBRARY,scale,-DHZ3_TESTS=ON,reliability_programs)
	@PYTHONPATH=$(CURDIR) .venv/bin/python tests/reliability/rows.py $(LONG) $(SEED:%=--seed %)

# Real programs under stress, beside glibc: ten minutes.  PAGE=docs/results/programs-under-stress.md writes them down.
PAGE ?=
test-programs: setup-stress all_ldpreload_scale
	@PYTHONPATH=$(CURDIR) .venv/bin/python tests/programs/rows.py $(PAGE:%=--page %)

# The models of tests/model with a hundred times the schedules: about an hour.
test_model_long: setup-test
	@$(call LIBRARY,scale,-DHZ3_TESTS=ON,all)
	@cmake --build build/scale --target test_model_long

# Replays beside the programs that were recorded: a quarter of an hour.
test_trace_long: setup-test all
	@$(PYTEST) -s tests/trace/test_fidelity.py --long

# Lane scale on a kernel that may be set as no test may set its host's: a minute.
test_vm: setup-vm benches
	@$(call LIBRARY,scale,-DHZ3_TESTS=ON,all)
	@$(PYTEST) tests/vm

# tests/fuzz under AFL++, for so long.  What it finds is in build/found, where the next run goes on.
FUZZ_SECONDS ?= 600
fuzz: setup-fuzz
	@$(call QUIETLY,fuzz,cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=afl-clang-fast -DHZ3_LANE=scale -DHZ3_BENCH=OFF && \
	    cmake --build build/fuzz -j$(JOBS) --target fuzz)
	@tests/fuzz/guided.sh build/fuzz/tests/fuzz/fuzz build/found $(FUZZ_SECONDS)

# The allocators to compare with, into build/peers.
peers: setup-peers
	@.venv/bin/python peers/build.py

setup-build setup-analyze setup-check setup-run setup-test setup-stress setup-packages setup-coverage setup-fuzz setup-vm setup-peers: setup-%:
	@tools/setup.sh $*
setup-fuzz setup-vm: setup-test

# make setup [FOR=build|analyze|run|check|test|stress|packages|coverage|fuzz|vm|peers|programs|lab]: installs what that
# needs, by sudo.  No other command installs Debian packages, unless root runs it.
FOR ?= test
setup:
	@tools/setup.sh --install $(FOR)

# The pages in docs/ that are made from the registry and from the options.
docs: setup-build
	@$(call QUIETLY,scale,$(call CONFIGURE,scale))
	@cp build/scale/lanes.md docs/lanes.md
	@cp build/scale/options.md docs/use/options.md

# The peers stay: they take minutes to build and do not depend on us.  So do samples, what a fuzzer found, and copies of
# libraries that were set aside to be compared: nothing makes them again.
clean:
	@rm -rf $(filter-out build/peers build/compare build/found build/%.so,$(wildcard build/*)) out $(LANES:%=libhakozuna_hz3_%.so) libhakozuna_hz3_r50.so libhakozuna_hz3_scale_r50_s144.so hz3-record.so
