#!/bin/bash
# Tests of the build: `make bench` and `make demo` install less than `make test`, so what they build may
# need nothing of the tests; and what `make test-deps` installs starts no service.

set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL
failures=0

sources=(tests/bench/bench_*.c tests/demo/demo_*.c)
programs=("${sources[@]%.c}")
# What would be run to make all of them anew.
commands=$(make -nB "${programs[@]/#/build/release/}" 2>/dev/null)
for source in "${sources[@]}"; do
    linked=$(grep -E -- " -o build/release/${source%.c} " <<<"$commands")
    others=$(grep -oE 'build/release/obj/(tests|redis-tests)/[^ ]*' <<<"$linked" | grep -v "obj/$(dirname "$source")/")
    if [ -n "$linked" ] && [ -z "$others" ] && ! grep -qE -- '-l(cmocka|msgpackc|jansson)|libhelp' <<<"$linked"; then
        echo "ok - $source needs nothing of the tests"
    else
        failures=$((failures + 1))
        echo "not ok - $source needs nothing of the tests"
        printf '  %s\n' "linked: ${linked:-not}" "others: ${others:-nothing}"
    fi
done

# What installing all of them would do where systemd runs, with programs that only say what they are asked.
# shellcheck disable=SC2317 # they are called by what is evaluated
said=$(
    dpkg-query() { :; }
    id() { echo 0; }
    systemctl() { echo "systemctl $*"; }
    env() { echo "env $*"; }
    apt-get() { echo "apt-get $*"; }
    eval "$(make -n test-deps | sed 's|\[ -d /run/systemd/system \]|true|g')" 2>&1
)
for unit in redis-server nginx haproxy pgbouncer; do
    if grep -q "^systemctl mask $unit.service\$" <(sed '/apt-get/,$d' <<<"$said") && grep -q "apt-get .*install .* $unit" <<<"$said"; then
        echo "ok - $unit is masked before it is installed"
    else
        failures=$((failures + 1))
        echo "not ok - $unit is masked before it is installed"
        printf '  %s\n' "$said"
    fi
done
exit "$failures"
