# SPDX-License-Identifier: Apache-2.0
#
# The front door. Meson does the work; this file knows the ways in. `make` alone lists them.
# VARIANT=dev|release|asan|tsan|clang|fuzz|light|coverage|offline chooses the build that a test target uses.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
DESTDIR ?=
VARIANT ?= dev
JOBS ?= $(shell nproc)

# ---- variants: one line each -----------------------------------------------------------------
setup_dev     := --buildtype=debugoptimized
setup_release := --buildtype=release
setup_asan    := --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
setup_tsan    := --buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false
setup_clang   := --buildtype=debugoptimized
setup_fuzz    := --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true
setup_light   := --buildtype=debugoptimized -Db_sanitize=undefined -Db_lundef=false -Dfuzz=true \
    -Dc_args=-fno-sanitize-coverage=trace-cmp -Dcpp_args=-fno-sanitize-coverage=trace-cmp
setup_coverage := --buildtype=debug -Db_coverage=true -Dwerror=false
setup_offline := --buildtype=plain -Doptimization=0
compiler_clang := CC=clang CXX=clang++
compiler_fuzz  := CC=clang CXX=clang++
compiler_light := CC=clang CXX=clang++
groups_clang := check
groups_fuzz  := check
groups_light := check
groups_coverage := test check
targets_fuzz := fuzz_targets
targets_light := fuzz_targets

# ---- suites: one line each --------------------------------------------------------------------
# A suite is either a Meson suite of that name or a program tests/NAME/run. A name that has neither
# fails and says so. What a line says here is what `make help` prints.
PROOFS := sim crash fault e2e web model mutants soak
about_sim     := the real code on a simulated clock, network and store; SEEDS=20000, SECONDS
about_crash   := the real program, killed at named points and under every fault; KILLS, SECONDS
about_fault   := every store call, socket call and allocation fails once in turn
about_e2e     := the public surface only
about_web     := the page and the JavaScript client, in a real browser and in Node
about_model   := the Spin model of watermark, commit, crash and fencing
about_mutants := planted bugs; every one must be caught
about_soak    := a long run with drops, kills, restarts and retention; SECONDS

# Runs the command $(2); what it says goes to the file $(1), and to the reader when it fails.
heard_on_failure = mkdir -p build; $(2) >$(strip $(1)) 2>&1 || { cat $(strip $(1)) >&2; exit 1; }

.PHONY: help setup build run run-firehose test test-real bench proof $(PROOFS) fuzz coverage tidy \
        lint format docs clean install variant

help: ## this list
	@echo "Tidemark: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
	@$(foreach p,$(PROOFS),printf '  %s\t%s\n' '$(p)' '$(about_$(p))' | expand -t 18;)
	@echo "VARIANT=dev|release|asan|tsan|clang chooses the build that tests use (now: $(VARIANT))"

setup: ## install the Debian packages that are missing
	@tools/setup

build/%/build.ninja:
	@tools/setup build $(groups_$*)
	@$(if $(setup_$*),:,echo "make: there is no variant '$*'" >&2; exit 2)
	@$(call heard_on_failure,build/$*.setup.log,$(compiler_$*) meson setup $(setup_$*) build/$*)

# Compiles build/$(VARIANT); V=1 shows every command.
variant: build/$(VARIANT)/build.ninja
	@tools/setup build $(groups_$(VARIANT))
	@echo "building build/$(VARIANT)" >&2
	@$(if $(V),ninja -C build/$(VARIANT) -j $(JOBS) -v $(targets_$(VARIANT)),\
	  $(call heard_on_failure,build/$(VARIANT).build.log,\
	    ninja -C build/$(VARIANT) -j $(JOBS) --quiet $(targets_$(VARIANT))))

build: ## build/tidemark and build/tidemark-sim, hardened
	@$(MAKE) --no-print-directory variant VARIANT=release
	@tools/link-programs build/release

run: build ## simulated network + daemon on SQLite; ACTOR=you.bsky.social: the live network
	@exec tools/run $(if $(ACTOR),--actor '$(ACTOR)')

run-firehose: build ## the daemon alone, in the foreground, logs on the console; CONFIG=FILE
	@exec tools/run --firehose $(if $(CONFIG),--config '$(CONFIG)') $(if $(ACTOR),--actor '$(ACTOR)')

test: ## all tests that need nothing but this repository and Debian packages
	@tools/setup build test
	@tools/web-packages >/dev/null
	@$(MAKE) --no-print-directory variant
	@tools/suite --variant $(VARIANT) all

test-real: ## against servers nobody here wrote
	@tools/setup build test real
	@$(MAKE) --no-print-directory variant
	@tools/real-servers build/$(VARIANT)
	@tools/suite --variant $(VARIANT) --long real

bench: ## all benchmarks: a table, build/bench.json, docs/bench; ONLY="NAME..."
	@$(MAKE) --no-print-directory variant VARIANT=release
	@rc=0; tools/bench build/release $(ONLY) || rc=$$?; tools/plots bench; exit $$rc

proof: ## take what was measured last into docs/PROOF.md, its pictures and the README
	@tools/proof --update

$(PROOFS):
	@tools/setup build test
	@$(MAKE) --no-print-directory variant
	@mkdir -p build/proofs; rm -f build/proofs/$@.log; \
	  { echo 'make $(strip $@ $(MAKEOVERRIDES))'; tools/suite --variant $(VARIANT) --long $@; } \
	  2>&1 | tee build/proofs/$@.part && mv build/proofs/$@.part build/proofs/$@.log

fuzz: ## every parser under libFuzzer; SECONDS_EACH=60 or RUNS_EACH; LIGHT=1: no ASan, faster
	@$(MAKE) --no-print-directory variant VARIANT=$(if $(LIGHT),light,fuzz)
	@tools/fuzz build/$(if $(LIGHT),light,fuzz) $(ONLY) --jobs $(JOBS) \
	  $(if $(RUNS_EACH),--runs $(RUNS_EACH)) \
	  --seconds $(or $(SECONDS_EACH),$(if $(RUNS_EACH),0,60))

coverage: ## lines that the tests run, by room; REPORT=1 counts what earlier runs left
	@$(MAKE) --no-print-directory variant VARIANT=coverage
	@mkdir -p build/proofs; rm -f build/proofs/$@.log; \
	  { echo 'make $@'; tools/coverage build/coverage $(if $(REPORT),--report); } \
	  2>&1 | tee build/proofs/$@.part && mv build/proofs/$@.part build/proofs/$@.log

tidy: ## layers, lengths, names, banned calls
	@tools/setup build test
	@tools/tidy

lint: ## clang-format, clang-tidy, cppcheck, shellcheck; CHANGED=1: only changed files
	@tools/setup build check
	@$(MAKE) --no-print-directory build/clang/build.ninja
	@ninja -C build/clang --quiet build.ninja
	@ninja -C build/clang -t targets rule CUSTOM_COMMAND | { grep / || true; } | \
	  xargs -r ninja -C build/clang --quiet
	@tools/lint $(if $(CHANGED),--changed)

format: ## lay out all C and C++ files
	@tools/setup check
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' | xargs -r clang-format -i

docs: build ## rewrite what is generated: CONFIG.md, CONNECTORS.md, a column of REQUIREMENTS.md
	@tools/docs --update

clean: ## remove build/
	rm -rf build

install: build ## PREFIX, DESTDIR: program, connectors, man page, systemd unit, completion
	@test -x build/tidemark || { echo "install: build/tidemark was not built" >&2; exit 1; }
	install -D -m 755 build/tidemark $(DESTDIR)$(PREFIX)/bin/tidemark
	install -D -m 644 docs/tidemark.1 $(DESTDIR)$(PREFIX)/share/man/man1/tidemark.1
	install -D -m 644 deploy/completion.bash \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tidemark
	install -D -m 644 deploy/completion.zsh \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tidemark
	install -D -m 644 deploy/completion.fish \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tidemark.fish
	for file in connectors/*/*.yaml; do \
	  install -D -m 644 "$$file" "$(DESTDIR)$(PREFIX)/share/tidemark/$$file"; done
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|g' deploy/tidemark.service \
	  > $(DESTDIR)$(PREFIX)/lib/systemd/system/tidemark.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/tidemark.service
