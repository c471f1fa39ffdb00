# tupled's build. `make help` lists what there is to make.
#
# Sources are found by wildcard: to add a file, add a file. Each flavour has its own objects under build/:
#   release  gcc, optimised               build/tupled, build/release/
#   asan     gcc, ASan + UBSan            build/asan/
#   tsan     gcc, TSan                    build/tsan/
#   fuzz     clang, libFuzzer + sanitizers build/fuzz/
#   pic      gcc, optimised, for libraries build/libtupled.a, build/libtupled.so.0, build/pic/
# src/server/main.c and src/tool/main.c have a main(), of tupled and of tupledctl. All else of src/tool goes
# into build/<flavour>/libctl.a, and what is left into build/<flavour>/libserver.a; every test links both.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
SHELL := /bin/bash

CC := gcc
CLANG := clang
PREFIX ?= /usr/local
SYSCONFDIR ?= $(PREFIX)/etc
LIBDIR ?= $(PREFIX)/lib
UNITDIR ?= $(PREFIX)/lib/systemd/system
STATEDIR ?= /var/lib/tupled
DESTDIR ?=
EXTRA_CFLAGS ?=
LDFLAGS ?=
export FUZZ_SECONDS ?= 600
export SIM_SECONDS ?= 600
export CRASH_SECONDS ?= 600

# The one place is include/tupled.h.
VERSION = $$(awk '$$2 == "TUPLED_VERSION" { gsub(/"/, ""); print $$3 }' include/tupled.h)

JOBS ?= $(shell nproc)
# Goals that show a program's output as it comes run serially and build through $(PMAKE).
LIVE_GOALS := all release install bench-build run test check analyze docs bench bench-types figures turn-table demo fuzz crash export sim late turns diff-types abandon clients model mutants cluster test-cluster deps test-deps \
    bench-deps demo-deps deb deb-deps package-test site site-deps
PMAKE = $(MAKE) --no-print-directory -j$(JOBS) --output-sync=target
ifeq ($(MAKELEVEL)$(filter $(LIVE_GOALS),$(or $(MAKECMDGOALS),all))$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(JOBS) --output-sync=target
endif

# ---- packages (Debian 12) ---------------------------------------------------------------------------

RUN_PACKAGES := gcc make binutils libc6-dev libev-dev libssl-dev libsqlite3-dev libxxhash-dev \
    libutf8proc-dev libsystemd-dev libnghttp2-dev zlib1g-dev protobuf-c-compiler libprotobuf-c-dev \
    libhiredis-dev libcurl4-openssl-dev libmsgpack-dev libpq-dev \
    liblua5.1-0-dev lua-cjson-dev lua-bitop-dev
SITE_PACKAGES := mkdocs git
TEST_PACKAGES := $(RUN_PACKAGES) libcmocka-dev libjansson-dev \
    redis-tools redis-server postgresql openssl clang libclang-rt-14-dev clang-tidy clang-format cppcheck \
    util-linux procps dpkg-dev shellcheck curl nghttp2-client chromium xxd spin pkgconf nginx-light libnginx-mod-stream haproxy pgbouncer \
    $(SITE_PACKAGES)
DEMO_PACKAGES := $(RUN_PACKAGES)
DEB_PACKAGES := $(RUN_PACKAGES) dpkg-dev
BENCH_PACKAGES := $(RUN_PACKAGES) redis-tools redis-server sqlite3 openssl

# $(call need,packages): install those that are missing. None of SERVICES must start at install: these
# units are masked first, and RUNLEVEL=1 keeps invoke-rc.d quiet.
SERVICES := redis-server nginx haproxy pgbouncer
define need
@command -v dpkg-query >/dev/null || { \
    echo "deps: not a Debian system; needed are the equivalents of: $(1)"; exit 0; }; \
have=" $$(dpkg-query -W -f='$${Status} $${Package}\n' $(1) 2>/dev/null \
    | awk '$$3 == "installed" { print $$4 }' | tr '\n' ' ')"; \
missing=; for p in $(1); do case "$$have" in *" $$p "*) ;; *) missing="$$missing $$p" ;; esac; done; \
[ -n "$$missing" ] || exit 0; \
echo "deps: missing Debian packages:$$missing"; \
if [ "$$(id -u)" = 0 ]; then sudo=; \
elif command -v sudo >/dev/null; then sudo=sudo; \
else echo "deps: neither root nor sudo; as root: apt-get install$$missing" >&2; exit 1; fi; \
for s in $(SERVICES); do case "$$missing" in *" $$s"*) if [ -d /run/systemd/system ]; then \
    echo "deps: masking $$s.service, so that installing it starts no server"; \
    $$sudo systemctl mask "$$s.service"; fi ;; esac; done; \
set -e; \
$$sudo apt-get -q update; \
$$sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get -q -y --no-install-recommends install $$missing
endef

# ---- flags ------------------------------------------------------------------------------------------

# Linux only, and the whole of it: preadv2, pthread_setname_np, accept4, ...
CPPFLAGS_ALL := -D_GNU_SOURCE -Isrc -Iinclude -isystem build/proto
WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla
# cmocka's macros cast freely and its test functions all take a state.
TEST_RELAX := -Itests -Iredis-tests -Wno-conversion -Wno-cast-qual -Wno-missing-prototypes \
    -Wno-unused-parameter
BASE_CFLAGS := -std=gnu11 $(CPPFLAGS_ALL) $(WARNINGS)

CC_release := $(CC)
CC_quick := $(CC)
CC_asan := $(CC)
CC_tsan := $(CC)
CC_fuzz := $(CLANG)
CC_pic := $(CC)
CC_cov := $(CC)
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_tsan := -fsanitize=thread
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# What is run and tested here: made in a third of the time of what is released. Server, tool and both libraries are linked
# from the same objects.
CFLAGS_quick := -O2 -g -Werror -fPIC -fvisibility=hidden
# What is installed, packed and measured. Link-time optimisation: the way of a command goes through many small files (10 % of pipelined KV.GET).
# One partition, so that no second make runs inside. The objects have what the linker optimises and no code: archives of
# them need gcc-ar.
CFLAGS_release := -O2 -g -Werror -flto=1 -flto-partition=one
AR := gcc-ar
# Both libraries of a release are linked from one object of this flavour. The linker optimises across files there too,
# and what comes out is an ordinary object (nolto-rel), which any linker and compiler can use.
CFLAGS_pic := -O2 -g -Werror -fPIC -fvisibility=hidden -flto=1 -flto-partition=one
# Where each variable is after every instruction takes gcc a fifth of the time, and is told of -O1 poorly.
CFLAGS_asan := -O1 -g -fno-var-tracking -fno-omit-frame-pointer -Werror $(SANITIZE_asan)
CFLAGS_tsan := -O1 -g -fno-var-tracking -fno-omit-frame-pointer -Werror $(SANITIZE_tsan)
CFLAGS_cov := -O0 -g -Werror --coverage
# `make fuzz` optimises: what a test runs for seconds only is made in a third of the time.
FUZZ_OPTIMIZE ?= -O0
CFLAGS_fuzz := $(FUZZ_OPTIMIZE) -g1 -fno-omit-frame-pointer $(SANITIZE_fuzz)

LIBS := -lev -lnghttp2 -lprotobuf-c -lz -lssl -lcrypto -lsqlite3 -lpq -lxxhash -lutf8proc -llua5.1-cjson -llua5.1-bitop -llua5.1 -lsystemd -lpthread -lm
TOOL_LIBS := -lhiredis -lcurl -lmsgpackc -lprotobuf-c -lsqlite3 -lxxhash -lssl -lcrypto -lutf8proc -lpthread -lm
EMBEDDED_LIBS := -lcrypto -lsqlite3 -lxxhash -lutf8proc -llua5.1-cjson -llua5.1-bitop -llua5.1 -lpthread -lm
TEST_LIBS := -lcmocka -lhiredis -lcurl -lmsgpackc -ljansson
LINK_FLAGS := -Wl,--as-needed $(LDFLAGS)

# ---- what there is ----------------------------------------------------------------------------------

MAIN := src/server/main.c
TOOL_MAIN := src/tool/main.c
TOOL_SRCS := $(filter-out $(TOOL_MAIN),$(wildcard src/tool/*.c))
# The page's files, as a C file that is made of them.
WEB_FILES := $(wildcard web/*)
WEB_SRC := build/web/page_files.c
# The messages of KV Connect, as C.
PROTO := src/foreign/datapath.proto
PROTO_SRC := build/proto/datapath.pb-c.c
LIB_SRCS := $(filter-out $(MAIN) src/tool/%,$(wildcard src/*/*.c src/*/*/*.c)) $(WEB_SRC) $(PROTO_SRC)
# What is in libtupled: all but the network and the server; and the keys of include/tupled.h, which stand
# alone, so that a program that needs only these links nothing else.
KEY_SRCS := src/codec/tupled.c
EMBEDDED_SRCS := $(filter-out src/backend/postgres/% src/net/% src/node/% src/session/% src/http/% src/server/% $(KEY_SRCS) $(WEB_SRC) $(PROTO_SRC),$(LIB_SRCS))
EXAMPLES := $(wildcard examples/embedded/*.c)
TEST_TREE := $(wildcard tests/*.c tests/*/*.c tests/*/*/*.c tests/*/*/*/*.c redis-tests/*.c)

UNIT := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)
SIM := $(wildcard tests/sim/sim_*.c)
FUZZ := $(wildcard tests/fuzz/fuzz_*.c)
REDIS := $(wildcard redis-tests/test_*.c)
BENCH := $(wildcard tests/bench/bench_*.c tests/demo/demo_*.c)
# Whatever else lies there in C is help for those programs: a fake disk, a server starter, a model. That of
# benchmarks and demo stands apart, as they are built where the tests' libraries need not be.
BENCH_HELP := $(filter-out $(BENCH),$(wildcard tests/bench/*.c tests/demo/*.c))
LATE_MAIN := tests/late/late_main.c
CONVERT := tests/foreign/convert.c tests/foreign/deno_file.c
STORE_SQL := tests/store_sql.c
CAMPAIGN := $(wildcard tests/campaign/campaign_*.c)
HELP := $(filter-out $(UNIT) $(SIM) $(FUZZ) $(REDIS) $(BENCH) $(BENCH_HELP) $(LATE_MAIN) $(CONVERT) $(STORE_SQL) $(CAMPAIGN),$(TEST_TREE))
TSAN := $(if $(UNIT)$(SIM),$(shell awk 'FNR <= 5 && /tsan: yes/ { print FILENAME }' $(UNIT) $(SIM)))

ASAN_PROGRAMS := $(patsubst %.c,build/asan/%,$(UNIT) $(SIM) $(REDIS) $(CONVERT) $(STORE_SQL) $(CAMPAIGN))
COV_PROGRAMS := $(patsubst %.c,build/cov/%,$(UNIT) $(SIM) $(REDIS) $(CONVERT) $(STORE_SQL))
TSAN_PROGRAMS := $(patsubst %.c,build/tsan/%,$(TSAN))
FUZZ_PROGRAMS := $(patsubst %.c,build/fuzz/%,$(FUZZ))
BENCH_PROGRAMS := $(patsubst %.c,build/release/%,$(BENCH))
QUICK_BENCH := $(patsubst %.c,build/quick/%,$(BENCH))
EXAMPLE_PROGRAMS := $(patsubst %.c,build/%,$(EXAMPLES))
# What build/tupled, build/tupledctl and the libraries are: quick or release.
KIND ?= quick
LIBRARY_FLAVOUR := $(if $(filter release,$(KIND)),pic,quick)
LIBRARIES := build/libtupled.a build/libtupled.so.0 build/libtupled.pc
MANUAL := docs/man/tupled.1 docs/man/tupledctl.1 build/tupled.conf.5 docs/man/tupled_db.3
DOCS := $(wildcard docs/*.md)
MONITORING := $(wildcard conf/grafana/*.json conf/prometheus/*.yml)
HAS_MAIN := $(wildcard $(MAIN))

# ---- for people -------------------------------------------------------------------------------------

.PHONY: all release programs deps test-deps bench-deps demo-deps run test check format bench demo fuzz crash export sim late turns
.PHONY: deb deb-deps package-test uninstall turn-table bench-types figures site site-deps
.PHONY: diff-types analyze coverage release-notes clients model mutants cluster test-cluster abandon docs install examples clean help test-build bench-build fuzz-build check-build FORCE

all release: ## build/tupled, build/tupledctl and libtupled, static and shared, as they are installed (default)
	@$(PMAKE) KIND=release programs

deps: ## install the Debian packages that building and running needs, if any is missing
	$(call need,$(RUN_PACKAGES))

test-deps: ## likewise for `make test` and `make check`
	$(call need,$(TEST_PACKAGES))

bench-deps: ## likewise for `make bench` (installs redis-server, does not start it)
	$(call need,$(BENCH_PACKAGES))

deb-deps: ## likewise for `make deb`
	$(call need,$(DEB_PACKAGES))

site-deps: ## likewise for `make site`
	$(call need,$(SITE_PACKAGES))

demo-deps: ## likewise for `make demo`
	$(call need,$(DEMO_PACKAGES))

run: deps ## packages, builds the server, starts it; PORT=, HTTP_PORT=, DIR= where others are wanted
	@MAKE="$(MAKE)" JOBS="$(JOBS)" exec tools/run.sh

test: test-deps ## packages, build, every test; last line: N passed, N failed, N skipped
	@$(PMAKE) test-build
	@tests/run.sh

format: ## lay out all C files as .clang-format says
	@find $(wildcard src include tests redis-tests) -name "*.[ch]" -print0 | xargs -0 -r clang-format -i

docs: test-deps ## write docs/commands.md and the lists of error codes from their tables
	@$(PMAKE) build/asan/tests/unit/command/test_manual
	@build/asan/tests/unit/command/test_manual --write

site: site-deps ## the documents as a site with a search, in build/site; each link of it is followed
	@tools/site.py build/site

check: test-deps ## warnings of gcc and clang, format, clang-tidy, cppcheck, the house's rules
	@MAKE="$(MAKE)" JOBS="$(JOBS)" tools/check.sh

analyze: test-deps ## clang-tidy again, which follows each function through all states that it does by default
	@MAKE="$(MAKE)" JOBS="$(JOBS)" tools/check.sh analyze

compile_commands.json: $(PROTO_SRC) FORCE ## how each file is compiled, for clangd and other editors' tools
	@$(MAKE) -nB check-build 2>/dev/null | tools/compile_commands.sh >$@.new && mv -f $@.new $@

bench: bench-deps ## speed, side by side with a Redis it starts (tests/bench/run.sh)
	@$(PMAKE) bench-build
	@if [ -x tests/bench/run.sh ]; then exec tests/bench/run.sh; else echo "bench: nothing there yet"; fi

bench-types: bench-deps ## Redis's data types beside Redis (tests/bench/types.sh)
	@$(PMAKE) bench-build
	@exec tests/bench/types.sh

figures: bench-deps ## docs/benchmarks-latest.md, and README's figures of it; half an hour on a quiet machine
	@$(PMAKE) bench-build
	@exec tests/bench/figures.sh

turn-table: bench-deps ## writes docs/turns.md: each command at its limits, with its longest turn of the loop; 5 minutes
	@$(PMAKE) KIND=release build/tupled build/release/tests/bench/bench_turns
	@tests/bench/turns.sh >build/turns.md && mv build/turns.md docs/turns.md

demo: demo-deps ## loads this machine's Debian package catalogue into a server and asks about it
	@$(PMAKE) bench-build
	@exec tests/demo.sh

fuzz: test-deps ## long fuzzing, FUZZ_SECONDS (600) for each target
	@$(PMAKE) FUZZ_OPTIMIZE=-O1 fuzz-build
	@TUPLED_LONG=1 TEST_TIMEOUT=$$((FUZZ_SECONDS + 300)) tests/run.sh fuzz

crash: test-deps ## long crash campaign: redis-tests/test_crash* for CRASH_SECONDS (600)
	@$(PMAKE) test-build
	@TUPLED_LONG=1 TEST_TIMEOUT=$$((CRASH_SECONDS + 300)) tests/run.sh crash

export: test-deps ## a million entries (ENTRIES) through tupledctl export and import, with kills (tests/export.sh)
	@$(PMAKE) programs
	@exec tests/export.sh

sim: test-deps ## long simulation: tests/sim for SIM_SECONDS (600)
	@$(PMAKE) test-build
	@TUPLED_LONG=1 TEST_TIMEOUT=$$((SIM_SECONDS + 300)) tests/run.sh sim

turns: test-deps ## redis-tests with the bounds of a turn of the loop, on a machine that has nothing else to do
	@$(PMAKE) test-build
	@TUPLED_STRICT_TURNS=1 tests/run.sh redis

diff-types: test-deps ## hashes, lists, sets, sorted sets beside a Redis: DIFF_REPLIES (1000000) to random commands of each of DIFF_FAMILIES
	@$(PMAKE) build/tupled build/asan/redis-tests/test_types_redis
	@DIFF_RELEASE=1 DIFF_REPLIES=$${DIFF_REPLIES:-1000000} build/asan/redis-tests/test_types_redis

late: test-deps ## redis-tests against a server whose journal and store are late (tests/late)
	@$(PMAKE) test-build
	@TUPLED_LATE=1 tests/run.sh redis

clients: test-deps ## client libraries that must be compiled (Go, Rust, Java): TLS, Sentinel, their caches, job queues (also Ruby); fetches them
	@$(PMAKE) build/tupled build/asan/tupled
	@TEST_TIMEOUT=1800 tests/run.sh clients

MODEL_PACKAGES := gcc libc6-dev spin

model: ## checks a model of who leads (tests/model/term.pml) in every order of events, and that it finds planted faults
	$(call need,$(MODEL_PACKAGES))
	@tests/run.sh model

COVERAGE_PACKAGES := $(TEST_PACKAGES) gcovr

coverage: ## which lines of src the tests reach, by folder (build/coverage.csv: by file); GROUPS="unit sim redis"; an hour
	$(call need,$(COVERAGE_PACKAGES))
	@$(PMAKE) programs $(COV_PROGRAMS) build/cov/tupled build/cov/tupledctl
	@exec tools/coverage.sh $(GROUPS)

release-notes: ## what the next version brings, of CHANGELOG.md, into build/release-notes.md, and how to tag it
	@mkdir -p build
	@tools/release_notes.sh >build/release-notes.md && cat build/release-notes.md

abandon: test-deps ## drops databases at 10,000 random moments
	@$(PMAKE) test-build
	@TUPLED_LONG=1 TEST_TIMEOUT=3600 tests/run.sh unit -- db/test_abandon

mutants: test-deps ## plants bugs (tests/mutants), or RANDOM=200 random ones, and sees whether the tests catch them; hours
	@$(PMAKE) test-build
	@exec tests/mutants.sh $(if $(RANDOM),--random $(RANDOM))

CLUSTER_PACKAGES := $(RUN_PACKAGES) postgresql redis-tools procps

cluster: ## three PostgreSQL and three nodes on this machine, to play with (docs/cluster.md)
	$(call need,$(CLUSTER_PACKAGES))
	@$(PMAKE) programs
	@exec tools/cluster.sh

test-cluster: test-deps ## a cluster under each kind of failure for CAMPAIGN_SECONDS (600), as a table
	@$(PMAKE) test-build
	@exec tests/campaign/all.sh

examples: $(EXAMPLE_PROGRAMS) ## the programs of examples/embedded, with libtupled

# What is installed, but for tupled.conf: name, mode and where. PREFIX and the others are put into those
# texts that name them with @.
define install_list
build/tupled 755 $(PREFIX)/bin/tupled
build/tupledctl 755 $(PREFIX)/bin/tupledctl
build/libtupled.a 644 $(LIBDIR)/libtupled.a
build/libtupled.so.0 644 $(LIBDIR)/libtupled.so.0
include/tupled.h 644 $(PREFIX)/include/tupled.h
include/tupled_db.h 644 $(PREFIX)/include/tupled_db.h
conf/tupled.logrotate 644 $(SYSCONFDIR)/logrotate.d/tupled
conf/tupled.bash 644 $(PREFIX)/share/bash-completion/completions/tupled
conf/tupledctl.bash 644 $(PREFIX)/share/bash-completion/completions/tupledctl
README.md 644 $(PREFIX)/share/doc/tupled/README.md
$(foreach d,$(DOCS) $(MONITORING),$(d) 644 $(PREFIX)/share/doc/tupled/$(d)
)
endef
define install_texts
build/libtupled.pc 644 $(LIBDIR)/pkgconfig/libtupled.pc
conf/tupled.service 644 $(UNITDIR)/tupled.service
$(foreach m,$(MANUAL),$(m) 644 $(PREFIX)/share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m))
)
endef
# Programs find the shared library by a list that ldconfig makes of the directories that the system knows.
define know_library
[ -z "$(DESTDIR)" ] || exit 0; PATH="$$PATH:/usr/sbin:/sbin"; \
if ! ldconfig -v -N -X 2>/dev/null | grep -q "^$(LIBDIR):"; then \
    echo "install: the system does not look for libraries in $(LIBDIR): programs need it in LD_LIBRARY_PATH, or its"; \
    echo "install: name in a file of /etc/ld.so.conf.d, and then ldconfig has to be run"; \
elif [ "$$(id -u)" != 0 ]; then echo "install: as root, ldconfig has to be run, so that programs find libtupled.so.0"; \
else ldconfig; fi
endef
export INSTALL_LIST = $(install_list)
export INSTALL_TEXTS = $(install_texts)
CONF_HERE = $(DESTDIR)$(SYSCONFDIR)/tupled/tupled.conf
FILL = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' \
    -e 's|@STATEDIR@|$(STATEDIR)|g' -e "s|@VERSION@|$(VERSION)|g"

install: all build/tupled.conf.5 ## PREFIX, LIBDIR, SYSCONFDIR, UNITDIR, STATEDIR, DESTDIR: docs/operation.md
	@set -e; echo "$$INSTALL_LIST" | while read -r from mode to; do \
	    [ -z "$$from" ] || install -D -m "$$mode" "$$from" "$(DESTDIR)$$to"; done
	@set -e; echo "$$INSTALL_TEXTS" | while read -r from mode to; do [ -n "$$from" ] || continue; \
	    $(FILL) "$$from" >build/filled; install -D -m "$$mode" build/filled "$(DESTDIR)$$to"; done
	ln -sf libtupled.so.0 $(DESTDIR)$(LIBDIR)/libtupled.so
	@$(call know_library)
	@if [ -e "$(CONF_HERE)" ]; then echo "$(CONF_HERE) is kept"; else \
	    sed -e 's|^#dir .*|dir $(STATEDIR)|' -e 's|^#data-group-access no|data-group-access yes|' \
	        conf/tupled.conf >build/filled; install -D -m 644 build/filled "$(CONF_HERE)"; fi

uninstall: ## remove what `make install` installed, with the same variables; tupled.conf and data are kept
	@(echo "$$INSTALL_LIST"; echo "$$INSTALL_TEXTS") | while read -r from mode to; do \
	    [ -z "$$from" ] || rm -f "$(DESTDIR)$$to"; done
	rm -f $(DESTDIR)$(LIBDIR)/libtupled.so
	@cd $(DESTDIR)$(PREFIX)/share/doc/tupled 2>/dev/null && rmdir docs conf/grafana conf/prometheus conf 2>/dev/null; \
	    rmdir $(DESTDIR)$(PREFIX)/share/doc/tupled 2>/dev/null || true
	@echo "kept: $(CONF_HERE), $(STATEDIR)"

deb: deb-deps ## Debian packages of the server and of libtupled, in build/deb
	@$(PMAKE) release build/tupled.conf.5
	@tools/deb.sh

package-test: deb-deps ## installs, upgrades, removes the packages in a Debian 12 of its own (debootstrap; as root)
	@$(PMAKE) release build/tupled.conf.5
	@exec tests/package.sh

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

# ---- built for the targets above --------------------------------------------------------------------

programs: $(if $(HAS_MAIN),build/tupled build/tupledctl) $(LIBRARIES)
fuzz-build: $(FUZZ_PROGRAMS)
bench-build: all $(BENCH_PROGRAMS)
test-build: $(if $(HAS_MAIN),build/release/tupled build/release/tupledctl) programs examples fuzz-build $(ASAN_PROGRAMS) $(TSAN_PROGRAMS) $(if $(HAS_MAIN),build/asan/tupled build/asan/tupled-late build/asan/tupledctl build/tsan/tupled)
# Everything gcc compiles, for `make check`.
check-build: $(if $(HAS_MAIN),build/release/tupled build/release/tupledctl) programs examples $(ASAN_PROGRAMS) $(TSAN_PROGRAMS) $(QUICK_BENCH)

# ---- how ----------------------------------------------------------------------------------------------

# $(call stamp,file,text): a file that changes only when the text does, for flags and lists of objects.
define stamp
@mkdir -p $(dir $(1)); printf '%s\n' '$(2)' | cmp -s - $(1) || printf '%s\n' '$(2)' >$(1)
endef

# $(call flavour,name): objects, libserver.a, libhelp.a, the server and the test programs of a flavour.
define flavour
OBJS_$(1) := $$(patsubst %.c,build/$(1)/obj/%.o,$$(LIB_SRCS))
CTL_$(1) := $$(patsubst %.c,build/$(1)/obj/%.o,$$(TOOL_SRCS))
HELP_$(1) := $$(patsubst %.c,build/$(1)/obj/%.o,$$(HELP))
COMPILE_$(1) := $$(CC_$(1)) $$(BASE_CFLAGS) $$(CFLAGS_$(1)) $$(EXTRA_CFLAGS)

build/$(1)/flags: FORCE
	$$(call stamp,$$@,$$(COMPILE_$(1)) $$(TEST_RELAX) $$(LINK_FLAGS) $$(LIBS) $$(TEST_LIBS))
build/$(1)/objects: FORCE
	$$(call stamp,$$@,$$(OBJS_$(1)) $$(HELP_$(1)))

$(patsubst %.c,build/$(1)/obj/%.o,$(wildcard src/http/connect*.c src/tool/from_connect.c src/tool/kv_connect.c)): | $(PROTO_SRC)
build/$(1)/obj/src/%.o: src/%.c build/$(1)/flags
	@mkdir -p $$(@D)
	@echo "  cc   $(1) $$<"
	@$$(COMPILE_$(1)) -MMD -MP -c -o $$@ $$<
build/$(1)/obj/%.o: %.c build/$(1)/flags
	@mkdir -p $$(@D)
	@echo "  cc   $(1) $$<"
	@$$(COMPILE_$(1)) $$(TEST_RELAX) -MMD -MP -c -o $$@ $$<

build/$(1)/libserver.a: $$(OBJS_$(1)) build/$(1)/objects
	@rm -f $$@; $$(AR) rcs $$@ $$(OBJS_$(1))
build/$(1)/libctl.a: $$(CTL_$(1)) build/$(1)/objects
	@rm -f $$@; $$(AR) rcs $$@ $$(CTL_$(1))
build/$(1)/libhelp.a: $$(HELP_$(1)) build/$(1)/objects
	@rm -f $$@; $$(AR) rcs $$@ $$(HELP_$(1))

build/$(1)/tupled: build/$(1)/obj/$$(MAIN:.c=.o) build/$(1)/libserver.a
	@echo "  link $$@"
	@$$(COMPILE_$(1)) -o $$@ $$^ $$(LINK_FLAGS) $$(LIBS)

build/$(1)/tupledctl: build/$(1)/obj/$$(TOOL_MAIN:.c=.o) build/$(1)/libctl.a build/$(1)/libserver.a
	@echo "  link $$@"
	@$$(COMPILE_$(1)) -o $$@ $$^ $$(LINK_FLAGS) $$(TOOL_LIBS)

build/$(1)/tupled-late: build/$(1)/obj/$$(LATE_MAIN:.c=.o) build/$(1)/libhelp.a build/$(1)/libserver.a
	@echo "  link $$@"
	@$$(COMPILE_$(1)) -o $$@ $$^ $$(LINK_FLAGS) $$(TEST_LIBS) $$(LIBS)

build/$(1)/tests/%: build/$(1)/obj/tests/%.o build/$(1)/obj/tests/host.o build/$(1)/libhelp.a build/$(1)/libctl.a build/$(1)/libserver.a
	@mkdir -p $$(@D)
	@echo "  link $$@"
	@$$(COMPILE_$(1)) $$(FUZZ_MAIN_$(1)) -o $$@ $$^ $$(LINK_FLAGS) $$(TEST_LIBS) $$(LIBS)
build/$(1)/redis-tests/%: build/$(1)/obj/redis-tests/%.o build/$(1)/libhelp.a build/$(1)/libserver.a
	@mkdir -p $$(@D)
	@echo "  link $$@"
	@$$(COMPILE_$(1)) -o $$@ $$^ $$(LINK_FLAGS) $$(TEST_LIBS) $$(LIBS)
endef

# Benchmarks and demo: their packages are RUN_PACKAGES and hiredis. In a small program the linker puts the
# copying of 33 bytes and more (bytes_copy) where it sees that less is copied, and warns of that branch.
define bench_programs
$$(patsubst %.c,build/$(2)/%,$$(filter $(1)/%,$$(BENCH))): build/$(2)/%: build/$(2)/obj/%.o \
    $$(patsubst %.c,build/$(2)/obj/%.o,$$(filter $(1)/%,$$(BENCH_HELP))) build/$(2)/libserver.a
	@mkdir -p $$(@D)
	@echo "  link $$@"
	@$$(COMPILE_$(2)) -Wno-stringop-overread -o $$@ $$^ $$(LINK_FLAGS) -lhiredis $$(LIBS)
endef
$(foreach d,tests/bench tests/demo,$(foreach f,quick release,$(eval $(call bench_programs,$(d),$(f)))))

FUZZ_MAIN_fuzz := -fsanitize=fuzzer
$(foreach f,quick release asan tsan fuzz pic cov,$(eval $(call flavour,$(f))))

build/web/list: FORCE
	$(call stamp,$@,$(WEB_FILES))
$(WEB_SRC): tools/page_files.sh $(WEB_FILES) build/web/list
	@tools/page_files.sh web >$@.new && mv -f $@.new $@

$(PROTO_SRC): $(PROTO)
	@mkdir -p $(@D)
	@protoc-c --c_out=$(@D) --proto_path=$(<D) $<

build/kind: FORCE
	$(call stamp,$@,$(KIND))
build/tupled build/tupledctl: build/%: build/$(KIND)/% build/kind
	@cp -f $< $@.new && mv -f $@.new $@

# For other programs: the engine (include/tupled_db.h) and keys (include/tupled.h), an object each, in which
# only what those headers declare is global; all else is hidden, and made local.
define library_objects
build/$(1)/libtupled.o: $$(patsubst %.c,build/$(1)/obj/%.o,$$(EMBEDDED_SRCS)) build/$(1)/objects
build/$(1)/libkeys.o: $$(patsubst %.c,build/$(1)/obj/%.o,$$(KEY_SRCS)) build/$(1)/objects
build/$(1)/libtupled.o build/$(1)/libkeys.o:
	@echo "  link $$@"
	@$$(COMPILE_$(1)) -r $(2) -o $$@.all $$(filter %.o,$$^)
	@objcopy --localize-hidden $$@.all $$@ && rm -f $$@.all
endef
$(eval $(call library_objects,pic,-flinker-output=nolto-rel))
$(eval $(call library_objects,quick))
LIBRARY_OBJECTS := build/$(LIBRARY_FLAVOUR)/libtupled.o build/$(LIBRARY_FLAVOUR)/libkeys.o

build/libtupled.a: $(LIBRARY_OBJECTS) build/kind
	@echo "  ar   $@"
	@rm -f $@; ar rcs $@ $(LIBRARY_OBJECTS)

build/libtupled.so.0: $(LIBRARY_OBJECTS) src/embedded/libtupled.map build/kind
	@echo "  link $@"
	@$(CC) -shared -Wl,-soname,libtupled.so.0 -Wl,--version-script=src/embedded/libtupled.map \
	    -Wl,--no-undefined -o $@ $(filter %.o,$^) $(LINK_FLAGS) $(EMBEDDED_LIBS)
	@ln -sf libtupled.so.0 build/libtupled.so

build/libtupled.pc: src/embedded/libtupled.pc.in include/tupled.h
	@mkdir -p $(@D)
	@sed "s|@VERSION@|$(VERSION)|" $< >$@

build/tupled.conf.5: tools/conf_man.sh docs/man/tupled.conf.5.in conf/tupled.conf
	@mkdir -p $(@D)
	@tools/conf_man.sh . >$@

build/examples/%: examples/%.c build/libtupled.a include/tupled_db.h
	@mkdir -p $(@D)
	@echo "  link $@"
	@$(CC) -std=c11 -Wall -Wextra -Werror -O2 -Iinclude -o $@ $< build/libtupled.a $(LINK_FLAGS) $(EMBEDDED_LIBS) -lmsgpackc

# Objects stay: only the final programs are named as goals.
.SECONDARY:
# In packages of npm, .d is something else.
-include $(shell [ ! -d build ] || find build -name node_modules -prune -o -name '*.d' -type f -print)
