#!/bin/bash
# What must hold before the code is good, beyond its tests; `make check` runs it. Every step runs, also
# after another failed; the last line is the verdict.
#   Usage: tools/check.sh [gcc|clang|format|tidy|cppcheck|rules|circles|web|analyze]...      (without words: all but analyze)

set -u
cd "$(dirname "$0")/.." || exit 1
shopt -s nullglob globstar
export LC_ALL=C
jobs=${JOBS:-$(nproc)}

sources=(src/**/*.c)
headers=(src/**/*.h include/*.h)
tests=(tests/**/*.[ch] redis-tests/*.[ch])
for kind in sources headers tests; do
    declare -n found=$kind
    [ ${#found[@]} -gt 0 ] || { echo "check: FAILED: no $kind are found below $PWD" >&2; exit 1; }
done
# has <program>...: a step without its program is no good step.
has() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "check: $program is not installed"; return 1; }
    done
}
flags=(-std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -isystem build/proto)

# clang knows some warnings that are not wanted here:
#   padded, declaration-after-statement     how C11 is written
#   float-equal                             compared on purpose, where bits count
#   switch-enum, covered-switch-default     contradict one another and -Wswitch
#   disabled-macro-expansion                fires on glibc's own macros
#   gnu-*                                   we say gnu11 and mean it (ranges in initialisers, ...)
#   reserved-identifier, reserved-macro...  _GNU_SOURCE and its like
#   assign-enum                             fires on {0} for a struct that begins with an enum
#   cast-align                              x86-64 and arm64 read unaligned; UBSan watches alignment
#   thread-safety-negative                  wants C++ annotations
#   used-but-marked-unused                  OpenSSL's inline functions are
weverything=(-Weverything -Werror -Wno-padded -Wno-declaration-after-statement -Wno-float-equal
    -Wno-switch-enum -Wno-covered-switch-default -Wno-disabled-macro-expansion
    -Wno-gnu-designator -Wno-gnu-empty-initializer -Wno-gnu-zero-variadic-macro-arguments
    -Wno-gnu-statement-expression -Wno-gnu-conditional-omitted-operand
    -Wno-reserved-identifier -Wno-reserved-macro-identifier -Wno-unused-macros
    -Wno-assign-enum -Wno-cast-align -Wno-thread-safety-negative
    -Wno-used-but-marked-unused)

step_gcc() {
    has gcc || return 1
    "${MAKE:-make}" --no-print-directory -j"$jobs" --output-sync=target check-build
}

# The page's scripts: names, arguments and types, as far as they can be told without annotations.
step_web() {
    local files=(web/*.js)
    [ ${#files[@]} -gt 0 ] || { echo "check: there is nothing in web/"; return 1; }
    if ! command -v tsc >/dev/null; then
        echo "check: tsc (package node-typescript, which brings Node) is not installed"
        return "$skipped"
    fi
    tsc --allowJs --checkJs --noEmit --target es2022 --module es2022 --lib es2022,dom,dom.iterable \
        tools/web_types.d.ts "${files[@]}"
}

# What protoc-c makes, which some files of src/http and src/tool include.
make_messages() {
    "${MAKE:-make}" --no-print-directory -s build/proto/datapath.pb-c.c
}

step_clang() {
    has clang || return 1
    make_messages || return 1
    printf '%s\0' "${sources[@]}" |
        xargs -0 -n 4 -P "$jobs" clang "${flags[@]}" "${weverything[@]}" -fsyntax-only
}

step_format() {
    has clang-format || return 1
    printf '%s\0' "${sources[@]}" "${headers[@]}" "${tests[@]}" |
        xargs -0 -n 8 -P "$jobs" clang-format --dry-run -Werror
}

# One file for each call: clang-tidy mixes up the output of several. What it says on success is noise.
tidy() { # flags more
    has clang-tidy || return 1
    make_messages || return 1
    printf '%s\0' "${sources[@]}" | FLAGS="${flags[*]} $*" xargs -0 -n 1 -P "$jobs" bash -c '
        # shellcheck disable=SC2086
        out=$(clang-tidy --quiet "$1" -- $FLAGS 2>&1) || { printf "%s\n" "$out"; exit 1; }' tidy
}

# The static analyzer's default, 225,000 states of a function, takes more than four times as long: that is analyze.
step_tidy() {
    tidy -Xclang -analyzer-config -Xclang max-nodes=15000
}

step_analyze() {
    tidy
}

step_cppcheck() {
    has cppcheck || return 1
    local build=build/cppcheck
    mkdir -p "$build"
    # uninitvar does not follow arrays that are filled from one end; gcc and clang-tidy watch the same.
    # readdirCalled recommends readdir_r, which glibc has deprecated.
    cppcheck --quiet --std=c11 --platform=unix64 --enable=warning,performance,portability \
        --error-exitcode=1 --inline-suppr --library=posix --library=gnu \
        --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
        --suppress=uninitvar --suppress=readdirCalled \
        -j "$jobs" --cppcheck-build-dir="$build" -Isrc -Iinclude src
}

step_rules() {
    tools/rules.sh . && tools/english.sh . && tools/mutants_fit.sh . && tools/links.py && tools/figures.py check && tools/chart.py check
}

# Of what the linker sees, so it is built first.
step_circles() {
    "${MAKE:-make}" --no-print-directory -j"$jobs" build/asan/tupled build/asan/tupledctl build/libtupled.a >/dev/null &&
        tools/circles.sh
}

skipped=77 # what a step ends with that needs a toolchain which is not there
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(gcc clang format tidy cppcheck rules circles web)
bad=()
for step in "${steps[@]}"; do
    if ! declare -F "step_$step" >/dev/null; then
        sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
        exit 2
    fi
    start=$SECONDS
    echo "check: $step"
    if "step_$step"; then
        echo "check: $step is good ($((SECONDS - start)) s)"
    elif [ $? = "$skipped" ]; then
        echo "check: $step is SKIPPED"
    else
        echo "check: $step FAILED ($((SECONDS - start)) s)"
        bad+=("$step")
    fi
done
if [ ${#bad[@]} -gt 0 ]; then
    echo "check: FAILED: ${bad[*]}"
    exit 1
fi
echo "check: all is good"
