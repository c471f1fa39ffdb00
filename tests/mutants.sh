#!/bin/bash
# Plants bugs and sees whether the tests catch them: each mutant of tests/mutants/*.txt is one line of the
# source changed. Usage: tests/mutants.sh [-k substring of a name]... [-t "kind substring"] [--random N]
# (`make mutants` builds first). -t: this test, instead of those that the mutants name. --random: N changes that
# are drawn (tests/mutants/random.sh, places.sh), by the number MUTANTS_SEED of the environment, instead of the list.
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
# in a copy of the tree. Last line: N caught, N survived, N broken. Ends with 1 unless all were caught; with
# --random, when under 80 % of those that compile were.

set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
keys=()
only='' count=''
while [ $# -gt 1 ]; do
    case $1 in
    -k) keys+=("$2") ;;
    -t) only=$2 ;;
    --random) count=$2 ;;
    *) break ;;
    esac
    shift 2
done
if [ $# -gt 0 ] || ! [[ $count =~ ^([1-9][0-9]{0,5})?$ && ${MUTANTS_SEED:-1} =~ ^[0-9]{1,15}$ ]]; then
    sed -n '2,6p' "$0" >&2
    exit 2
fi

. tests/mutants/plant.sh
. tests/mutants/places.sh
. tests/mutants/random.sh
copy_tree

if [ -n "$count" ]; then
    random_mutants "$count" "${MUTANTS_SEED:-$(od -A n -N 4 -t u4 /dev/urandom | tr -d ' ')}"
    echo "$caught caught, $survived survived, $broken broken"
    [ "$caught" -gt 0 ] && [ $((caught * 100)) -ge $(((caught + survived) * 80)) ]
    exit
fi

name='' file='' old='' new='' tests=()
finish() {
    [ -z "$only" ] || tests=("$only")
    [ -n "$name" ] && wanted "$name" && try "$name" "$file" "$old" "$new" '' "${tests[@]}"
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
