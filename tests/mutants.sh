#!/bin/bash
# Plants bugs and sees whether the tests catch them: each mutant of tests/mutants/*.txt is one line of the
# source changed. Usage: tests/mutants.sh [-k substring of a name]... [-t "kind substring"] (`make mutants` builds
# first). -t: this test, instead of those that the mutants name.
#
# A mutant:
#
#   mutant <name>                what is broken, in a few words with dashes
#   file <path>
#   old <a line of the file, or a part of it that is in it once>
#   new <what stands in its place>
#   test <kind> <substring>      what should catch it; tests/run.sh <kind> -- <substring>; at least one
#
# It is caught when one of its tests fails, or no longer builds: a mutant that does not compile says nothing
# about the tests and counts as broken, as does one whose line is not there exactly once. The work is done
# in a copy of the tree. Last line: N caught, N survived, N broken. Ends with 1 unless all were caught.

set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
keys=()
only=''
while [ $# -gt 1 ]; do
    case $1 in
    -k) keys+=("$2") ;;
    -t) only=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# -eq 0 ] || { sed -n '2,5p' "$0" >&2; exit 2; }

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp -p --parents -t "$copy" || exit 1
cp -rp build "$copy/build"
cd "$copy" || exit 1
caught=0 survived=0 broken=0

wanted() {
    local k
    [ ${#keys[@]} -gt 0 ] || return 0
    for k in "${keys[@]}"; do [[ $1 == *"$k"* ]] && return 0; done
    return 1
}

# plant <file> <old> <new>: false unless `old` is in the file exactly once.
plant() {
    OLD=$2 NEW=$3 awk '
        { text = text $0 "\n" }
        END {
            at = index(text, ENVIRON["OLD"])
            if (at == 0) exit 1
            rest = substr(text, at + length(ENVIRON["OLD"]))
            if (index(rest, ENVIRON["OLD"]) > 0) exit 1
            printf "%s%s%s", substr(text, 1, at - 1), ENVIRON["NEW"], rest
        }' saved >"$1.new" && mv "$1.new" "$1"
}

# The programs that a test of this kind and substring runs.
targets() {
    case $1 in
    unit) ls -d tests/unit/*/test_*.c tests/unit/*/*/test_*.c 2>/dev/null ;;
    sim) ls -d tests/sim/sim_*.c ;;
    redis | postgres | late) ls -d redis-tests/test_*.c ;;
    esac | grep -F -- "$2" | sed 's/\.c$//; s/^/build\/asan\//'
}

try() { # <name> <file> <old> <new> <tests...>
    local name=$1 file=$2 old=$3 new=$4 test kind part goals=()
    shift 4
    if ! cp -p "$file" saved || ! plant "$file" "$old" "$new"; then
        echo "broken    $name: its line is not in $file exactly once"
        broken=$((broken + 1))
        return
    fi
    for test in "$@"; do
        kind=${test%% *} part=${test#* }
        mapfile -t -O ${#goals[@]} goals < <(targets "$kind" "$part")
        case $kind in
        redis | postgres) goals+=(build/asan/tupled build/asan/tupledctl build/tupled build/tupledctl) ;;
        late) goals+=(build/asan/tupled-late build/asan/tupledctl build/tupled build/tupledctl) ;;
        esac
    done
    # Link-time optimisation takes longer than most tests and shows nothing here.
    if ! make -j"$(nproc)" CFLAGS_release='-O1 -g' "${goals[@]}" >make.log 2>&1; then
        echo "broken    $name: does not compile: $(grep -m 1 error: make.log)"
        broken=$((broken + 1))
    else
        local is_caught=
        for test in "$@"; do
            kind=${test%% *} part=${test#* }
            if ! TUPLED_STRICT_TURNS=1 TEST_TIMEOUT=${TEST_TIMEOUT:-120} tests/run.sh "$kind" -- "$part" >run.log 2>&1; then
                is_caught=$test
                break
            fi
        done
        if [ -n "$is_caught" ]; then
            echo "caught    $name ($is_caught)"
            caught=$((caught + 1))
        else
            echo "SURVIVED  $name ($file)"
            survived=$((survived + 1))
        fi
    fi
    cp saved "$file" # newer than the object: it is compiled again
}

name='' file='' old='' new='' tests=()
finish() {
    [ -z "$only" ] || tests=("$only")
    [ -n "$name" ] && wanted "$name" && try "$name" "$file" "$old" "$new" "${tests[@]}"
    name='' tests=()
}
for list in tests/mutants/*.txt; do
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        'mutant '*) finish; name=${line#mutant } ;;
        'file '*) file=${line#file } ;;
        'old '*) old=${line#old } ;;
        'new '*) new=${line#new } ;;
        'new') new='' ;;
        'test '*) tests+=("${line#test }") ;;
        '' | '#'*) ;;
        *) echo "mutants: $list: cannot read: $line" >&2; exit 2 ;;
        esac
    done <"$list"
    finish
done
echo "$caught caught, $survived survived, $broken broken"
[ "$survived" -eq 0 ] && [ "$broken" -eq 0 ]
