# A thin front end for Meson and Ninja. Most targets first install the packages that they need and that are missing, which
# needs root rights or sudo without a password; without them, they print what to run.
#
#   make            build build/fathom           make sanitize   run the tests under ASan and UBSan
#   make run        build and run it             make lint       check format, wording and code
#   make test       build and test it            make fuzz       search for inputs that break it
#   make bench      build and time it            make dist       build portable archives and wheels in dist/
#   make install    install to PREFIX            make docs       regenerate man page and completions
#   make mutants    check that tests notice faults  make coverage   lines and branches that tests execute
#   make faults     let allocations and system calls fail, one at a time
#   make site       render the results and the documentation as a static site in site/
#   make deb        build and test Debian packages in dist/deb/
#   make clean
#
# Variables: BUILD (build folder), CC (compiler), PREFIX (default /usr/local). CI=true turns warnings
# into errors.

BUILD ?= build
PREFIX ?= /usr/local
SECONDS ?= 60

.PHONY: all tests run test bench lint sanitize fuzz faults dist deb site docs install clean closure fleet-curves counters mutants coverage container-test

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "meson is not installed; run 'scripts/install-deps' to install what fathom needs" >&2; exit 1; }
	@meson setup $(BUILD) $(if $(CI),-Dwerror=true) $(FLAGS)

# The tests need cmocka, so they are built only on request.
tests: $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dtests=true
	@ninja -C $(BUILD)

# Prints one line per step, and then what fathom prints. The output of the steps is in $(BUILD)/run.log.
run:
	@mkdir -p $(BUILD)
	@: >$(BUILD)/run.log
	@scripts/install-deps --log $(BUILD)/run.log build >&2
	@[ -f $(BUILD)/build.ninja ] || scripts/step $(BUILD)/run.log 'configuring $(BUILD)' \
	  $(MAKE) --no-print-directory $(BUILD)/build.ninja
	@scripts/step $(BUILD)/run.log 'compiling $(BUILD)/fathom' ninja -C $(BUILD)
	@echo 'running $(BUILD)/fathom' >&2
	@$(BUILD)/fathom

test:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory tests
	@meson test -C $(BUILD) --print-errorlogs; result=$$?; scripts/count-tests $(BUILD); exit $$result

# AddressSanitizer also finds null pointers that are accessed and accesses outside of objects, so the checks of
# UndefinedBehaviorSanitizer for these are off. Line numbers (-g1) are sufficient for its reports.
sanitize:
	@$(MAKE) --no-print-directory test BUILD=$(BUILD)-sanitize \
	  FLAGS='-Db_sanitize=address,undefined -Db_lundef=false -Dc_args="-fno-sanitize-recover=all -fno-sanitize=null,object-size -g1"'

bench:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory tests
	@meson test -C $(BUILD) --benchmark --verbose

lint:
	@scripts/install-deps test lint
	@$(MAKE) --no-print-directory tests
	@scripts/lint $(BUILD)

# Runs each fuzz target for SECONDS; TARGETS='ptx model' selects some.
fuzz:
	@scripts/install-deps lint
	@scripts/fuzz $(SECONDS) $(TARGETS)

# Changes one token of src/ at a time; a test must fail. ARGS: options and folders, see 'scripts/mutants --help'.
mutants:
	@scripts/install-deps test
	@scripts/mutants $(ARGS)

# Lines and branches of src/ that the tests execute. ARGS: see 'scripts/coverage --help'.
coverage:
	@scripts/install-deps test
	@scripts/coverage $(ARGS)

# Lets every allocation and system call of every command in tests/faults/cases.py fail, one at a time. Prints one line per command and
# kind of call. Takes ten minutes.
faults:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory tests
	tests/faults/run --all $(BUILD)/fathom $(BUILD)/tests/libinject.so $(BUILD)/tests/standin

dist:
	@scripts/install-deps dist
	@scripts/dist

# Needs Python only. The front page is docs/results/README.md.
site:
	@scripts/site

# Builds the Debian packages, and installs and tests them in a clean Debian 12.
deb:
	@scripts/install-deps deb
	@scripts/deb

# Executes the commands of packaging/Containerfile in a clean Debian 12.
container-test:
	@scripts/install-deps deb
	@tests/packages/container

# Measures more simulated GPUs than 'make test' does, in as many processes as there are processors. Takes more than two and a half hours
# of processor time. All campaigns run even if one fails.
JOBS ?= $(shell nproc)
closure:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory tests
	@result=0; for arguments in published 'noisy published' '1 1000' 'noisy 1 500'; do \
	  echo "test_closure $$arguments"; $(BUILD)/tests/test_closure jobs=$(JOBS) $$arguments || result=1; done; \
	  for arguments in '1 500' 'noisy 1 500'; do \
	  echo "test_full_closure $$arguments"; $(BUILD)/tests/test_full_closure $$arguments || result=1; done; \
	  for arguments in '1 100' 'noisy 1 100'; do \
	  echo "test_bench_closure $$arguments"; $(BUILD)/tests/test_bench_closure $$arguments || result=1; done; \
	  echo "test_dissect_closure 1 240"; $(BUILD)/tests/test_dissect_closure 1 240 || result=1; \
	  echo "test_hierarchy 1 60"; $(BUILD)/tests/test_hierarchy 1 60 || result=1; \
	  for arguments in 'jobs=$(JOBS) 1 200' 'noisy jobs=$(JOBS) 1 100' 'published'; do \
	  echo "test_hierarchy_closure $$arguments"; $(BUILD)/tests/test_hierarchy_closure $$arguments || result=1; done; exit $$result

# How well fleets are judged: more generated fleets than 'make test' tries. Writes the counts, the tables of docs/results/fleet-h200.md
# and docs/images/fleet-power.svg. Takes five minutes.
fleet-curves:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory tests
	@result=0; $(BUILD)/tests/power tests/fleet/h200-records.jsonl.zst full docs/results/fleet-h200.csv || result=1; \
	  tests/fleet/report docs/results/fleet-h200.csv --svg docs/images/fleet-power.svg --page docs/results/fleet-h200.md || result=1; exit $$result

# Compares traces of the workloads, at the sizes in their launch files, with the counters of an H200.
# Takes a minute.
counters:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory tests
	$(BUILD)/tests/workloads/test_counters tests/workloads/h200-counters.txt large

docs: all
	$(BUILD)/fathom help --man > man/fathom.1
	$(BUILD)/fathom completion bash > completions/fathom.bash
	$(BUILD)/fathom completion zsh > completions/_fathom
	$(BUILD)/fathom completion fish > completions/fathom.fish

install: $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@ninja -C $(BUILD)
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-* dist site
