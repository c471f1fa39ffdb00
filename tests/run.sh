#!/bin/bash
# Runs the tests, some programs at a time, and ends with the line
#     N passed, N failed, N skipped
# Usage: tests/run.sh [unit|model|sim|fuzz|redis|tools|crash|late|postgres|clients]... [-- substring of a path]
#   without words: unit model sim fuzz tools redis late postgres. `make test` builds what it runs.
#
#   unit   tests/unit/*/test_*.c   cmocka programs, built with ASan + UBSan; those with "tsan: yes" in
#   model  tests/model/run.sh      a model of who leads, checked by spin
#   sim    tests/sim/sim_*.c       their first five lines run a second time, built with TSan
#   fuzz   tests/fuzz/fuzz_*.c     libFuzzer over tests/fuzz/corpus/<name>; one test each
#   tools  tools/*_test.sh         tests of the house's own tools
#   redis  redis-tests/test_*      scripts and cmocka programs that start servers themselves
#   crash  redis-tests/test_crash* only those (they are in redis too)
#   late   a few of redis-tests against build/asan/tupled-late, whose journal and store are late
#   postgres  redis-tests with backend postgresql: a few, with TUPLED_LONG=1 all but tests/postgres/local_only.txt
#   clients  redis-tests/clients_*.sh  with libraries that must be compiled
#
# A cmocka program speaks TAP; a script prints `ok - name`, `not ok - name`, `skip - name: why`. A
# program also fails, as one more test, when it crashes, times out, ends with an error that no test
# accounts for, reports fewer tests than it announced, or reports none.
#
# Environment: TEST_TIMEOUT (s, per program, 600), FUZZ_SHORT_SECONDS (5), FUZZ_SECONDS (with
# TUPLED_LONG=1), TUPLED_LATE (all servers are tupled-late). Tests are told TUPLED_BIN, TUPLED_ASAN_BIN, and TUPLED_LONG=1 in a long campaign.

set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
shopt -s nullglob
export LC_ALL=C

timeout_s=${TEST_TIMEOUT:-600}
fuzz_s=${FUZZ_SHORT_SECONDS:-5}
[ -z "${TUPLED_LONG:-}" ] || fuzz_s=${FUZZ_SECONDS:-600}
export TUPLED_BIN=$root/build/tupled
# Which build of the programs and the server is run: asan, or cov (`make coverage`).
flavour=${TUPLED_FLAVOUR:-asan}
export TUPLED_ASAN_BIN=$root/build/$flavour/tupled${TUPLED_LATE:+-late}
export CMOCKA_MESSAGE_OUTPUT=TAP
# Exit codes of their own, and our handlers before cmocka's: a crash shows its stack.
# What was freed is kept in quarantine until there is too much of it; then a tenth goes at once, which makes a turn
# of the loop long when that is much.
export ASAN_OPTIONS=exitcode=99:quarantine_size_mb=64:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=exitcode=98:second_deadlock_stack=1

scratch=$(mktemp -d) || exit 1
. tests/ports.sh
trap 'rm -rf "$scratch"; ports_release' EXIT
ports_reserve "$scratch"
out=$scratch/out
passed=0 failed=0 skipped=0

# TSan of gcc 12 cannot map its shadow when the kernel randomises much; then run it without.
plain=()
if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then plain=(setarch -R); fi

# report <title> <passed> <failed> <skipped> <seconds> [what else went wrong]
report() {
    local skip_text=''
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    [ "$4" -eq 0 ] || skip_text=", $4 skipped"
    if [ "$3" -eq 0 ]; then
        echo "ok    $1 ($2 passed$skip_text, $5 s)"
        [ "$4" -eq 0 ] || grep -E '^skip|# SKIP' "$out" | sed 's/^/      /'
        return
    fi
    echo "FAIL  $1 ($2 passed, $3 failed$skip_text, $5 s)${6:+: $6}"
    # First what failed: the whole, with what was good before it, may be long.
    grep '^not ok' "$out" | sed 's/^/      /'
    echo "      --- all of its output:"
    sed 's/^/      /' "$out"
}

# What an exit status means when no `not ok` line explains it.
status_text() {
    case $1 in
    98 | 99) echo "a sanitizer complained" ;;
    124) echo "not done after $timeout_s s" ;;
    126 | 127) echo "could not be started" ;;
    *) if [ "$1" -ge 128 ]; then echo "killed by signal $(($1 - 128))"; else echo "ended with $1"; fi ;;
    esac
}

# bounded <seconds> <command>...: run it for so long at most, without input, all output to $out; then end
# what it left running, such as a server (timeout gives the command a process group of its own).
bounded() {
    local group status
    timeout -k 10 "$@" </dev/null >"$out" 2>&1 &
    group=$!
    wait "$group"
    status=$?
    kill -KILL -- "-$group" 2>/dev/null
    return "$status"
}

# After a failed test memory is not freed: that a leak is reported then says nothing.
is_only_leaks() {
    grep -q 'ERROR: LeakSanitizer' "$out" && ! grep -qE 'ERROR: AddressSanitizer|runtime error' "$out"
}

# io_threads <title>: how many I/O threads the servers of a test have that do not say it themselves. A small machine
# makes none, larger ones some: half of the tests by their names have them, and all that run again with TSan.
io_threads() {
    local sum
    read -r sum _ < <(cksum <<<"$1")
    if [[ $1 == *'(tsan)' ]] || ((sum % 2 == 1)); then echo 4; else echo 1; fi
}

# short_sync <title>: how long a sync may be that a server does on its loop. Usually the machine says whether it ever does;
# a third of the tests by their names have one that always does.
short_sync() {
    local sum
    read -r sum _ < <(cksum <<<"$1")
    if ((sum % 3 == 1)); then echo 10000000; else echo 0; fi
}

# long_sync <title>: after a sync that took so long servers have two under way. Usually the machine says whether they ever
# do; a third of the tests have some that always do.
long_sync() {
    local sum
    read -r sum _ < <(cksum <<<"$1")
    if ((sum / 5 % 3 == 1)); then echo 1; else echo 0; fi
}

# buffered <title>: does its journal go through the page cache, as where the file system takes nothing else?
buffered() {
    local sum
    read -r sum _ < <(cksum <<<"$1")
    echo $((sum / 3 % 3 == 1))
}

# run <title> <command>...: run it, count its lines.
run() {
    local title=$1 start=$SECONDS status counts ok bad skip planned why=''
    shift
    TUPLED_TEST_IO_THREADS=$(io_threads "$title")
    TUPLED_TEST_SHORT_SYNC_US=$(short_sync "$title")
    TUPLED_TEST_LONG_SYNC_US=$(long_sync "$title")
    TUPLED_TEST_BUFFERED=$(buffered "$title")
    export TUPLED_TEST_IO_THREADS TUPLED_TEST_SHORT_SYNC_US TUPLED_TEST_LONG_SYNC_US TUPLED_TEST_BUFFERED
    bounded "$timeout_s" "$@"
    status=$?
    counts=$(awk '
        /^not ok/ { if (/# SKIP/) skip++; else bad++; next }
        /^ok/     { if (/# SKIP/) skip++; else ok++; next }
        /^skip -/ { skip++; next }
        /^[ \t]*1\.\.[0-9]+$/ { sub(/^[ \t]*1\.\./, ""); planned += $0 }
        END { print ok + 0, bad + 0, skip + 0, planned + 0 }' "$out")
    read -r ok bad skip planned <<<"$counts"
    # A program with failed tests ends with their number: only what a signal or a sanitizer says is more.
    if [ "$bad" -gt 0 ] && [ "$status" -eq 99 ] && is_only_leaks; then
        status=1
    fi
    if [ "$status" -ne 0 ] && { [ "$bad" -eq 0 ] || [ "$status" -ge 98 ]; }; then
        why=$(status_text "$status")
    elif [ $((ok + bad + skip)) -eq 0 ]; then
        why="no tests reported"
    elif [ $((ok + bad + skip)) -lt "$planned" ]; then
        why="announced $planned tests, reported $((ok + bad + skip))"
    fi
    [ -z "$why" ] || bad=$((bad + 1))
    # cmocka's TAP leaves out what fail_msg says: ask once more for the other form.
    if [[ $title == *.c* && $bad -gt 0 && $status -ne 124 ]]; then
        echo "--- the messages of a second run:" >>"$out"
        CMOCKA_MESSAGE_OUTPUT=STDOUT timeout -k 10 "$timeout_s" "$@" </dev/null 2>&1 |
            grep -aE 'ERROR|LINE|FAILED' >>"$out"
    fi
    report "$title" "$ok" "$bad" "$skip" $((SECONDS - start)) "$why"
}

# True when the path contains the filter (always without one).
wanted() {
    [[ $1 == *"$filter"* ]]
}

# c_program <source>: the cmocka program of it, which may be run again with TSan.
c_program() {
    run "$1" "$root/build/$flavour/${1%.c}"
    [ "$flavour" = asan ] || return
    if head -n 5 "$1" | grep -q 'tsan: yes'; then
        run "$1 (tsan)" "${plain[@]}" "$root/build/tsan/${1%.c}"
    elif head -n 5 "$1" | grep -q 'tsan server: yes'; then
        TUPLED_ASAN_BIN=$root/build/tsan/tupled run "$1 (tsan)" "${plain[@]}" "$root/build/$flavour/${1%.c}"
    fi
}

# Jobs (below): a program or script with what it needs.
script() {
    [ ! -x "$1" ] || run "$1" "$root/$1"
}

late_program() {
    TUPLED_ASAN_BIN=$root/build/asan/tupled-late run "$1 (late)" "$root/build/asan/${1%.c}"
}

late_script() {
    TUPLED_ASAN_BIN=$root/build/asan/tupled-late run "$1 (late)" "$root/$1"
}

on_postgres() {
    TUPLED_BIN=$root/tests/postgres/tupled_release.sh TUPLED_ASAN_BIN=$root/tests/postgres/tupled_asan.sh \
        run "$1 (postgres)" "$root/build/asan/${1%.c}"
}

# fuzz_program <source>: new inputs go to the scratch directory; what breaks it is kept in build/fuzz.
fuzz_program() {
    local src=$1 name start=$SECONDS kept=$root/build/fuzz/findings status extra=() finding
    name=$(basename "$src" .c)
    name=${name#fuzz_}
    mkdir -p "$scratch/new/$name" "$scratch/bad/$name" "$kept"
    [ ! -d "tests/fuzz/corpus/$name" ] || extra+=("tests/fuzz/corpus/$name")
    [ ! -f "tests/fuzz/dict/$name.dict" ] || extra+=("-dict=tests/fuzz/dict/$name.dict")
    bounded $((timeout_s + fuzz_s)) "$root/build/fuzz/${src%.c}" "-max_total_time=$fuzz_s" \
        -timeout=60 -rss_limit_mb=2048 "-artifact_prefix=$scratch/bad/$name/" \
        "$scratch/new/$name" "${extra[@]}"
    status=$?
    if [ "$status" -eq 0 ]; then
        report "$src" 1 0 0 $((SECONDS - start))
        return
    fi
    for finding in "$scratch/bad/$name/"*; do
        cp "$finding" "$kept/$name-$(basename "$finding")"
        echo "finding kept: build/fuzz/findings/$name-$(basename "$finding")" >>"$out"
        head -c 512 "$finding" | od -A d -t x1z >>"$out"
    done
    report "$src" 0 1 0 $((SECONDS - start)) "$(status_text "$status")"
}

# Those of redis-tests that mean the same there. The server is started for all of them; pg_remove ends it.
postgres_jobs() {
    local name src short='commands_kv commands_atomic transactions idem queue index watch crash_queue search search_state backup streams waiting'
    . tests/postgres/server.sh
    if ! pg_can; then
        echo "skip - redis-tests on PostgreSQL: it is not installed (package postgresql)"
        skipped=$((skipped + 1))
        return
    fi
    has_postgres=yes
    if ! pg_start; then
        failed=$((failed + 1))
        return
    fi
    export PG_SOCKET=$pg_dir PG_PSQL=$pg_bin/psql
    for src in redis-tests/test_*.c; do
        name=$(basename "$src" .c) name=${name#test_}
        if [ -z "${TUPLED_LONG:-}" ] && [[ " $short " != *" $name "* ]] && [ -z "$filter" ]; then continue; fi
        grep -q "^$name " tests/postgres/local_only.txt || job on_postgres "$src"
    done
}

# job <function> <source>...: each is to be run, when it is wanted.
job() {
    local what=$1 src
    shift
    for src in "$@"; do
        if wanted "$src"; then echo "$what $src" >>"$scratch/jobs"; fi
    done
}

# next_job: the next one that no worker has begun; false when there is none.
next_job() {
    local line
    {
        flock 9
        read -r line <"$scratch/next"
        echo $((line + 1)) >"$scratch/next"
    } 9>"$scratch/lock"
    read -r what src < <(sed -n "${line}p" "$scratch/jobs")
    [ -n "$what" ]
}

# weighed: the jobs with the seconds that each is expected to take (tests/seconds.txt; 1 when it does not exist).
weighed() {
    awk 'FNR == NR { if (!/^#/) seconds[$2 " " $3] = $1; next }
        { key = $1 " " $2; print (key in seconds ? seconds[key] : 1), $0 }' tests/seconds.txt "$1"
}

# told <function> <source>: it is over. Once a minute, how many are; and in what time all will be, once a fifth is.
told() {
    echo "$*" >>"$scratch/over"
    [ $((SECONDS - $(<"$scratch/told"))) -ge 60 ] || return
    echo "$SECONDS" >"$scratch/told"
    awk -v all="$(weighed "$scratch/jobs" | awk '{ s += $1 } END { print s }')" -v now="$SECONDS" \
        -v jobs="$(wc -l <"$scratch/jobs")" '{ s += $1 } END {
            printf "----  %d of %d are over after %d min", NR, jobs, now / 60
            if (s > all / 5 && NR < jobs) printf "; about %d min to go", (all - s) * now / s / 60 + 1
            print ""
        }' <(weighed "$scratch/over")
}

# worker <number>: runs jobs until there are no more. What is said of one is printed when it is over.
worker() {
    local what src
    trap - EXIT
    out=$scratch/out.$1 passed=0 failed=0 skipped=0
    while next_job; do
        "$what" "$src" >"$out.said" 2>&1
        { flock 9 && cat "$out.said" && told "$what" "$src"; } 9>"$scratch/lock"
    done
    echo "$passed $failed $skipped" >"$scratch/counts.$1"
}

# Twice as many at a time as there are cores: many wait more than they work. What takes long is begun first.
run_jobs() {
    local workers k counts pids=()
    workers=$((2 * $(nproc)))
    [ -f "$scratch/jobs" ] || return
    weighed "$scratch/jobs" | sort -s -k1,1nr | cut -d' ' -f2- >"$scratch/sorted" && mv "$scratch/sorted" "$scratch/jobs"
    echo 1 >"$scratch/next"
    echo "$SECONDS" >"$scratch/told"
    for ((k = 0; k < workers; k++)); do
        worker "$k" &
        pids+=($!)
    done
    wait "${pids[@]}" # and not for PostgreSQL
    for ((k = 0; k < workers; k++)); do
        counts='0 1 0'
        [ ! -f "$scratch/counts.$k" ] || counts=$(<"$scratch/counts.$k")
        read -r ok bad skip <<<"$counts"
        passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    done
}

groups=()
filter=''
while [ $# -gt 0 ]; do
    case $1 in
    unit | model | sim | fuzz | tools | redis | crash | late | postgres | clients) groups+=("$1") ;;
    --) filter=${2:-} && break ;;
    *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
[ ${#groups[@]} -gt 0 ] || groups=(unit model sim fuzz tools redis late postgres)

has_postgres=''
for group in model sim clients redis crash late postgres unit tools fuzz; do
    [[ " ${groups[*]} " == *" $group "* ]] || continue
    case $group in
    model) job script tests/model/run.sh ;;
    sim) job c_program tests/sim/sim_*.c ;;
    redis)
        job script redis-tests/test_*.sh
        job c_program redis-tests/test_*.c
        ;;
    crash)
        job script redis-tests/test_crash*.sh
        job c_program redis-tests/test_crash*.c
        ;;
    clients) job script redis-tests/clients_*.sh ;;
    late)
        for name in rest rest_typed connect; do job late_script "redis-tests/test_$name.sh"; done
        for name in commands_kv commands_atomic commands_range transactions idem queue http_api; do
            job late_program "redis-tests/test_$name.c"
        done
        ;;
    postgres) postgres_jobs ;;
    unit) job c_program tests/unit/*/test_*.c tests/unit/*/*/test_*.c ;;
    tools) job script tools/*_test.sh ;;
    fuzz) job fuzz_program tests/fuzz/fuzz_*.c ;;
    esac
done
run_jobs
[ -z "$has_postgres" ] || pg_remove

# A run that ran nothing has shown nothing.
if [ $((passed + failed + skipped)) -eq 0 ]; then
    echo "FAIL  there was nothing to run"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
